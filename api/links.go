package api

import (
	"context"
	_ "embed"
	"errors"
	"html/template"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/rules"
)

// LinkItem is a link that rolls once.
type LinkItem struct {
	projections.Link
	Address string `json:"address,omitzero" doc:"path of its page on this server; for who made it and for a game master. Whoever has it may roll"`
}

// LinkView is a link as its page shows it, to whoever has the address.
type LinkView struct {
	projections.Link
	Campaign string            `json:"campaign" doc:"id"`
	Name     string            `json:"name" doc:"of the campaign"`
	Result   *projections.Roll `json:"result,omitzero" doc:"the roll, once it was made"`
	Record   jsontext.Value    `json:"record,omitzero" doc:"its record, as it is stored"`
	Receipt  string            `json:"receipt,omitzero" doc:"proof that the record is in the ledger (C2SP tlog-proof@v1)"`
	VKey     string            `json:"vkey,omitzero" doc:"verifies the receipt"`
}

type makeLinkInput struct {
	InCampaign
	Key     string `header:"Idempotency-Key" doc:"a UUID, the link's id: a retry makes no second link; left out: a new one"`
	RawBody []byte `contentType:"application/json"`
}

type linkInput struct {
	Token  string `path:"token" doc:"last part of the link's address"`
	Accept string `header:"Accept" doc:"text/html: a page for people; application/json: the same for programs"`
}

func (s *Server) linkRoutes() {
	const path, address = "/v1/campaigns/{campaign}/links", linkPath + "{token}"
	handle(s, route{
		Method: http.MethodPost, Path: path, ID: "make-link", Summary: "Make a link that rolls once",
		Doc: "Gives the command link.make. The link is on record from then on, used or not; whoever has its address makes the roll, in the name of who made it. " +
			"Paste it before the roll, or roll first and paste it afterwards: the page shows what has been rolled.",
		Access: member, Status: http.StatusCreated, Body: s.schema(rules.LinkMake{}), Fails: []int{422},
	}, s.makeLink)
	handle(s, route{
		Method: http.MethodGet, Path: path, ID: "list-links", Summary: "List the links that roll once",
		Doc: "All of them, used and unused, in the order they were made.", Access: reader,
	}, s.listLinks)
	form := content(mediaHTML)
	form[mediaJSON] = &huma.MediaType{Schema: s.schema(LinkView{})}
	handle(s, route{
		Method: http.MethodGet, Path: address, ID: "see-link", Summary: "See a link",
		Doc:    "What it will roll, with a button; or what was rolled, with its proof. Looking at it rolls nothing, so that a robot that previews links does not either.",
		Access: open, Content: form, Fails: []int{404, 429, 503},
	}, s.seeLink)
	handle(s, route{
		Method: http.MethodPost, Path: address, ID: "roll-link", Summary: "Roll by a link",
		Doc:    "Makes the roll, once, and leads back to the page. When it was made before, nothing happens. Needs an open session.",
		Access: open, Status: http.StatusSeeOther, Fails: []int{403, 404, 409, 422, 429, 503, 507},
	}, s.rollLink)
}

// linkPath is what the addresses of links begin with.
const linkPath = "/link/"

func (s *Server) makeLink(ctx context.Context, in *makeLinkInput) (*output[LinkItem], error) {
	id, err := commandIDOrNew(in.Key)
	if err != nil {
		return nil, err
	}
	body, err := decode[rules.LinkMake](in.RawBody)
	if err != nil {
		return nil, err
	}
	data, err := rules.Canonical(&body)
	if err != nil {
		return nil, err
	}
	a, err := s.execute(ctx, in.Campaign, rules.Command{ID: id, Type: rules.LinkMakeType, Data: data})
	if err != nil {
		return nil, inside("body", err)
	}
	var made projections.Link
	err = s.viewAfter(ctx, in.Campaign, a.Last, func(v *projections.Views) error {
		made, _ = v.Link(id)
		return nil
	})
	return answer(s.linkItem(ctx, in.Campaign, made)), err
}

// linkItem adds the address for those who may roll by the link without being
// given it.
func (s *Server) linkItem(ctx context.Context, campaign string, l projections.Link) LinkItem {
	item := LinkItem{Link: l}
	who, token := callerOf(ctx), s.cfg.Ledger.LinkToken(campaign, l.ID)
	if token != "" && (who.gm() || !who.Admin && who.Handle == l.By) {
		item.Address = linkPath + token
	}
	return item
}

func (s *Server) listLinks(ctx context.Context, in *listInput) (*output[projections.Page[LinkItem]], error) {
	var all []projections.Link
	err := s.view(ctx, in.Campaign, func(v *projections.Views) error {
		all = v.Links()
		return nil
	})
	if err != nil {
		return nil, err
	}
	some := page(all, in.Paging)
	out := projections.Page[LinkItem]{Items: make([]LinkItem, len(some.Items)), Next: some.Next}
	for i, l := range some.Items {
		out.Items[i] = s.linkItem(ctx, in.Campaign, l)
	}
	return answer(out), nil
}

// link finds what an address leads to. A wrong one counts like a wrong token.
func (s *Server) link(ctx context.Context, token string) (LinkView, error) {
	campaign, id, ok := s.cfg.Ledger.Linked(token)
	if !ok {
		return LinkView{}, s.wrong(ctx, newProblem("not-found", "there is no such link"))
	}
	view := LinkView{Campaign: campaign}
	var entry projections.RollEntry
	err := s.view(ctx, campaign, func(v *projections.Views) error {
		view.Link, ok = v.Link(id)
		c := v.Campaign()
		view.Name, view.VKey = c.Name, c.VKey
		entry, _ = v.Roll(view.Roll)
		return nil
	})
	if err != nil {
		return view, err
	}
	if !ok {
		return view, newProblem("not-found", "there is no such link")
	}
	if view.Rolled == nil {
		view.VKey = ""
		return view, nil
	}
	return view, s.prove(ctx, &view, entry)
}

// prove adds the roll of a link, and the proof that it is in the ledger.
func (s *Server) prove(ctx context.Context, view *LinkView, entry projections.RollEntry) error {
	err := s.cfg.Hub.Records(ctx, view.Campaign, entry.N, 1, func(rec events.Record, line []byte) error {
		roll, err := projections.NewRoll(entry, rec)
		view.Result, view.Record = &roll, line
		return err
	})
	if err != nil {
		return err
	}
	receipt, err := s.cfg.Ledger.Receipt(ctx, view.Campaign, entry.N, 0)
	view.Receipt = string(receipt)
	return err
}

//go:embed links.html
var linkText string

// linkPages are the pages of links, in the frame of the others.
var linkPages = template.Must(template.Must(pages.Clone()).Parse(linkText))

// linkPolicy allows what pagePolicy does, and the form.
var linkPolicy = pagePolicy + "; form-action 'self'; base-uri 'none'"

// linkOutput is a link as a page, or as JSON.
type linkOutput struct {
	Status      int
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Robots      string `header:"X-Robots-Tag"`
	Location    string `header:"Location"`
	Body        []byte
}

func (s *Server) seeLink(ctx context.Context, in *linkInput) (*linkOutput, error) {
	view, err := s.link(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	if choose(in.Accept, mediaHTML, mediaJSON) == mediaJSON {
		body, err := json.Marshal(view, json.Deterministic(true), jsontext.PreserveRawStrings(true))
		return &linkOutput{Status: http.StatusOK, ContentType: mediaJSON, Policy: linkPolicy, Body: body}, err
	}
	return linkPage(http.StatusOK, view, "")
}

func (s *Server) rollLink(ctx context.Context, in *linkInput) (*linkOutput, error) {
	view, err := s.link(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	if view.Rolled == nil {
		var refused *rules.Rejection
		a, err := s.cfg.Ledger.RollLink(ctx, view.Campaign, view.ID, view.By)
		switch {
		case errors.As(err, &refused) && refused.Code == "link_not_open": // somebody was faster
		case errors.As(err, &refused) && choose(in.Accept, mediaHTML, mediaJSON) == mediaHTML:
			return linkPage(http.StatusUnprocessableEntity, view, refused.Reason)
		case err != nil:
			return nil, err
		default:
			if err := s.viewAfter(ctx, view.Campaign, a.Last, func(*projections.Views) error { return nil }); err != nil {
				return nil, err
			}
		}
	}
	return &linkOutput{Status: http.StatusSeeOther, Policy: linkPolicy, Location: linkPath + in.Token}, nil
}

// linkPage is the page of a link. refused is why the button did nothing.
func linkPage(status int, view LinkView, refused string) (*linkOutput, error) {
	shown := struct {
		LinkView
		Refused string
		Thrown  events.RollMade // the result
	}{LinkView: view, Refused: refused}
	if view.Result != nil {
		if err := json.Unmarshal(view.Result.Roll, &shown.Thrown); err != nil {
			return nil, err
		}
	}
	body, err := renderWith(linkPages, "link", shown)
	return &linkOutput{Status: status, ContentType: "text/html; charset=utf-8", Policy: linkPolicy, Robots: "noindex, nofollow", Body: body}, err
}
