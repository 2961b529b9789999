package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"tallystick/events/journal"
)

// BenchmarkRoll compares one durable roll over HTTP with an echo handler that
// only appends the same bytes to the same kind of journal. Both go through the
// same client, turn by turn, so that a noisy machine is noisy for both.
func BenchmarkRoll(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(b *testing.B) journal.Journal
	}{
		{"memory", func(*testing.B) journal.Journal { return journal.NewMemory(4) }},
		{"disk", func(b *testing.B) journal.Journal {
			j, err := journal.Embedded(b.Context(), journal.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { j.Close() })
			return j
		}},
	} {
		b.Run(store.name, func(b *testing.B) { compare(b, store.open(b)) })
	}
}

func compare(b *testing.B, j journal.Journal) {
	g := play(b, start(b, j))
	payload := g.stored()[g.size()-1]
	campaign, expected := uuid.NewString(), uint64(0)
	bare := echo.New()
	bare.POST("/append", func(c echo.Context) error {
		if _, err := io.ReadAll(c.Request().Body); err != nil {
			return err
		}
		seq, err := j.Append(c.Request().Context(), journal.Entry{Campaign: campaign, ID: uuid.NewString(), Expected: expected, Payload: payload})
		if err != nil {
			return err
		}
		expected = seq
		return c.Blob(http.StatusOK, "application/json", payload)
	})
	plain := httptest.NewServer(bare)
	defer plain.Close()
	body := `{"type":"roll","data":{"expression":"2d6","purpose":"luck"}}`
	post := func(url string) time.Duration {
		req, err := http.NewRequest("POST", url, bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+g.anna)
		req.Header.Set("Idempotency-Key", uuid.NewString())
		begun := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		took := time.Since(begun)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 {
			b.Fatal(res.StatusCode, string(answer), err)
		}
		return took
	}
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, post(g.http.URL+g.path("/commands")))
		theirs = append(theirs, post(plain.URL+"/append"))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	at := func(all []time.Duration, q float64) float64 {
		return float64(all[int(q*float64(len(all)-1))].Microseconds())
	}
	for _, q := range []float64{0.5, 0.99} {
		b.ReportMetric(at(ours, q), fmt.Sprintf("roll-p%.0f-µs", q*100))
		b.ReportMetric(at(theirs, q), fmt.Sprintf("bare-p%.0f-µs", q*100))
		b.ReportMetric(at(ours, q)/at(theirs, q), fmt.Sprintf("ratio-p%.0f", q*100))
	}
}
