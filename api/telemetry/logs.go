package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

type requestKey struct{}

// WithRequest notes the id of a request, so that every line that is logged on
// its behalf has it.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Logger returns a logger whose lines have the ids of the request and of the
// trace of their context, and no token, whatever was handed to it.
func Logger(log *slog.Logger) *slog.Logger {
	if _, is := log.Handler().(*handler); is {
		return log
	}
	return slog.New(&handler{log.Handler()})
}

type handler struct{ next slog.Handler }

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, line slog.Record) error {
	clean := slog.NewRecord(line.Time, line.Level, hide(line.Message), line.PC)
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		clean.AddAttrs(slog.String("request", hide(id)))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		clean.AddAttrs(slog.String("trace", span.TraceID().String()))
	}
	line.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(hidden(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = hidden(a)
	}
	return &handler{h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler { return &handler{h.next.WithGroup(name)} }

// secret is what a token looks like, and whatever follows "Bearer".
var secret = regexp.MustCompile(`(tally_|whsec_|[Bb]earer +|BEARER +)[A-Za-z0-9+/=._~-]{8,}`)

// hide takes tokens out of a text. No line should have one; that none has must
// not hang on the next person who adds a line.
func hide(text string) string {
	if !strings.Contains(text, "tally_") && !strings.Contains(text, "whsec_") && !strings.Contains(text, "earer") && !strings.Contains(text, "EARER") {
		return text // nearly always: the expression takes longer
	}
	return secret.ReplaceAllString(text, "${1}…")
}

func hidden(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, hide(a.Value.String()))
	case slog.KindGroup:
		var inner []any
		for _, member := range a.Value.Group() {
			inner = append(inner, hidden(member))
		}
		return slog.Group(a.Key, inner...)
	case slog.KindAny:
		if a.Value.Any() == nil {
			return a
		}
		return slog.String(a.Key, hide(fmt.Sprint(a.Value.Any())))
	}
	return a
}
