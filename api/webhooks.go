package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallystick/api/webhooks"
	"tallystick/projections"
	"tallystick/rules"
)

// WebhookRequest asks to be told what happens.
type WebhookRequest struct {
	URL     string   `json:"url" minLength:"1" maxLength:"2000" doc:"of the receiver; https, to a public address, unless the operator allows others"`
	Types   []string `json:"types,omitzero" maxItems:"100" maxLength:"100" doc:"of the events it is told; left out: all"`
	Secrets bool     `json:"secrets,omitzero" doc:"tell it also what you may see of what is secret; left out: it is told what a spectator sees"`
	From    *int64   `json:"from,omitzero" minimum:"0" doc:"n of the first record it is told; left out: what happens from now on"`
}

// WebhookItem is a webhook and how far it has come.
type WebhookItem struct {
	ID       string   `json:"id"`
	By       string   `json:"by" doc:"handle of who made it"`
	URL      string   `json:"url"`
	Types    []string `json:"types,omitzero"`
	Secrets  bool     `json:"secrets,omitzero"`
	Made     string   `json:"made" doc:"wall clock, UTC"`
	Next     int64    `json:"next" doc:"n of the record that is told next: everything before it was told, or stands among the dead letters"`
	Sent     int64    `json:"sent" doc:"how many records the receiver has taken"`
	SentAt   string   `json:"sent_at,omitzero" doc:"when it took the last one"`
	Attempts int      `json:"attempts,omitzero" doc:"how often the record next was tried in vain"`
	NextTry  string   `json:"next_try,omitzero" doc:"when it is tried again"`
	Error    string   `json:"error,omitzero" doc:"what was wrong the last time"`
	Paused   string   `json:"paused,omitzero" doc:"why nothing is sent: replay it to go on"`
	Before   string   `json:"old_secret_until,omitzero" doc:"until when messages are signed with the secret before, too"`
}

// WebhookRotation says how the secret is changed.
type WebhookRotation struct {
	Overlap *int `json:"overlap_hours,omitzero" minimum:"0" maximum:"168" doc:"for how long messages are signed with the secret before as well, so that the receiver can change over; left out: 24; 0: it ends at once"`
}

// NewWebhook is a webhook as it is made, or with a new secret. Its secret is shown once.
type NewWebhook struct {
	WebhookItem
	Secret string `json:"secret" doc:"with which the receiver verifies what it is told (Standard Webhooks); it is not shown again"`
}

// WebhookLetter is a record that was given up.
type WebhookLetter struct {
	N        int64  `json:"n" doc:"of the record"`
	Type     string `json:"type" doc:"of the event"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error" doc:"what was wrong the last time"`
	At       string `json:"at" doc:"of the last attempt, wall clock, UTC"`
	Again    bool   `json:"again,omitzero" doc:"it is about to be tried again"`
}

// WebhookReplay says what is told again.
type WebhookReplay struct {
	From *int64 `json:"from,omitzero" minimum:"0" doc:"tell everything again from this record on; left out: the dead letters alone"`
}

// WebhookPath names a webhook.
type WebhookPath struct {
	InCampaign
	ID string `path:"hook" doc:"id of the webhook"`
}

type webhookBodyInput struct {
	WebhookPath
	RawBody []byte `contentType:"application/json"`
}

type webhookLettersInput struct {
	WebhookPath
	Paging
}

func (s *Server) webhookRoutes() {
	s.api.OpenAPI().Webhooks = s.told()
	const path = "/v1/campaigns/{campaign}/webhooks"
	handle(s, route{
		Method: http.MethodPost, Path: path, ID: "add-webhook", Summary: "Be told by a webhook",
		Doc: "Every record, once it is durable, is sent to the receiver by the Standard Webhooks convention, in order, until it answers with 2xx: " +
			"at least once, always under the same webhook-id. What fails is tried again over some sixteen hours, then it is a dead letter. For game masters and players.",
		Access: member, Status: http.StatusCreated, Body: s.schema(WebhookRequest{}), Fails: []int{422},
	}, s.addWebhook)
	handle(s, route{
		Method: http.MethodGet, Path: path, ID: "list-webhooks", Summary: "List the webhooks",
		Doc: "Your own; all of them for a game master.", Access: member,
	}, s.listWebhooks)
	handle(s, route{
		Method: http.MethodDelete, Path: path + "/{hook}", ID: "remove-webhook", Summary: "Remove a webhook",
		Doc: "For who made it, and for a game master.", Access: member, Status: http.StatusNoContent,
	}, func(ctx context.Context, in *WebhookPath) (*struct{}, error) {
		hook, err := s.webhook(ctx, in)
		if err != nil {
			return nil, err
		}
		return nil, s.cfg.Webhooks.Remove(ctx, hook)
	})
	handle(s, route{
		Method: http.MethodGet, Path: path + "/{hook}/dead", ID: "list-dead-letters", Summary: "List what was given up",
		Doc: "For who made the webhook, and for a game master.", Access: member,
	}, s.listLetters)
	handle(s, route{
		Method: http.MethodPost, Path: path + "/{hook}/replay", ID: "replay-webhook", Summary: "Tell again",
		Doc: "Tries the dead letters once more, and lets a webhook go on that has paused or waits. With from it tells everything from that record on again. " +
			"For who made the webhook, and for a game master.",
		Access: member, Body: s.schema(WebhookReplay{}),
	}, s.replayWebhook)
	handle(s, route{
		Method: http.MethodPost, Path: path + "/{hook}/secret", ID: "rotate-webhook-secret", Summary: "Change the signing secret",
		Doc: "The new secret is shown once and signs from the next message on. For a day, unless said, the one before signs beside it: " +
			"webhook-signature then holds two signatures, of which a receiver needs to know one. For who made the webhook, and for a game master.",
		Access: member, Body: s.schema(WebhookRotation{}),
	}, s.rotateWebhook)
}

// told documents what a receiver is told.
func (s *Server) told() map[string]*huma.PathItem {
	header := func(name, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: true, Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return map[string]*huma.PathItem{"record": {Post: &huma.Operation{
		OperationID: "told-record", Summary: "A record that a webhook tells", Description: "Signed by the Standard Webhooks convention.",
		Parameters: []*huma.Param{
			header("webhook-id", "of the record; the same at every attempt"),
			header("webhook-timestamp", "of the attempt, seconds"),
			header("webhook-signature", "v1, and HMAC-SHA256 of id.timestamp.body under the webhook's secret, base64; after a space a second one while the secret is being changed"),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{mediaJSON: {Schema: s.schema(webhooks.Message{})}}},
		Responses:   map[string]*huma.Response{"2XX": {Description: "it is taken"}, "410": {Description: "nothing more is wanted"}},
	}}}
}

// webhook finds one that the caller may look after.
func (s *Server) webhook(ctx context.Context, in *WebhookPath) (webhooks.Hook, error) {
	hook, err := s.cfg.Webhooks.Find(ctx, in.Campaign, in.ID)
	if who := callerOf(ctx); errors.Is(err, webhooks.ErrUnknown) || err == nil && !who.gm() && hook.By != who.Handle {
		return hook, newProblem("not-found", "there is no such webhook")
	}
	return hook, err
}

func (s *Server) addWebhook(ctx context.Context, in *inviteInput) (*output[NewWebhook], error) {
	who := callerOf(ctx)
	if who.Role == rules.RoleSpectator {
		return nil, newProblem("forbidden", "this is for game masters and players")
	}
	body, err := decode[WebhookRequest](in.RawBody)
	if err != nil {
		return nil, err
	}
	if err := s.checkTypes(ctx, in.Campaign, body.Types); err != nil {
		return nil, err
	}
	from := int64(-1)
	if body.From != nil {
		from = *body.From
	}
	hook, secret, err := s.cfg.Webhooks.Add(ctx, webhooks.Hook{
		Campaign: in.Campaign, By: who.Handle, URL: body.URL, Types: body.Types, Secrets: body.Secrets,
	}, from)
	if errors.Is(err, webhooks.ErrTooMany) {
		return nil, rules.Reject("too_many_webhooks", "", "%s", err.Error())
	}
	if err != nil {
		return nil, inside("body", err)
	}
	item, err := s.webhookItem(ctx, hook)
	return answer(NewWebhook{item, secret}), err
}

// checkTypes refuses an event type that the campaign's system does not have: a
// webhook that stays silent for a slip of the pen helps nobody.
func (s *Server) checkTypes(ctx context.Context, campaign string, types []string) error {
	return s.view(ctx, campaign, func(v *projections.Views) error {
		book, err := s.cfg.Library.Find(v.Campaign().System, v.Campaign().Edition)
		if err != nil {
			return err
		}
		for i, name := range types {
			if _, known := book.Registry()[name]; !known {
				return malformed(fmt.Sprintf("body.types.%d", i), fmt.Sprintf("is %q: there is no such event type", name))
			}
		}
		return nil
	})
}

func (s *Server) webhookItem(ctx context.Context, hook webhooks.Hook) (WebhookItem, error) {
	state, err := s.cfg.Webhooks.State(ctx, hook)
	return WebhookItem{
		ID: hook.ID, By: hook.By, URL: hook.URL, Types: hook.Types, Secrets: hook.Secrets, Made: stamp(hook.Made),
		Next: state.Next, Sent: state.Sent, SentAt: stamp(state.SentAt), Attempts: state.Attempts, NextTry: stamp(state.NextTry),
		Error: state.Error, Paused: state.Paused, Before: stamp(hook.BeforeEnds),
	}, err
}

// stamp writes a time; the zero one is left out.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *Server) listWebhooks(ctx context.Context, in *listInput) (*output[projections.Page[WebhookItem]], error) {
	hooks, err := s.cfg.Webhooks.List(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	items := []WebhookItem{}
	for _, hook := range hooks {
		if !who.gm() && hook.By != who.Handle {
			continue
		}
		item, err := s.webhookItem(ctx, hook)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return answer(page(items, in.Paging)), nil
}

func (s *Server) listLetters(ctx context.Context, in *webhookLettersInput) (*output[projections.Page[WebhookLetter]], error) {
	hook, err := s.webhook(ctx, &in.WebhookPath)
	if err != nil {
		return nil, err
	}
	dead, err := s.cfg.Webhooks.Dead(ctx, hook)
	if err != nil {
		return nil, err
	}
	items := make([]WebhookLetter, len(dead))
	for i, l := range dead {
		items[i] = WebhookLetter{N: l.N, Type: l.Type, Attempts: l.Attempts, Error: l.Error, At: stamp(l.At), Again: l.Again}
	}
	return answer(page(items, in.Paging)), nil
}

func (s *Server) replayWebhook(ctx context.Context, in *webhookBodyInput) (*output[WebhookItem], error) {
	hook, err := s.webhook(ctx, &in.WebhookPath)
	if err != nil {
		return nil, err
	}
	body, err := decode[WebhookReplay](in.RawBody)
	if err != nil {
		return nil, err
	}
	from := int64(-1)
	if body.From != nil {
		from = *body.From
	}
	if err := s.cfg.Webhooks.Replay(ctx, hook, from); err != nil {
		return nil, inside("body", err)
	}
	item, err := s.webhookItem(ctx, hook)
	return answer(item), err
}

func (s *Server) rotateWebhook(ctx context.Context, in *webhookBodyInput) (*output[NewWebhook], error) {
	hook, err := s.webhook(ctx, &in.WebhookPath)
	if err != nil {
		return nil, err
	}
	body, err := decode[WebhookRotation](in.RawBody)
	if err != nil {
		return nil, err
	}
	overlap := 24
	if body.Overlap != nil {
		overlap = *body.Overlap
	}
	hook, secret, err := s.cfg.Webhooks.Rotate(ctx, hook, time.Duration(overlap)*time.Hour)
	if errors.Is(err, webhooks.ErrUnknown) {
		return nil, newProblem("not-found", "there is no such webhook")
	}
	if err != nil {
		return nil, err
	}
	item, err := s.webhookItem(ctx, hook)
	return answer(NewWebhook{item, secret}), err
}
