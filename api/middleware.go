package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"tallystick/api/telemetry"
)

// request is what is known of a request while it is answered.
type request struct {
	id       string
	address  string // of who asks
	tls      bool
	sameSite bool     // it comes from a page of this server, as the browser says
	caller   caller   // set by guard
	problem  *Problem // that it was answered with; nil: none
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		panic("api: a handler runs outside observe")
	}
	return r
}

func callerOf(ctx context.Context) caller { return requestOf(ctx).caller }

// requestIDHeader names a request, in what is asked and what is answered.
const requestIDHeader = "X-Request-Id"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// observe gives every request an id, writes the access log, and turns a panic
// into a 500. The log holds the pattern of the route, never a query or a header.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		id := c.Request().Header.Get(requestIDHeader)
		if !requestID.MatchString(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		r := &request{id: id, address: c.RealIP(), tls: c.Request().TLS != nil, sameSite: sameSite(c.Request())}
		ctx, span := s.span(context.WithValue(telemetry.WithRequest(c.Request().Context(), id), requestKey{}, r), c)
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Header().Set(requestIDHeader, id)
		broken := s.sheltered(c, next)
		s.answered(c, r, span, time.Since(begun))
		if broken {
			panic(http.ErrAbortHandler) // the reader must not take a part for the whole
		}
		return nil
	}
}

// sheltered runs a handler and answers its error or panic. It reports whether
// the connection has to be cut, because an answer broke off in the middle.
func (s *Server) sheltered(c echo.Context, next echo.HandlerFunc) (broken bool) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			broken = true
			return
		}
		s.cfg.Log.ErrorContext(c.Request().Context(), "panic", "route", s.pattern(c), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		broken = c.Response().Committed
		if !broken {
			s.writeProblem(c, problemOfStatus(http.StatusInternalServerError, ""))
		}
	}()
	if err := next(c); err != nil {
		s.httpError(err, c)
	}
	return false
}

// harden sets the headers that keep browsers from guessing, and the limits of
// a request.
func (s *Server) harden(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if c.Request().ContentLength > MaxBody && c.Path() != importPath {
			return problemOfStatus(http.StatusRequestEntityTooLarge, tooLarge)
		}
		if p := s.admitAddress(c.RealIP()); p != nil {
			return p
		}
		// No writer of a test knows deadlines, so the error is of no interest.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeTimeout))
		return next(c)
	}
}

var tooLarge = fmt.Sprintf("the body has more than %d bytes", MaxBody)

// single are the headers that say one thing.
var single = []string{"Authorization", "Content-Encoding", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Ledger-Size"}

// once refuses a request that says a thing twice: what is in front of the server
// may go by the one, and the server by the other.
func (s *Server) once(ctx huma.Context, next func(huma.Context)) {
	c := humaecho.Unwrap(ctx)
	if p := twice(c.Request()); p != nil {
		s.writeProblem(c, p)
		return
	}
	next(ctx)
}

func twice(r *http.Request) *Problem {
	for _, name := range single {
		if len(r.Header.Values(name)) > 1 {
			return malformed("header."+name, "is given twice")
		}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return malformed("query", "cannot be read: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(query[name]) > 1 {
			return malformed("query."+name, "is given twice")
		}
	}
	return nil
}

// onlyJSON refuses bodies that are something else.
func (s *Server) onlyJSON(ctx huma.Context, next func(huma.Context)) {
	kind, params, err := mime.ParseMediaType(ctx.Header("Content-Type"))
	charset := params["charset"]
	encoding := ctx.Header("Content-Encoding")
	switch {
	case err != nil || kind != "application/json":
		s.writeProblem(humaecho.Unwrap(ctx), newProblem("unsupported-media-type", "the header Content-Type must be application/json", FieldError{"header.Content-Type", "must be application/json"}))
	case charset != "" && !strings.EqualFold(charset, "utf-8"):
		s.writeProblem(humaecho.Unwrap(ctx), newProblem("unsupported-media-type", "the body must be UTF-8", FieldError{"header.Content-Type", "must have no charset but utf-8"}))
	case encoding != "" && encoding != "identity":
		s.writeProblem(humaecho.Unwrap(ctx), newProblem("unsupported-media-type", "the body must not be compressed", FieldError{"header.Content-Encoding", "is not taken"}))
	default:
		next(ctx)
	}
}

// httpError answers what echo found: no such route, not this method.
func (s *Server) httpError(err error, c echo.Context) {
	var he *echo.HTTPError
	var p *Problem
	switch {
	case errors.As(err, &p):
	case errors.As(err, &he) && he.Code == http.StatusNotFound:
		p = newProblem("not-found", "nothing is served at this address")
	case errors.As(err, &he):
		p = problemOfStatus(he.Code, fmt.Sprint(he.Message))
	default:
		p = s.problem(c.Request().Context(), err)
	}
	s.writeProblem(c, p)
}

// problem says what went wrong, and logs what is the server's own fault.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.cfg.Log.ErrorContext(ctx, "failed", "error", err)
	}
	return p
}

// writeProblem answers with a problem, unless an answer has begun.
func (s *Server) writeProblem(c echo.Context, p *Problem) {
	if c.Response().Committed {
		return
	}
	for name := range p.header {
		c.Response().Header().Set(name, p.header.Get(name))
	}
	var body bytes.Buffer
	if err := format.Marshal(&body, signed(p, c)); err != nil {
		panic("api: " + err.Error()) // a problem is made of strings
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(body.Len()))
	_ = c.Blob(p.Status, p.ContentType(""), body.Bytes()) // fails when the client is gone
}

// sign gives a problem that huma writes the id of its request.
func (s *Server) sign(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*Problem); ok {
		return signed(p, humaecho.Unwrap(ctx)), nil
	}
	return v, nil
}

// signed is a problem of a request, which takes note of it. What it repeats of the request is made
// text: a query may hold any bytes.
func signed(p *Problem, c echo.Context) *Problem {
	mine := *p
	mine.Detail, mine.Reason = strings.ToValidUTF8(mine.Detail, "\uFFFD"), strings.ToValidUTF8(mine.Reason, "\uFFFD")
	mine.Errors = slices.Clone(mine.Errors)
	for i, e := range mine.Errors {
		mine.Errors[i] = FieldError{strings.ToValidUTF8(e.Location, "\uFFFD"), strings.ToValidUTF8(e.Message, "\uFFFD")}
	}
	r := requestOf(c.Request().Context())
	mine.Instance, mine.Request = c.Request().URL.EscapedPath(), r.id
	r.problem = &mine
	return &mine
}
