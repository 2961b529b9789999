package api

import (
	"context"
	"net/http"

	"tallystick/events/merkle"
	"tallystick/projections"
)

// ConsistencyProof shows that a ledger only grew.
type ConsistencyProof struct {
	From       int64    `json:"from" doc:"size of the earlier tree"`
	To         int64    `json:"to" doc:"size of the later one"`
	Hashes     []string `json:"hashes" doc:"RFC 6962 consistency proof, base64"`
	Checkpoint string   `json:"checkpoint" doc:"signed, over the first to records"`
}

type checkpointInput struct {
	InCampaign
	Size optional[int64] `query:"size" minimum:"1" doc:"how many records it covers; left out: all there are"`
}

type inclusionInput struct {
	InCampaign
	N    int64           `query:"n" required:"true" minimum:"0" doc:"record that is to be proved"`
	Size optional[int64] `query:"size" minimum:"1" doc:"how many records the checkpoint covers; left out: all there are"`
}

type consistencyInput struct {
	InCampaign
	From int64           `query:"from" required:"true" minimum:"0" doc:"size of the tree that is known"`
	To   optional[int64] `query:"to" minimum:"1" doc:"size of the later tree; left out: all there are"`
}

func (s *Server) proofRoutes() {
	const path = "/v1/campaigns/{campaign}"
	handle(s, route{
		Method: http.MethodGet, Path: path + "/checkpoint", ID: "get-checkpoint", Summary: "The signed head of the ledger",
		Doc: "A C2SP tlog-checkpoint. Whoever keeps one notices any change to what lies before it.", Access: reader, Content: content("text/plain"),
	}, func(ctx context.Context, in *checkpointInput) (*text, error) {
		if err := s.exists(ctx, in.Campaign); err != nil {
			return nil, err
		}
		checkpoint, err := s.cfg.Ledger.Checkpoint(ctx, in.Campaign, in.Size.Value)
		return plain(checkpoint), inside("query", err)
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/proofs/inclusion", ID: "prove-inclusion", Summary: "Prove that a record is in the ledger",
		Doc: "A receipt in the form C2SP tlog-proof@v1, with the checkpoint in it.", Access: reader, Content: content("text/plain"),
	}, func(ctx context.Context, in *inclusionInput) (*text, error) {
		if err := s.exists(ctx, in.Campaign); err != nil {
			return nil, err
		}
		receipt, err := s.cfg.Ledger.Receipt(ctx, in.Campaign, in.N, in.Size.Value)
		return plain(receipt), inside("query", err)
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/proofs/consistency", ID: "prove-consistency", Summary: "Prove that the ledger only grew", Access: reader,
	}, s.proveConsistency)
	s.importRoutes()
}

func (s *Server) proveConsistency(ctx context.Context, in *consistencyInput) (*output[ConsistencyProof], error) {
	if err := s.exists(ctx, in.Campaign); err != nil {
		return nil, err
	}
	to := in.To.Value
	if !in.To.Set {
		size, err := s.cfg.Ledger.Size(ctx, in.Campaign)
		if err != nil {
			return nil, err
		}
		to = size
	}
	hashes, checkpoint, err := s.cfg.Ledger.Consistency(ctx, in.Campaign, in.From, to)
	if err != nil {
		return nil, inside("query", err)
	}
	return answer(ConsistencyProof{From: in.From, To: to, Hashes: base64s(hashes), Checkpoint: string(checkpoint)}), nil
}

func base64s(hashes []merkle.Hash) []string {
	out := make([]string, len(hashes))
	for i, h := range hashes {
		out[i] = h.String()
	}
	return out
}

// exists fails when there is no such campaign.
func (s *Server) exists(ctx context.Context, campaign string) error {
	return s.view(ctx, campaign, func(*projections.Views) error { return nil })
}
