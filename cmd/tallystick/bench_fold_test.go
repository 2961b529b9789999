package main

import (
	"bytes"
	"testing"

	"tallystick/events"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
)

// BenchmarkLedger has the ways in which a stored campaign is gone through, and
// the rules and dice alone, which none of them can be faster than. The figure to
// look at is the processor time of one record.
func BenchmarkLedger(b *testing.B) {
	var out bytes.Buffer
	bare, err := writeCampaign(&out, 2_000)
	if err != nil {
		b.Fatal(err)
	}
	campaign, export := bare.campaign, out.Bytes()
	var payloads [][]byte
	if err := replay.Commits(bytes.NewReader(export), func(p []byte) error { payloads = append(payloads, p); return nil }); err != nil {
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
