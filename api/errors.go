package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections/feed"
	"tallystick/replay"
	"tallystick/rules"
)

// A Problem is an error as RFC 9457 writes it. It never holds a stack, a path
// of the server's disk or a secret.
type Problem struct {
	Type     string       `json:"type" doc:"what kind of problem; stable, and a page about it"`
	Title    string       `json:"title" doc:"the kind in words"`
	Status   int          `json:"status" doc:"HTTP status"`
	Detail   string       `json:"detail,omitzero" doc:"what is wrong this time"`
	Instance string       `json:"instance,omitzero" doc:"path that was asked for"`
	Request  string       `json:"request,omitzero" doc:"id of the request, as in the header X-Request-Id and in the server's log"`
	Rule     string       `json:"rule,omitzero" doc:"id of the rule that says no"`
	Code     string       `json:"code,omitzero" doc:"the refusal, for programs"`
	Reason   string       `json:"reason,omitzero" doc:"the refusal, for people"`
	Errors   []FieldError `json:"errors,omitzero" doc:"the members that are meant"`

	header http.Header
	limit  string // that was reached, as telemetry names it; empty: none
}

// A FieldError names a member of the request and what is wrong with it.
type FieldError struct {
	Location string `json:"location" doc:"where: body.data.points, query.from, header.Idempotency-Key"`
	Message  string `json:"message"`
}

// kind is one sort of problem.
type kind struct {
	Slug   string
	Status int
	Title  string
	Help   string // what to do about it
}

// kinds are all sorts of problems; their slugs are part of the API.
var kinds = []kind{
	{"malformed", 400, "The request is malformed", "A member is missing, unknown, of the wrong type or out of bounds: errors names it. Nothing was stored."},
	{"unauthenticated", 401, "A token is needed", "Send the header Authorization: Bearer with a token that is in force."},
	{"forbidden", 403, "This token may not do that", "The command, or the page, is for another role."},
	{"not-found", 404, "There is no such thing", "It does not exist, or it is not for this token."},
	{"method-not-allowed", 405, "The method is not for this address", "The header Allow names the methods that are."},
	{"timeout", 408, "The request took too long to arrive", "Send it again."},
	{"conflict", 409, "Another command came first", "Send the command again with the same Idempotency-Key."},
	{"key-reused", 409, "The idempotency key was used for another command", "A new command needs a new key. The old one was not executed again."},
	{"imported", 409, "The campaign was imported and is read-only here", "Another server has its signing key. To go on with it here, move that server's data folder, or start a server with its keys and name."},
	{"has-left", 409, "The participant has left", "The key belongs to a command that was executed before; since then the participant was removed."},
	{"too-large", 413, "That is too large", "Bodies have at most 64 KiB; records and commits have limits too. Nothing was stored."},
	{"unsupported-media-type", 415, "The content type is not understood", "Send JSON in UTF-8, Content-Type: application/json, not compressed."},
	{"rejected", 422, "The rules say no", "rule, code and reason say which and why. Nothing was stored and no die was shown."},
	{"too-many-requests", 429, "Too many requests", "Come back after the seconds in Retry-After. Nothing was stored."},
	{"too-many-streams", 429, "Too many live feeds", "Close one, or come back after the seconds in Retry-After."},
	{"internal", 500, "The server failed", "It is a fault of the program. The log has more under the id in request."},
	{"read-only", 503, "The campaign is read-only", "Its ledger was found not to be whole; /readyz says where. Trying again does not help: the ledger has to be restored."},
	{"unclear", 503, "The command may or may not be stored", "Ask again with the same Idempotency-Key: it is executed at most once."},
	{"not-yet", 503, "The view has not read that far yet", "Come back after the seconds in Retry-After."},
	{"unavailable", 503, "The server cannot answer now", "Come back after the seconds in Retry-After, with the same Idempotency-Key."},
	{"too-many-campaigns", 507, "The server holds no more campaigns", "Nothing was stored. Tell whoever runs the server."},
	{"full", 507, "The server's disk is full, or fails", "Nothing was stored; reading goes on. Tell whoever runs the server."},
}

// ProblemPath is what the types of problems begin with.
const ProblemPath = "/problems/"

// newProblem makes a problem of a kind. An unknown slug is a fault of the program.
func newProblem(slug, detail string, fields ...FieldError) *Problem {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.Slug == slug })
	if i < 0 {
		panic("api: no problem is called " + slug)
	}
	k := kinds[i]
	return &Problem{Type: ProblemPath + slug, Title: k.Title, Status: k.Status, Detail: detail, Errors: fields}
}

// Error implements error.
func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are headers that belong to the problem.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func (p *Problem) with(header, value string) *Problem {
	p.header = http.Header{}
	p.header.Set(header, value)
	return p
}

// because notes which limit was reached, for who runs the server.
func (p *Problem) because(limit string) *Problem {
	p.limit = limit
	return p
}

// slug is the kind of the problem.
func (p *Problem) slug() string { return strings.TrimPrefix(p.Type, ProblemPath) }

func (p *Problem) retryAfter(seconds int) *Problem {
	return p.with("Retry-After", strconv.Itoa(seconds))
}

// problemOf says what went wrong in the words of the API. It is the only place
// that knows which error has which status.
func problemOf(err error) *Problem {
	var (
		problem   *Problem
		invalid   *rules.Invalid
		rejection *rules.Rejection
		forbidden *rules.Forbidden
		pending   *rules.PendingError
		red       *ledger.RedError
		stopped   *feed.StoppedError
		unclear   *journal.UnclearError
		large     *events.TooLargeError
		notARoll  *replay.NotARoll
		unusable  *replay.Unusable
		missing   *rules.MissingEdition
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &invalid):
		return malformed(invalid.Field, invalid.Reason)
	case errors.As(err, &rejection):
		return rejected(rejection)
	case errors.As(err, &forbidden):
		return newProblem("forbidden", forbidden.Reason)
	case errors.Is(err, ledger.ErrUnknownCampaign), errors.Is(err, feed.ErrUnknown), errors.Is(err, journal.ErrNotFound):
		return newProblem("not-found", "there is no such campaign")
	case errors.Is(err, ledger.ErrForeign):
		return newProblem("imported", err.Error())
	case errors.Is(err, ledger.ErrReused):
		return newProblem("key-reused", err.Error(), FieldError{"header.Idempotency-Key", "was used for another command"})
	case errors.As(err, &unclear): // before what it may wrap
		return newProblem("unclear", "ask again with the same Idempotency-Key").retryAfter(1)
	case errors.As(err, &red), errors.As(err, &stopped), errors.Is(err, journal.ErrDamaged):
		return newProblem("read-only", "the ledger of this campaign is not whole")
	case errors.As(err, &notARoll):
		return newProblem("not-found", notARoll.Error())
	case errors.As(err, &missing):
		return malformed("body.edition", fmt.Sprintf("is %d: that edition of %s is not on board", missing.Edition, missing.System))
	case errors.As(err, &unusable):
		return newProblem("read-only", "the ledger of this campaign is not whole")
	case errors.Is(err, journal.ErrConflict):
		return newProblem("conflict", "others were faster: ask again with the same Idempotency-Key")
	case errors.Is(err, journal.ErrFull):
		return newProblem("full", "nothing was stored")
	case errors.Is(err, journal.ErrTooLarge):
		return newProblem("too-large", "what follows from this command does not fit into the journal")
	case errors.As(err, &large):
		return newProblem("too-large", large.Error())
	case errors.As(err, &pending):
		return newProblem("unavailable", pending.Error()).retryAfter(1)
	case errors.Is(err, ledger.ErrClosing), errors.Is(err, journal.ErrClosed), errors.Is(err, feed.ErrClosed):
		return newProblem("unavailable", "the server is shutting down").retryAfter(5)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem("unavailable", "it took too long").retryAfter(1)
	}
	return newProblem("internal", "the server's log has more under this request's id")
}

func malformed(location, reason string) *Problem {
	if location == "" {
		return newProblem("malformed", reason)
	}
	location = short(location)
	return newProblem("malformed", location+" "+reason, FieldError{location, reason})
}

func rejected(r *rules.Rejection) *Problem {
	p := newProblem("rejected", r.Error())
	p.Rule, p.Code, p.Reason = r.Rule, r.Code, r.Reason
	for _, x := range r.Each {
		p.Errors = append(p.Errors, FieldError{x.Field, x.Error()})
	}
	if r.Field != "" && p.Errors == nil {
		p.Errors = []FieldError{{r.Field, r.Reason}}
	}
	return p
}

// around are the members of a command: its data, and those beside it. No data
// has a member of such a name, so that a complaint leaves no doubt.
var around = []string{"type", "data", "dice", "seat", "visibility"}

// inCommand says where in a command's body a complaint lies. The rules name
// members of the data as if there were nothing around it.
func inCommand(err error) error {
	return located(err, func(field string) string {
		first, _, _ := strings.Cut(field, ".")
		switch {
		case field == "Idempotency-Key":
			return "header." + field
		case slices.Contains(around, first):
			return "body." + field
		}
		return strings.TrimSuffix("body.data."+field, ".")
	})
}

// inside puts the name of a part of the request before the field that a
// complaint names.
func inside(part string, err error) error {
	return located(err, func(field string) string { return strings.TrimSuffix(part+"."+field, ".") })
}

func located(err error, where func(field string) string) error {
	var invalid *rules.Invalid
	if errors.As(err, &invalid) {
		return &rules.Invalid{Field: where(invalid.Field), Reason: invalid.Reason}
	}
	var rejection *rules.Rejection
	if errors.As(err, &rejection) && rejection.Field != "" {
		moved := *rejection
		moved.Field = where(rejection.Field)
		moved.Each = slices.Clone(rejection.Each)
		for i, x := range moved.Each {
			moved.Each[i].Field = where(x.Field)
		}
		return &moved
	}
	return err
}

// statusSlugs are the kinds of the problems that the frameworks find.
var statusSlugs = map[int]string{
	http.StatusUnprocessableEntity:   "malformed", // 422 is for the rules alone
	http.StatusNotFound:              "not-found",
	http.StatusMethodNotAllowed:      "method-not-allowed",
	http.StatusRequestTimeout:        "timeout",
	http.StatusRequestEntityTooLarge: "too-large",
	http.StatusUnsupportedMediaType:  "unsupported-media-type",
	http.StatusInternalServerError:   "internal",
}

// problemOfStatus is a problem that huma or echo found.
func problemOfStatus(status int, detail string, errs ...error) *Problem {
	slug, ok := statusSlugs[status]
	switch {
	case ok:
	case status >= 500:
		slug = "internal"
	default:
		slug = "malformed"
	}
	p := newProblem(slug, detail)
	if slug == "internal" {
		p.Detail = "the server's log has more under this request's id"
		return p
	}
	for _, err := range errs {
		// The value that was sent is left out: it might be a secret.
		if detailer, ok := err.(huma.ErrorDetailer); ok {
			d := detailer.ErrorDetail()
			p.Errors = append(p.Errors, FieldError{d.Location, d.Message})
		}
	}
	if len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Location + ": " + p.Errors[0].Message
	}
	return p
}

// longestLocation bounds the path to a field in a problem: a body may be
// nested thousands of times.
const longestLocation = 200

func short(location string) string {
	if len(location) <= longestLocation {
		return location
	}
	return location[:longestLocation] + "…"
}
