package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// While nobody traces, spans are free.
func TestNoSpanCostsNothing(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, span := StartSpan(ctx, "x")
		span.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Wherever a token is put into a line, it does not come out.
func TestNoTokenInALine(t *testing.T) {
	token := "tally_" + strings.Repeat("0a", 32)
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewJSONHandler(&out, nil)))
	if Logger(log) != log {
		t.Error("a logger is wrapped twice")
	}
	log.Info("the token " + token)
	log.Info("x", "token", token, "header", "Bearer  abcdefgh12345678", "other", "bearer abcdefgh1234", "hook", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	log.Info("x", "error", fmt.Errorf("wrapped: %w", errors.New(token)), "list", []string{token})
	log.With("always", token).WithGroup("g").Info("x", slog.Group("inner", "token", token), "n", 7)
	text := out.String()
	for _, secret := range []string{token, token[6:], "abcdefgh", "MfKQ9r8"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	if strings.Count(text, "tally_…") != 6 || !strings.Contains(text, `"g":{"inner":{"token":"tally_…"},"n":7}`) {
		t.Error(text)
	}
}
