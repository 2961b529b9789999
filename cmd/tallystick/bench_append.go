package main

import (
	"errors"
	"fmt"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/rules"
)

func hand(faces []int) *events.Hand { return &events.Hand{Faces: faces} }

// appends measures the way of a command to the disk: alone, and in company.
func (b *bench) appends() error {
	if err := b.loneRoll(); err != nil {
		return err
	}
	for _, crowd := range b.crowds {
		if err := b.crowd(crowd); err != nil {
			return err
		}
	}
	return nil
}

// loneRoll is one durable roll after the other, each followed by a raw publish of
// the very bytes it stored.
func (b *bench) loneRoll() (err error) {
	s, err := b.stage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	campaign, _, err := s.table(b.ctx, 0)
	if err != nil {
		return err
	}
	before, err := s.journal.Last(b.ctx, campaign)
	if err != nil {
		return err
	}
	raw, rawLast := twin(campaign, s.raw.Partitions()), uint64(0)
	var p pairs
	for range b.trials {
		var ours, theirs []float64
		for range b.scale(300) {
			cmd := newCommand("roll", `{"expression":"3d6kh2+1"}`)
			begun := time.Now()
			a, err := s.give(b.ctx, campaign, cmd)
			ours = append(ours, micros(begun))
			if err != nil {
				return err
			}
			e := journal.Entry{Campaign: raw, ID: cmd.ID, Expected: rawLast, Payload: joined(a.Records)}
			begun = time.Now()
			rawLast, err = s.raw.Publish(b.ctx, e)
			theirs = append(theirs, micros(begun))
			if err != nil {
				return err
			}
		}
		p.add(quantile(ours, 0.5), quantile(theirs, 0.5))
	}
	did, err := readWork(b.ctx, s.journal, []string{campaign}, []uint64{before})
	if err != nil {
		return err
	}
	reference, err := readWork(b.ctx, s.reference, []string{raw}, []uint64{0})
	if err != nil {
		return err
	}
	if err := same("append", did, reference); err != nil {
		return err
	}
	return b.report(p.row(benchRow{
		Row: "append: one roll", Reach: 1.25, AtMost: true, Unit: "µs p50", Against: "raw publish of the same bytes",
		Work: fmt.Sprintf("%d rolls, one at a time", did.count),
	}))
}

func micros(begun time.Time) float64 { return float64(time.Since(begun).Nanoseconds()) / 1e3 }

func joined(records [][]byte) []byte {
	var payload []byte
	for i, line := range records {
		if i > 0 {
			payload = append(payload, '\n')
		}
		payload = append(payload, line...)
	}
	return payload
}

// rush is what many campaigns do at once: each gives its commands one after the
// other, as fast as they are answered.
type rush struct {
	campaigns []string
	twins     []string   // where the references store the same
	commands  [][]string // ids, by campaign
	payloads  [][][]byte // by campaign
}

// crowd measures commands a second of so many campaigns, three events each.
func (b *bench) crowd(campaigns int) (err error) {
	s, err := b.stage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	each := max(4, b.scale(min(400, 8000/campaigns)))
	var batches, singles, postgres pairs
	total := float64(campaigns * each)
	var did work
	for range b.trials {
		r := rush{campaigns: make([]string, campaigns), twins: make([]string, campaigns), commands: make([][]string, campaigns), payloads: make([][][]byte, campaigns)}
		people := make([][]string, campaigns)
		before := make([]uint64, campaigns)
		err := few(campaigns, func(i int) (err error) {
			if r.campaigns[i], people[i], err = s.table(b.ctx, each); err != nil {
				return err
			}
			r.twins[i] = twin(r.campaigns[i], s.raw.Partitions())
			before[i], err = s.journal.Last(b.ctx, r.campaigns[i])
			return err
		})
		if err != nil {
			return err
		}
		commands := make([][]rules.Command, campaigns)
		for i, ids := range people {
			for _, id := range ids {
				cmd := wound(id)
				commands[i] = append(commands[i], cmd)
				r.commands[i] = append(r.commands[i], cmd.ID)
			}
		}
		begun := time.Now()
		err = together(campaigns, func(i int) error {
			for _, cmd := range commands[i] {
				a, err := s.give(b.ctx, r.campaigns[i], cmd)
				if err != nil {
					return err
				}
				if len(a.Records) != threeEvents {
					return fmt.Errorf("a wound made %d events", len(a.Records))
				}
			}
			return nil
		})
		ours := total / time.Since(begun).Seconds()
		if err != nil {
			return err
		}
		for i, campaign := range r.campaigns {
			if r.payloads[i], err = stored(b.ctx, s.journal, campaign, before[i]); err != nil {
				return err
			}
		}
		did = workOf(r.payloads)
		batched, err := b.rushRaw(s, r, did, true)
		if err != nil {
			return err
		}
		batches.add(ours, batched)
		fresh := r
		fresh.twins = make([]string, campaigns)
		for i, campaign := range r.campaigns {
			fresh.twins[i] = twin(campaign, s.raw.Partitions())
		}
		single, err := b.rushRaw(s, fresh, did, false)
		if err != nil {
			return err
		}
		singles.add(ours, single)
		if b.postgres != "" {
			rows, err := b.rushPostgres(r, did)
			if err != nil {
				return err
			}
			postgres.add(ours, rows)
		}
	}
	row := benchRow{Row: fmt.Sprintf("append: %d campaigns", campaigns), Unit: "commands/s", Work: fmt.Sprintf("%d commands of %d events a trial", did.count, threeEvents)}
	batchRow, singleRow, pgRow := row, row, row
	batchRow.Against, singleRow.Against = "raw atomic batches of the same bytes", "raw publishes of the same bytes"
	pgRow.Against = "PostgreSQL, 64 clients, synchronous_commit on"
	if campaigns == 200 {
		batchRow.Reach, pgRow.Reach = 0.8, 2
	}
	if err := b.report(batches.row(batchRow)); err != nil {
		return err
	}
	if err := b.report(singles.row(singleRow)); err != nil {
		return err
	}
	if b.postgres != "" {
		return b.report(postgres.row(pgRow))
	}
	return nil
}

// rushRaw stores what a rush stored with nothing of ours: by one atomic batch a
// partition after the other of a command of every campaign, or each campaign by
// itself with single publishes. It returns commands a second.
func (b *bench) rushRaw(s *stage, r rush, did work, batched bool) (float64, error) {
	partitions := make([][]int, s.raw.Partitions())
	for i, campaign := range r.twins {
		p := journal.PartitionOf(campaign, len(partitions))
		partitions[p] = append(partitions[p], i)
	}
	last := make([]uint64, len(r.twins))
	entry := func(i, k int) journal.Entry {
		return journal.Entry{Campaign: r.twins[i], ID: r.commands[i][k], Expected: last[i], Payload: r.payloads[i][k]}
	}
	begun := time.Now()
	var err error
	if batched {
		err = together(len(partitions), func(p int) error {
			if len(partitions[p]) == 0 {
				return nil
			}
			for k := range r.commands[0] {
				var entries []journal.Entry
				for _, i := range partitions[p] {
					entries = append(entries, entry(i, k))
				}
				seqs, err := s.raw.Batch(b.ctx, entries)
				if err != nil {
					return err
				}
				for n, i := range partitions[p] {
					last[i] = seqs[n]
				}
			}
			return nil
		})
	} else {
		err = together(len(r.twins), func(i int) (err error) {
			for k := range r.commands[i] {
				if last[i], err = s.raw.Publish(b.ctx, entry(i, k)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	reference, err := readWork(b.ctx, s.reference, r.twins, make([]uint64, len(r.twins)))
	if err != nil {
		return 0, err
	}
	return float64(did.count) / took.Seconds(), same("append", did, reference)
}
