package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/projections/feed"
	"tallystick/rules"
)

// route is an operation of the API and whom it is for.
type route struct {
	Method, Path string
	ID           string // operationId
	Summary      string
	Doc          string
	Access       access
	Status       int          // of success; 0: 200
	Body         *huma.Schema // of the request; nil for none
	Content      map[string]*huma.MediaType
	Upload       map[string]*huma.MediaType // of a body that the handler reads as it comes
	Fails        []int                      // statuses beside those that follow from the access
}

// handle puts a route into the router and into the OpenAPI document.
func handle[I, O any](s *Server, r route, h func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: r.Method, Path: r.Path, OperationID: r.ID, Summary: r.Summary, Description: r.Doc,
		DefaultStatus: r.Status, RejectUnknownQueryParameters: true,
		Middlewares: huma.Middlewares{s.once, s.guard(r.Access)},
		Responses:   map[string]*huma.Response{},
		Errors:      r.failures(),
	}
	if r.Access != open {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	if r.Content != nil {
		op.Responses[strconv.Itoa(max(r.Status, http.StatusOK))] = &huma.Response{Content: r.Content}
	}
	if r.Body != nil {
		// The body is read strictly by decode, not by huma.
		op.SkipValidateBody, op.MaxBodyBytes = true, MaxBody+1
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{mediaJSON: {}}}
		op.Middlewares = append(op.Middlewares, s.onlyJSON)
	}
	if r.Upload != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: r.Upload}
		op.Middlewares = append(op.Middlewares, upload)
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
	if !slices.Contains(r.Fails, http.StatusUnprocessableEntity) {
		delete(op.Responses, "422") // huma adds it wherever there is a parameter
	}
	if r.Body == nil {
		return
	}
	op.RequestBody.Content[mediaJSON].Schema = r.Body // huma takes a raw body for bytes
}

// failures are the statuses of errors that a route can answer with.
func (r route) failures() []int {
	var all []int
	if r.Access != open {
		all = append(all, 400, 401, 503)
	}
	if r.Access == admin || r.Access == member {
		all = append(all, 403)
	}
	if r.Access == reader || r.Access == member {
		all = append(all, 404)
	}
	if r.Body != nil {
		all = append(all, 409, 413, 415, 507)
	}
	return append(all, r.Fails...)
}

// InCampaign is the part of the path that most routes share.
type InCampaign struct {
	Campaign string `path:"campaign" doc:"id of the campaign"`
}

// Paging are the parameters of a list.
type Paging struct {
	From  int64 `query:"from" minimum:"0" doc:"where the page begins: next of the page before"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"how many items the page has at most"`
}

// page cuts a page out of a list that is counted from 0.
func page[T any](all []T, p Paging) projections.Page[T] {
	from := int(min(p.From, int64(len(all))))
	end := min(from+p.Limit, len(all))
	out := projections.Page[T]{Items: append([]T{}, all[from:end]...)}
	if end < len(all) {
		next := int64(end)
		out.Next = &next
	}
	return out
}

// optional is a parameter that may be left out.
type optional[T any] struct {
	Value T
	Set   bool
}

// Schema is that of the value.
func (o optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where the value goes.
func (o *optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet notes that it was given.
func (o *optional[T]) OnParamSet(set bool, _ any) { o.Set = set }

// output is an answer whose body is JSON.
type output[T any] struct{ Body T }

func answer[T any](body T) *output[T] { return &output[T]{body} }

// text is an answer that is no JSON.
type text struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func plain(body []byte) *text { return &text{"text/plain; charset=utf-8", body} }

// content documents an answer that is no JSON.
func content(types ...string) map[string]*huma.MediaType {
	out := map[string]*huma.MediaType{}
	for _, t := range types {
		out[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return out
}

// decode reads a request's body strictly: no unknown member, no member twice,
// no other case, nothing behind it, no bytes that are not UTF-8.
func decode[T any](raw []byte) (T, error) {
	var body T
	if len(raw) == 0 {
		return body, malformed("body", "is missing")
	}
	return body, inside("body", rules.Unmarshal(raw, &body))
}

// format is how all JSON is read and written. A record is written as it is
// stored.
var format = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		return json.MarshalWrite(w, v, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	},
	Unmarshal: func(data []byte, v any) error {
		return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
	},
}

// commandID reads an Idempotency-Key; "" when there is none.
func commandID(header string) (string, error) {
	if header == "" {
		return "", nil
	}
	id, err := uuid.Parse(header)
	if err != nil || len(header) != 36 {
		return "", malformed("header.Idempotency-Key", "must be a UUID, such as 0193a5e4-7b1c-7000-8000-000000000000")
	}
	return id.String(), nil
}

// isID reports whether a campaign can have this id.
func isID(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s
}

// commandIDOrNew makes a UUIDv7 when no key is given: then a retry is another
// command.
func commandIDOrNew(header string) (string, error) {
	id, err := commandID(header)
	if err != nil || id != "" {
		return id, err
	}
	fresh, err := uuid.NewV7()
	return fresh.String(), err
}

// view runs f over the views of a campaign as they are now.
func (s *Server) view(ctx context.Context, campaign string, f func(*projections.Views) error) error {
	return s.viewAfter(ctx, campaign, -1, f)
}

// look brings the views of a campaign to what the store has, whichever node stored
// it: who holds a receipt of another node must not be shown a shorter ledger. Views
// that stopped stay where they are, and so do those of a store that has stopped
// writing: behind them it has only what nobody was told is stored.
func (s *Server) look(ctx context.Context, campaign string) error {
	if !isID(campaign) {
		return ledger.ErrUnknownCampaign
	}
	err := s.cfg.Hub.Look(ctx, campaign)
	if errors.As(err, new(*feed.StoppedError)) || errors.Is(err, journal.ErrFull) {
		return nil
	}
	return err
}

// viewAfter is view once the campaign has been read up to and including
// record n.
func (s *Server) viewAfter(ctx context.Context, campaign string, n int64, f func(*projections.Views) error) error {
	if !isID(campaign) {
		return ledger.ErrUnknownCampaign
	}
	return s.cfg.Hub.View(ctx, campaign, n, func(v *projections.Views) error {
		if v.Position() == 0 {
			return ledger.ErrUnknownCampaign
		}
		return f(v)
	})
}
