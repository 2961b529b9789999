package api

import (
	"context"
	"net/http"

	"tallystick/projections"
)

type disputesInput struct {
	InCampaign
	Paging
	Moment
	State string `query:"state" enum:"open,ruled" doc:"only those that are open, or that were ruled on"`
}

type disputeInput struct {
	InCampaign
	ID string `path:"dispute" doc:"id of the dispute"`
	Moment
}

type tableInput struct {
	InCampaign
	Paging
	Moment
}

func (s *Server) disputeRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/disputes", ID: "list-disputes", Summary: "List disputes",
		Doc: "In the order they were opened, with every ruling on them. Nobody can take one away.", Access: reader,
	}, func(ctx context.Context, in *disputesInput) (out *output[projections.Page[projections.Dispute]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Disputes(in.State), in.Paging))
			return nil
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/disputes/{dispute}", ID: "get-dispute", Summary: "A dispute", Access: reader,
	}, func(ctx context.Context, in *disputeInput) (out *output[projections.Dispute], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			d, ok := v.Dispute(in.ID)
			out = answer(d)
			return found(ok, "dispute")
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/corrections", ID: "list-corrections", Summary: "List corrections",
		Doc: "Which commands were taken back, why, and what that undid and put into question.", Access: reader,
	}, func(ctx context.Context, in *tableInput) (out *output[projections.Page[projections.Correction]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Corrections(), in.Paging))
			return nil
		})
		return out, err
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/overrides", ID: "list-overrides", Summary: "List the game master's rulings on rolls",
		Doc: "Where the campaign shows them later, a sealed one is listed without what it says.", Access: reader,
	}, func(ctx context.Context, in *tableInput) (out *output[projections.Page[projections.Override]], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error {
			out = answer(page(v.Overrides(), in.Paging))
			return nil
		})
		return out, err
	})
}
