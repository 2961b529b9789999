package ledger_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"tallystick/api/ledger"
	"tallystick/api/telemetry"
	"tallystick/events/journal"
)

// A command that loses to another node is counted as a conflict and, once it
// is decided again, as stored; a line in the log says so of its request.
func TestConflictIsCounted(t *testing.T) {
	s, _ := table(t, journal.NewMemory(1))
	var log bytes.Buffer
	metrics := telemetry.NewMetrics("test", []string{"note.add"})
	other, err := ledger.New(context.Background(), ledger.Config{
		Journal: s.journal, Library: embers, Keys: keys, Server: "test.example", Metrics: metrics,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := telemetry.WithRequest(context.Background(), "r-1")
	give := func() {
		if _, err := other.Execute(ctx, campaign, command("gm", "note.add", `{"text":"xyzzy"}`)); err != nil {
			t.Fatal(err)
		}
	}
	give()
	s.must("gm", "note.add", `{"text":"first"}`) // the other node does not know of it
	give()
	var figures bytes.Buffer
	if err := metrics.Write(&figures); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"tallystick_conflicts_total 1\n",
		`tallystick_append_seconds_count{outcome="conflict"} 1` + "\n",
		`tallystick_append_seconds_count{outcome="stored"} 2` + "\n",
		`tallystick_commands_total{result="stored",type="note.add"} 2` + "\n",
		"tallystick_records_total 2\n",
	} {
		if !strings.Contains(figures.String(), want) {
			t.Errorf("no %q in\n%s", want, figures.String())
		}
	}
	if got := strings.Count(log.String(), "request=r-1"); got != 2 || !strings.Contains(log.String(), "result=stored") || strings.Contains(log.String(), "xyzzy") {
		t.Errorf("%d lines of the request:\n%s", got, log.String())
	}
}
