package api

import (
	"context"
	"net/http"

	"tallystick/api/ledger"
	"tallystick/replay"
	"tallystick/rules"
)

type prognosisInput struct {
	InCampaign
	ID      string `path:"character" doc:"id of the character"`
	Treat   string `query:"treat" enum:"none,default,both" default:"both" doc:"none: left alone. default: treated now by a capable hand at the table. both: each of the two"`
	Horizon int64  `query:"horizon" minimum:"1" maximum:"31557600000" doc:"end of the curve in game seconds from now; left out: when all but a thousandth is settled, a year at most"`
	Points  int    `query:"points" minimum:"1" maximum:"1000" default:"60" doc:"how many steps the curve has"`
}

func (s *Server) prognosisRoutes() {
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/characters/{character}/prognosis", ID: "get-prognosis",
		Summary: "What time will do to a character",
		Doc: "Worked out, not simulated: how probably and when the character dies or recovers by the passing of time alone, " +
			"with a curve of ranks and points. No die is thrown and nothing is stored. It tells nothing that the character's view does not: " +
			"it follows from the sheet, the wounds and the rules.",
		Access: reader, Fails: []int{422, 429},
	}, s.prognosis)
}

func (s *Server) prognosis(ctx context.Context, in *prognosisInput) (*output[replay.Outlook], error) {
	if !isID(in.Campaign) {
		return nil, ledger.ErrUnknownCampaign
	}
	var c *rules.Campaign
	err := s.cfg.Ledger.State(ctx, in.Campaign, func(state *rules.Campaign) error {
		_, ok := state.Character(in.ID)
		c = state.Snapshot()
		return found(ok, "character")
	})
	if err != nil {
		return nil, err
	}
	// It takes a core for up to some seconds, as a replay does.
	done, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := replay.Look(c, in.ID, in.Treat, nil, replay.PrognosisOptions{Horizon: in.Horizon, Points: in.Points})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}
