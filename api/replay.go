package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/replay"
)

// SessionReplay says whether the rules decide a campaign's commands again as
// they are stored, up to the end of a session.
type SessionReplay struct {
	Session    string             `json:"session"`
	Identical  bool               `json:"identical" doc:"every record came out byte for byte as it is stored"`
	Commands   int64              `json:"commands" doc:"found identical, from the campaign's first on: a session is decided in the state that the ones before left"`
	Records    int64              `json:"records" doc:"found identical"`
	Divergence *replay.Divergence `json:"divergence,omitzero" doc:"the first difference"`
	Unusable   *UnusableRecord    `json:"unusable,omitzero" doc:"why there is nothing to compare"`
	Steps      []replay.Step      `json:"steps,omitzero" doc:"with steps=true: the commands of the session"`
	Next       *int64             `json:"next,omitzero" doc:"from of the next page of steps"`
}

// UnusableRecord is a record that cannot be replayed.
type UnusableRecord struct {
	N      int64  `json:"n"`
	Reason string `json:"reason"`
}

type replayInput struct {
	InSession
	Accept string `header:"Accept" doc:"application/json: the verdict, with steps=true a page of steps; application/x-ndjson: all steps, one a line, then the verdict"`
	Steps  bool   `query:"steps" doc:"show the commands of the session"`
	Paging
}

func (s *Server) replaySession(ctx context.Context, in *replayInput) (*huma.StreamResponse, error) {
	if err := s.inCampaign(ctx, in.Campaign, in.ID); err != nil {
		return nil, err
	}
	if choose(in.Accept, mediaJSON, mediaNDJSON) == mediaNDJSON {
		return s.streamed(mediaNDJSON, func(ctx context.Context, w io.Writer) error {
			verdict, err := s.steps(ctx, in, func(step replay.Step) error { return line(w, step) })
			if err != nil {
				return err
			}
			return line(w, verdict)
		}), nil
	}
	var page []replay.Step
	var next *int64
	verdict, err := s.steps(ctx, in, func(step replay.Step) error {
		switch {
		case !in.Steps || step.N < in.From:
		case len(page) < in.Limit:
			page = append(page, step)
		case next == nil:
			next = &step.N
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	verdict.Steps, verdict.Next = page, next
	var body bytes.Buffer
	if err := format.Marshal(&body, verdict); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", mediaJSON)
		_, _ = hc.BodyWriter().Write(body.Bytes()) // fails when the client is gone
	}}, nil
}

// inCampaign fails when a campaign has no such session.
func (s *Server) inCampaign(ctx context.Context, campaign, session string) error {
	return s.view(ctx, campaign, func(v *projections.Views) error {
		_, ok := v.Session(session)
		return found(ok, "session")
	})
}

// line writes a value as one line.
func line(w io.Writer, v any) error {
	if err := format.Marshal(w, v); err != nil {
		return err
	}
	_, err := w.Write([]byte{'\n'})
	return err
}

// steps replays a session and gives the verdict.
func (s *Server) steps(ctx context.Context, in *replayInput, each func(replay.Step) error) (*SessionReplay, error) {
	done, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r := replay.New(s.cfg.Library)
	r.History = func(again func(payload []byte) error) error { return s.upTo(ctx, in.Campaign, r.Records(), again) }
	steps := replay.NewSteps(r, in.ID, each)
	err = s.cfg.Journal.Read(ctx, in.Campaign, 0, func(c journal.Commit) error { return steps.Commit(c.Payload) })
	out := &SessionReplay{Session: in.ID, Commands: r.Commands(), Records: r.Records()}
	var unusable *replay.Unusable
	switch {
	case err == nil, errors.Is(err, replay.ErrOver):
		out.Identical = true
	case errors.As(err, &out.Divergence):
	case errors.As(err, &unusable):
		out.Unusable = &UnusableRecord{N: unusable.N, Reason: unusable.Err.Error()}
	default:
		return nil, err
	}
	return out, nil
}

// alone waits until no other replay runs; the function it returns lets the next
// one begin. When too many wait already, or too many of this caller's, one more
// is sent away at once instead of piling up: nobody keeps the others waiting by
// asking again and again.
func (s *Server) alone(ctx context.Context) (done func(), err error) {
	free, ok := s.asking.open(callerOf(ctx).Campaign, callerOf(ctx).name())
	if !ok {
		return nil, newProblem("too-many-requests", fmt.Sprintf("a token may ask for %d replays and prognoses at a time", ReplaysPerToken)).retryAfter(1)
	}
	if err := s.turn(ctx); err != nil {
		free()
		return nil, err
	}
	return func() { <-s.replays; free() }, nil
}

// turn waits for its turn among those who ask for a replay.
func (s *Server) turn(ctx context.Context) error {
	select {
	case s.replays <- struct{}{}:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > ReplaysWaiting {
		return newProblem("too-many-requests", fmt.Sprintf("%d replays and prognoses wait already", ReplaysWaiting)).retryAfter(5)
	}
	select {
	case s.replays <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// upTo hands over the commits of a campaign with the first so many records.
func (s *Server) upTo(ctx context.Context, campaign string, records int64, each func(payload []byte) error) error {
	var n int64
	err := s.cfg.Journal.Read(ctx, campaign, 0, func(c journal.Commit) error {
		if n >= records {
			return errEnough
		}
		n += int64(bytes.Count(c.Payload, []byte{'\n'}) + 1)
		return each(c.Payload)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// streamed is an answer that is written piece by piece, each with its own time.
func (s *Server) streamed(contentType string, write func(context.Context, io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humaecho.Unwrap(hc)
		c.Response().Header().Set("Content-Type", contentType)
		c.Response().WriteHeader(http.StatusOK)
		w := bufio.NewWriterSize(patient{c}, 64<<10)
		err := write(hc.Context(), w)
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			// The status is sent already: cut the connection, so that nobody takes
			// a part for the whole.
			s.cfg.Log.Warn("an answer broke off", "request", requestOf(hc.Context()).id, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

// commits hands over all commits of a campaign, for replay.Ask and the like.
func (s *Server) commits(ctx context.Context, campaign string) func(each func(payload []byte) error) error {
	return func(each func(payload []byte) error) error {
		return s.cfg.Journal.Read(ctx, campaign, 0, func(c journal.Commit) error { return each(c.Payload) })
	}
}
