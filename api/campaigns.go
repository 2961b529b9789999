package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
)

// CampaignRequest asks for a new campaign.
type CampaignRequest struct {
	Name     string                    `json:"name" minLength:"1" maxLength:"200"`
	System   string                    `json:"system" doc:"name of a rule system, see GET /v1/systems; its newest edition is taken"`
	Options  map[string]jsontext.Value `json:"options,omitzero" doc:"rulings and choices of the system that are not to stand at their default"`
	Setting  jsontext.Value            `json:"setting,omitzero" doc:"what the campaign defines itself, in the terms of its system"`
	Policy   *events.Policy            `json:"policy,omitzero" doc:"fixed for ever; left out: the game master's rulings on rolls are shown at once"`
	Calendar *events.Calendar          `json:"calendar,omitzero" doc:"how the days of the world are counted, fixed for ever: dates are shown by it, nothing is computed"`
	GM       string                    `json:"gm,omitzero" maxLength:"32" doc:"handle of the first game master; left out: gm"`
}

// NewCampaign is a campaign that was opened, and its game master's token.
type NewCampaign struct {
	Campaign string   `json:"campaign" doc:"id"`
	GM       NewToken `json:"gm"`
}

// NewToken is a token as it is given out. It is shown once.
type NewToken struct {
	Handle string `json:"handle"`
	Token  string `json:"token" doc:"send it as Authorization: Bearer; it is not shown again"`
}

// CampaignItem is a campaign in a list.
type CampaignItem struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitzero"`
	System    string `json:"system,omitzero"`
	Edition   int    `json:"edition,omitzero"`
	GM        string `json:"gm,omitzero" doc:"handle of the first game master"`
	CreatedAt string `json:"created_at,omitzero" doc:"wall clock, UTC"`
	Problem   string `json:"problem,omitzero" doc:"why nothing but the id can be said"`
}

// CampaignList is a page of campaigns.
type CampaignList struct {
	Items []CampaignItem `json:"items"`
	Next  *string        `json:"next" doc:"from of the next page, null at the end"`
}

const defaultGM = "gm"

type createInput struct {
	Key     string `header:"Idempotency-Key" doc:"a UUID, which becomes the id of the campaign; left out: a new one each time"`
	RawBody []byte `contentType:"application/json"`
}

type createOutput struct {
	Location string `header:"Location"`
	Body     NewCampaign
}

// campaignAt is a campaign as it was at a moment.
type campaignAt struct {
	InCampaign
	Moment
}

type listCampaignsInput struct {
	From  string `query:"from" maxLength:"36" doc:"next of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"how many items the page has at most"`
}

func (s *Server) campaignRoutes() {
	handle(s, route{
		Method: http.MethodPost, Path: "/v1/campaigns", ID: "create-campaign", Summary: "Open a campaign",
		Doc:    "With the same Idempotency-Key the same campaign is answered, with a fresh token for its game master; the one before ends.",
		Access: admin, Status: http.StatusCreated, Body: s.schema(CampaignRequest{}), Fails: []int{422},
	}, s.createCampaign)
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns", ID: "list-campaigns", Summary: "List campaigns",
		Doc:    "The admin sees all, in the order of their ids; a participant sees their own.",
		Access: signedIn,
	}, s.listCampaigns)
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns/{campaign}", ID: "get-campaign", Summary: "A campaign as a whole", Access: reader,
	}, func(ctx context.Context, in *campaignAt) (out *output[projections.Campaign], err error) {
		err = s.viewAt(ctx, in.Campaign, in.Moment, func(v *projections.Views) error { out = answer(v.Campaign()); return nil })
		return out, err
	})
}

func (s *Server) createCampaign(ctx context.Context, in *createInput) (*createOutput, error) {
	id, err := commandIDOrNew(in.Key)
	if err != nil {
		return nil, err
	}
	body, err := decode[CampaignRequest](in.RawBody)
	if err != nil {
		return nil, err
	}
	if body.GM == "" {
		body.GM = defaultGM
	}
	if err := s.room(ctx, id); err != nil {
		return nil, err
	}
	a, err := s.cfg.Ledger.Create(ctx, id, rules.CampaignCreate{
		Name: body.Name, System: body.System, Options: body.Options, Setting: body.Setting, GM: body.GM, Policy: body.Policy, Calendar: body.Calendar,
	})
	if err != nil {
		return nil, inside("body", err)
	}
	if !a.Repeated {
		s.opened()
	}
	token, err := s.issue(ctx, id, body.GM)
	if err != nil {
		return nil, err
	}
	return &createOutput{Location: "/v1/campaigns/" + id, Body: NewCampaign{Campaign: id, GM: token}}, nil
}

func (s *Server) listCampaigns(ctx context.Context, in *listCampaignsInput) (*output[CampaignList], error) {
	who := callerOf(ctx)
	if !who.Admin {
		item, err := s.campaignItem(ctx, who.Campaign)
		return answer(CampaignList{Items: []CampaignItem{item}}), err
	}
	ids, err := s.cfg.Journal.Campaigns(ctx, in.From, in.Limit+1)
	if err != nil {
		return nil, err
	}
	list := CampaignList{Items: []CampaignItem{}}
	if len(ids) > in.Limit {
		ids = ids[:in.Limit]
		list.Next = &ids[in.Limit-1]
	}
	for _, id := range ids {
		item, err := s.campaignItem(ctx, id)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, item)
	}
	return answer(list), nil
}

// campaignItem reads the first record alone, so that a list loads no campaign.
// One whose first record cannot be read must not hide the others.
func (s *Server) campaignItem(ctx context.Context, id string) (CampaignItem, error) {
	commit, err := s.cfg.Journal.First(ctx, id)
	if err != nil {
		if p := problemOf(err); p.Type != ProblemPath+"read-only" {
			return CampaignItem{}, err
		}
		return CampaignItem{ID: id, Problem: "its first record cannot be read"}, nil
	}
	rec, err := events.Parse(events.SplitCommit(commit.Payload)[0])
	if err == nil {
		var e events.Event
		if e, err = events.Core().Decode(rec); err == nil {
			if c, ok := e.(*events.CampaignCreated); ok {
				return CampaignItem{ID: id, Name: c.Name, System: c.System, Edition: c.Edition, GM: c.GM, CreatedAt: rec.At}, nil
			}
		}
	}
	return CampaignItem{ID: id, Problem: "its first record is not that of a campaign"}, nil
}

// issue gives out a token to somebody who takes part.
func (s *Server) issue(ctx context.Context, campaign, handle string) (NewToken, error) {
	// What was begun is brought to its end, also when the client goes away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
	defer cancel()
	err := s.cfg.Ledger.State(ctx, campaign, func(c *rules.Campaign) error {
		if _, ok := c.Participant(handle); !ok {
			return newProblem("has-left", handle+" does not take part any more")
		}
		return nil
	})
	if err != nil {
		return NewToken{}, err
	}
	token, err := s.cfg.Tokens.Issue(ctx, campaign, handle)
	return NewToken{Handle: handle, Token: token}, err
}
