package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"tallystick/api/telemetry"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/rules"
)

// watch begins what an operator is told of a command: a span, and, when the
// function it returns is called with what came of it, a figure and a line in
// the log. The line names the campaign and the records, never what is in them.
func (l *Ledger) watch(ctx context.Context, campaign string, cmd rules.Command) (context.Context, func(Answer, error)) {
	begun := time.Now()
	ctx, span := telemetry.StartSpan(ctx, "ledger.execute")
	return ctx, func(a Answer, err error) {
		result := resultOf(a, err)
		took := time.Since(begun)
		l.cfg.Metrics.Command(cmd.Type, result, took)
		if span.IsRecording() {
			span.SetAttributes(attribute.String("tallystick.result", result))
			if fault(result) {
				span.SetStatus(codes.Error, result)
			}
		}
		span.End()
		if err == nil && !l.cfg.Log.Enabled(ctx, slog.LevelInfo) {
			return
		}
		line := []any{"campaign", campaign, "command", cmd.ID, "type", cmd.Type, "result", result, "duration", took}
		switch {
		case err == nil:
			l.cfg.Log.InfoContext(ctx, "command", append(line, "first", a.First, "last", a.Last)...)
		case fault(result):
			l.cfg.Log.ErrorContext(ctx, "command", append(line, "error", err)...)
		default:
			l.cfg.Log.InfoContext(ctx, "command", line...)
		}
	}
}

// Results of a command, as they are counted.
const (
	resultStored   = "stored"
	resultRepeated = "repeated" // it had been executed before
	resultUnclear  = "unclear"
	resultFull     = "full"
	resultReadOnly = "read-only"
	resultFailed   = "failed"
)

// fault reports whether a result is the server's own.
func fault(result string) bool {
	switch result {
	case resultUnclear, resultFull, resultReadOnly, resultFailed:
		return true
	}
	return false
}

// resultOf says in a word what came of a command.
func resultOf(a Answer, err error) string {
	var (
		invalid   *rules.Invalid
		rejection *rules.Rejection
		forbidden *rules.Forbidden
		unclear   *journal.UnclearError
		red       *RedError
		large     *events.TooLargeError
	)
	switch {
	case err == nil && a.Repeated:
		return resultRepeated
	case err == nil:
		return resultStored
	case errors.As(err, &invalid):
		return "invalid"
	case errors.As(err, &rejection):
		return "rejected"
	case errors.As(err, &forbidden):
		return "forbidden"
	case errors.Is(err, ErrReused):
		return "key-reused"
	case errors.Is(err, ErrUnknownCampaign):
		return "unknown-campaign"
	case errors.Is(err, ErrForeign):
		return "imported"
	case errors.As(err, &unclear): // before what it may wrap
		return resultUnclear
	case errors.As(err, &red), errors.Is(err, journal.ErrDamaged):
		return resultReadOnly
	case errors.Is(err, journal.ErrConflict):
		return "conflict"
	case errors.Is(err, journal.ErrFull):
		return resultFull
	case errors.As(err, &large), errors.Is(err, journal.ErrTooLarge):
		return "too-large"
	case errors.Is(err, ErrClosing), errors.Is(err, journal.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "unavailable"
	}
	return resultFailed
}

// watchAppend is append with its span and its figure.
func (l *Ledger) watchAppend(ctx context.Context, entry journal.Entry) (uint64, error) {
	ctx, span := telemetry.StartSpan(ctx, "journal.append")
	defer span.End()
	begun := time.Now()
	seq, err := l.cfg.Journal.Append(ctx, entry)
	outcome := telemetry.AppendStored
	switch {
	case errors.Is(err, journal.ErrConflict):
		outcome = telemetry.AppendConflict
	case err != nil:
		outcome = telemetry.AppendFailed
		span.SetStatus(codes.Error, "")
	}
	l.cfg.Metrics.Append(outcome, time.Since(begun))
	return seq, err
}

// ticksIn counts the due checks that a commit has decided.
func ticksIn(facts []events.Fact) int {
	n := 0
	for _, fact := range facts {
		if _, tick := fact.Event.(*events.TickProcessed); tick {
			n++
		}
	}
	return n
}
