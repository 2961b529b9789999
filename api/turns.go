package api

import (
	"context"
	"fmt"

	"tallystick/api/telemetry"
)

// room fails when the server holds as many campaigns as it may. They are
// counted once; from then on those that this server opens are added.
func (s *Server) room(ctx context.Context, id string) error {
	limit := s.cfg.MaxCampaigns
	if limit == 0 {
		return nil
	}
	s.campaigns.Lock()
	defer s.campaigns.Unlock()
	if !s.campaigns.counted {
		ids, err := s.cfg.Journal.Campaigns(ctx, "", limit)
		if err != nil {
			return err
		}
		s.campaigns.count, s.campaigns.counted = len(ids), true
	}
	if s.campaigns.count < limit {
		return nil
	}
	if last, err := s.cfg.Journal.Last(ctx, id); err != nil || last > 0 {
		return err // it is there: its creation is repeated
	}
	return newProblem("too-many-campaigns", fmt.Sprintf("this server holds %d campaigns, as many as it may", limit)).because(telemetry.LimitCampaigns)
}

// opened counts a campaign that was opened just now.
func (s *Server) opened() {
	s.campaigns.Lock()
	s.campaigns.count++
	s.campaigns.Unlock()
}
