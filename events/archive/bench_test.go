package archive

import (
	"path/filepath"
	"testing"
	"time"

	"tallystick/events/journal"
)

// What one commit of three records costs whoever hands it over, the copy to
// disk among it: it is behind by at most 1,000 records.
func BenchmarkAppend(b *testing.B) {
	j := journal.NewMemory(4)
	defer j.Close()
	a, _ := open(b, filepath.Join(b.TempDir(), "archive"), j, Options{})
	mustSync(b, a)
	tables := make([]*table, 200)
	for i := range tables {
		tables[i] = newTable(j)
	}
	var spent time.Duration
	count := 0
	for b.Loop() {
		for _, t := range tables { // playing is not what is measured
			c := t.play(b, 3)
			start := time.Now()
			if err := a.Append(b.Context(), c); err != nil {
				b.Fatal(err)
			}
			spent += time.Since(start)
			count++
		}
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(count), "µs/commit")
	mustClose(b, a)
}

// Opening reads one segment, however long the archive is.
func BenchmarkOpen(b *testing.B) {
	j := journal.NewMemory(4)
	defer j.Close()
	dir := filepath.Join(b.TempDir(), "archive")
	a, _ := open(b, dir, j, Options{Records: 1 << 20, Delay: time.Hour})
	mustSync(b, a)
	table := newTable(j)
	for a.Position().Segment == 1 && a.Position().Offset < DefaultSegment-flushBytes {
		for range 5000 {
			if err := a.Append(b.Context(), table.play(b, 3)); err != nil {
				b.Fatal(err)
			}
		}
		mustSync(b, a)
	}
	b.Logf("%+v", a.Position())
	mustClose(b, a)
	for b.Loop() {
		a, report, err := Open(b.Context(), dir, j, Options{})
		if err != nil || !report.Sound() {
			b.Fatal(report, err)
		}
		mustClose(b, a)
	}
}
