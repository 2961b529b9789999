package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"tallystick/api/telemetry"
)

// noRoute stands for an address at which nothing is served.
const noRoute = "none"

func patterns(e *echo.Echo) map[string]bool {
	all := map[string]bool{}
	for _, r := range e.Routes() {
		all[r.Path] = true
	}
	return all
}

// pattern is the route of a request, never the address that was asked for:
// where there is no route, echo gives the address, and somebody may have
// pasted a token into it.
func (s *Server) pattern(c echo.Context) string {
	if s.patterns[c.Path()] {
		return c.Path()
	}
	return noRoute
}

// span begins the span of a request, inside the one that the client names.
func (s *Server) span(ctx context.Context, c echo.Context) (context.Context, trace.Span) {
	if s.cfg.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	r := c.Request()
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	return s.cfg.Tracer.Start(ctx, telemetry.Method(r.Method)+" "+s.pattern(c), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", telemetry.Method(r.Method)), attribute.String("http.route", s.pattern(c)),
	))
}

// answered tells of a request that was answered: a line in the log, a figure,
// the end of its span.
func (s *Server) answered(c echo.Context, r *request, span trace.Span, took time.Duration) {
	route, method, status := s.pattern(c), telemetry.Method(c.Request().Method), c.Response().Status
	line := []any{"method", method, "route", route, "status", status, "bytes", c.Response().Size, "duration", took}
	if r.problem != nil {
		line = append(line, "problem", r.problem.slug())
	}
	s.cfg.Log.InfoContext(c.Request().Context(), "request", line...)
	feed := strings.HasPrefix(c.Response().Header().Get(echo.HeaderContentType), mediaSSE)
	s.cfg.Metrics.Request(route, method, status, took, feed)
	switch {
	case r.problem == nil:
	case r.problem.limit != "":
		s.cfg.Metrics.Refused(r.problem.limit)
	case r.problem.Status == http.StatusRequestEntityTooLarge:
		s.cfg.Metrics.Refused(telemetry.LimitSize)
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}
