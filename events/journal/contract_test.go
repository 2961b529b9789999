package journal_test

import (
	"context"
	"testing"
	"time"

	"tallystick/events/journal"
	"tallystick/events/journal/journaltest"
)

func TestMemoryContract(t *testing.T) {
	t.Parallel()
	journaltest.RunContract(t, func(t testing.TB, faults *journal.Faults) journal.Journal {
		m := journal.NewMemory(4)
		m.SetFaults(faults)
		t.Cleanup(func() { m.Close() })
		return m
	})
}

func TestEmbeddedContract(t *testing.T) {
	t.Parallel()
	journaltest.RunContract(t, func(t testing.TB, faults *journal.Faults) journal.Journal {
		return embedded(t, journal.Options{Dir: t.TempDir(), Faults: faults})
	})
}

// A server that syncs every write by itself is what a journal elsewhere has.
func TestServerSyncsContract(t *testing.T) {
	t.Parallel()
	journaltest.RunContract(t, func(t testing.TB, faults *journal.Faults) journal.Journal {
		return embedded(t, journal.Options{Dir: t.TempDir(), Faults: faults, ServerSyncs: true})
	})
}

// embedded opens a real server on disk and closes it when the test ends.
func embedded(t testing.TB, o journal.Options) journal.Journal {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	j, err := journal.Embedded(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}
