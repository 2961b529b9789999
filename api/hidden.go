package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
)

// HiddenItem is something that is sealed, with what it is for those who may
// see it.
type HiddenItem struct {
	projections.Hidden
	Content jsontext.Value `json:"content,omitzero" doc:"for those who may see it, as long as it is sealed: of a roll, what roll.made would hold, without the link of the lane"`
}

type listInput struct {
	InCampaign
	Paging
}

func (s *Server) hiddenRoutes() {
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/secrets", ID: "list-secrets", Summary: "List what is sealed, or was",
		Doc: "Secret rolls, hidden targets and rulings that are shown later. That they are there everybody may know; " +
			"what they are is told to those who may see it, and to nobody else by any way. from is the n of a record.", Access: reader,
	}, s.listHidden)
}

func (s *Server) listHidden(ctx context.Context, in *listInput) (*output[projections.Page[HiddenItem]], error) {
	var page projections.Page[projections.Hidden]
	err := s.view(ctx, in.Campaign, func(v *projections.Views) error {
		page = v.Hidden(in.From, in.Limit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := projections.Page[HiddenItem]{Items: make([]HiddenItem, len(page.Items)), Next: page.Next}
	for i, h := range page.Items {
		out.Items[i].Hidden = h
		if h.Opened != 0 {
			continue // it stands in the ledger for everybody
		}
		if out.Items[i].Content, _, err = s.cfg.Ledger.Show(ctx, in.Campaign, callerOf(ctx).Handle, h.N); err != nil {
			return nil, err
		}
	}
	return answer(out), nil
}

// whisper tells the reader of a live feed what a record hides, if they may
// see it: an event of its own behind the record, without an id.
func (l *live) whisper(ctx context.Context, rec events.Record) error {
	n, hidden, ok, err := l.server.cfg.Ledger.Whisper(ctx, l.who.Handle, rec)
	if err != nil || !ok {
		return err
	}
	return l.write("event: secret\ndata: {\"n\":%d,\"content\":%s}\n\n", n, hidden)
}
