package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
)

type auditInput struct {
	OfRoll
	Accept string `header:"Accept" doc:"application/json, text/plain or text/markdown"`
}

type whatIfInput struct {
	OfRoll
	RawBody []byte `contentType:"application/json"`
}

type transcriptInput struct {
	InSession
	Accept string `header:"Accept" doc:"text/plain, text/markdown or text/html"`
}

func (s *Server) auditRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/rolls/{n}/audit", ID: "audit-roll", Summary: "Explain a roll",
		Doc: "From the ledger alone: a sentence for a player, every die with the word of the stream it was made of, every modifier with its rule and the records it comes " +
			"from, what the roll caused, what was said of it later, and who can prove it. n may also be a wound, a death or a check that follows from a roll.",
		Access: reader, Content: map[string]*huma.MediaType{
			mediaJSON: {Schema: s.schema(replay.Audit{})}, mediaText: {Schema: &huma.Schema{Type: huma.TypeString}}, mediaMarkdown: {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}, s.auditRoll)
	handle(s, route{
		Method: http.MethodPost, Path: path + "/rolls/{n}/what-if", ID: "what-if", Summary: "What if it had been otherwise?",
		Doc: "Decides the command of record n again with a change, carries later commands on, and shows both lines side by side. Nothing is stored, and no die is one that " +
			"the ledger has still to show: where lane and index are the same the dice are the recorded ones, else those of a stream that is nobody's.",
		Access: reader, Body: s.schema(replay.Change{}), Fails: []int{422},
	}, s.whatIf)
	handle(s, route{
		Method: http.MethodGet, Path: path + "/sessions/{session}/transcript", ID: "get-transcript", Summary: "A session in words",
		Access: reader, Content: content(mediaText, mediaMarkdown, mediaHTML),
	}, s.transcript)
}

func (s *Server) auditRoll(ctx context.Context, in *auditInput) (*text, error) {
	if err := s.exists(ctx, in.Campaign); err != nil {
		return nil, err
	}
	done, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	auditor := replay.NewAuditor(s.cfg.Library, in.N)
	if err := s.commits(ctx, in.Campaign)(auditor.Commit); err != nil {
		return nil, err
	}
	a, err := auditor.End()
	if err != nil {
		return nil, err
	}
	switch choose(in.Accept, mediaJSON, mediaText, mediaMarkdown) {
	case mediaText:
		return plain([]byte(a.Text())), nil
	case mediaMarkdown:
		return &text{mediaMarkdown + "; charset=utf-8", []byte(a.Markdown())}, nil
	}
	return document(a)
}

// document is JSON where another form could have been asked for.
func document(v any) (*text, error) {
	var body writer
	err := format.Marshal(&body, v)
	return &text{mediaJSON, body}, err
}

// writer gathers what is written.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

func (s *Server) whatIf(ctx context.Context, in *whatIfInput) (*output[*replay.WhatIf], error) {
	if err := s.exists(ctx, in.Campaign); err != nil {
		return nil, err
	}
	change, err := decode[replay.Change](in.RawBody)
	if err != nil {
		return nil, err
	}
	done, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	w, err := replay.Ask(s.cfg.Library, in.N, change, s.commits(ctx, in.Campaign))
	if err != nil {
		return nil, inside("body", err)
	}
	return answer(w), nil
}

func (s *Server) transcript(ctx context.Context, in *transcriptInput) (*huma.StreamResponse, error) {
	if err := s.inCampaign(ctx, in.Campaign, in.ID); err != nil {
		return nil, err
	}
	media := choose(in.Accept, mediaText, mediaMarkdown, mediaHTML)
	form := map[string]projections.Form{mediaText: projections.FormText, mediaMarkdown: projections.FormMarkdown, mediaHTML: projections.FormHTML}[media]
	return s.streamed(media+"; charset=utf-8", func(ctx context.Context, w io.Writer) error {
		t, err := projections.NewTranscript(w, form, in.ID)
		if err != nil {
			return err
		}
		err = s.cfg.Hub.Records(ctx, in.Campaign, 0, 0, func(rec events.Record, _ []byte) error {
			done, err := t.Apply(rec)
			if err == nil && done {
				return errEnough
			}
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		_, err = t.End()
		return err
	}), nil
}
