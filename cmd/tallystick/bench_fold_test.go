package main

import (
	"bytes"
	"testing"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
)

// longEvening is a campaign of some 4,000 records, as its commits.
func longEvening(b *testing.B) (campaign string, payloads [][]byte) {
	j := journal.NewMemory(1)
	l, err := ledger.New(b.Context(), ledger.Config{Journal: j, Library: library(), Keys: benchKeys, Server: "bench.example"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	campaign, err = new(bench{ctx: b.Context()}).evening(&stage{Ledger: l, journal: j}, 500)
	if err != nil {
		b.Fatal(err)
	}
	if payloads, err = stored(b.Context(), j, campaign, 0); err != nil {
		b.Fatal(err)
	}
	return campaign, payloads
}

// BenchmarkLedger has the ways in which a stored campaign is gone through, and
// the rules and dice alone, which none of them can be faster than. The figure to
// look at is the processor time of one record.
func BenchmarkLedger(b *testing.B) {
	campaign, payloads := longEvening(b)
	export := append(bytes.Join(payloads, []byte("\n")), '\n')
	bare, err := decisionsOf(campaign, payloads)
	if err != nil {
		b.Fatal(err)
	}
	parse := func(each func(recs []events.Record) error) error {
		for _, payload := range payloads {
			recs, err := events.ParseCommit(payload)
			if err == nil {
				err = each(recs)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, way := range []struct {
		name string
		run  func() error
	}{
		{"decide", func() error { _, err := bare.decide(nil); return err }},
		{"replay", func() error {
			r := replay.New(library())
			for _, payload := range payloads {
				if err := r.Commit(payload); err != nil {
					return err
				}
			}
			return nil
		}},
		{"verify", func() error {
			_, err := replay.Verify(bytes.NewReader(export), replay.Evidence{Library: library()})
			return err
		}},
		{"parse", func() error { return parse(func([]events.Record) error { return nil }) }},
		{"fold", func() error { return parse(rules.NewCampaign(campaign, library()).ApplyCommit) }},
		{"views", func() error {
			v := projections.New(campaign)
			return parse(func(recs []events.Record) error {
				for _, rec := range recs {
					if err := v.Apply(rec); err != nil {
						return err
					}
				}
				return nil
			})
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			begun := processorTime()
			for b.Loop() {
				if err := way.run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime()-begun)/float64(b.N*bare.events), "cpu-ns/record")
		})
	}
}
