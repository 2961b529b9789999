package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/replay"
	"tallystick/rules"
)

// evening fills a campaign with an evening of play: rolls and checks, wounds, and
// game time that passes.
func (b *bench) evening(s *stage, rounds int) (campaign string, err error) {
	campaign, people, err := s.table(b.ctx, 10)
	if err != nil {
		return "", err
	}
	for i := range rounds {
		for _, cmd := range benchRound(people, i) {
			if _, err := s.give(b.ctx, campaign, cmd); err != nil && !errors.As(err, new(*rules.Rejection)) {
				return "", err
			}
		}
	}
	return campaign, nil
}

// benchRound is the commands of a round of play: rolls, a wound and its healing, and
// an hour that passes.
func benchRound(people []string, i int) []rules.Command {
	someone := people[i%len(people)]
	return []rules.Command{
		newCommand("roll", `{"expression":"3d6kh2+1","purpose":"luck"}`),
		newCommand("roll", `{"expression":"1d10","character":"`+people[0]+`"}`),
		newCommand("wound.inflict", `{"character":"`+someone+`","points":3,"cause":"a fall"}`),
		newCommand("heal.grant", `{"character":"`+someone+`","points":3,"cause":"a blessing"}`),
		newCommand("clock.advance", `{"by":"1h"}`),
	}
}

// evenings are the campaigns that replay and rebuild read.
func (b *bench) evenings() (s *stage, campaigns []string, err error) {
	if s, err = b.stage(); err != nil {
		return nil, nil, err
	}
	campaigns = make([]string, 16)
	err = together(len(campaigns), func(i int) (err error) {
		campaigns[i], err = b.evening(s, b.scale(100))
		return err
	})
	return s, campaigns, err
}

// oneCore runs f with one core for everything, and returns the processor's time,
// in which a machine that does other things as well is no slower.
func oneCore(f func() error) (took time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	begun := processorTime()
	err = f()
	return processorTime() - begun, err
}

// replay measures deciding again and comparing, against deciding alone.
func (b *bench) replay() (err error) {
	s, campaigns, err := b.evenings()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	payloads := make([][][]byte, len(campaigns))
	bare := make([]*decisions, len(campaigns))
	events := 0
	for i, campaign := range campaigns {
		if payloads[i], err = stored(b.ctx, s.journal, campaign, 0); err != nil {
			return err
		}
		if bare[i], err = decisionsOf(campaign, payloads[i]); err != nil {
			return err
		}
		if err := bare[i].check(payloads[i]); err != nil {
			return fmt.Errorf("no ratio: %w", err)
		}
		events += bare[i].events
	}
	var p pairs
	for range b.trials {
		replayed := int64(0)
		ours, err := oneCore(func() error {
			for _, campaign := range payloads {
				r := replay.New(library())
				for _, payload := range campaign {
					if err := r.Commit(payload); err != nil {
						return err
					}
				}
				replayed += r.Records()
			}
			return nil
		})
		if err != nil {
			return err
		}
		decided := 0
		theirs, err := oneCore(func() error {
			for _, d := range bare {
				n, err := d.decide(nil)
				if err != nil {
					return err
				}
				decided += n
			}
			return nil
		})
		if err != nil {
			return err
		}
		if int(replayed) != events || decided != events {
			return fmt.Errorf("no ratio: %d events replayed, %d decided, %d are stored", replayed, decided, events)
		}
		p.add(float64(events)/ours.Seconds(), float64(events)/theirs.Seconds())
	}
	return b.report(p.row(benchRow{
		Row: "replay", Reach: 0.7, Unit: "events/s on one core", Against: "rules and dice alone in memory",
		Work: fmt.Sprintf("%d events of %d campaigns", events, len(campaigns)),
	}))
}

// decisions are the commands of a campaign, ready to be decided with nothing around.
type decisions struct {
	campaign string
	chains   *benchChains
	heads    []events.Head
	commands []rules.Command
	events   int
}

func decisionsOf(campaign string, payloads [][]byte) (*decisions, error) {
	d := &decisions{campaign: campaign, chains: &benchChains{campaign: campaign}}
	for _, payload := range payloads {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			return nil, err
		}
		first := recs[0]
		d.events += len(recs)
		d.heads = append(d.heads, events.Head{Campaign: campaign, N: first.N, At: first.At, By: first.By, Cmd: first.Cmd})
		d.commands = append(d.commands, rules.Command{ID: first.Cmd.ID, By: first.By, Type: first.Cmd.Type, Data: first.Cmd.Data, Dice: first.Cmd.Dice, Seat: first.Cmd.Seat})
	}
	return d, nil
}

// decide decides all and hands each commit's facts to each, if there is one.
func (d *decisions) decide(each func(i int, facts []events.Fact) error) (count int, err error) {
	c := rules.NewCampaign(d.campaign, library())
	for i, cmd := range d.commands {
		facts, err := rules.Decide(c, cmd, d.chains)
		if err != nil {
			return count, err
		}
		if each != nil {
			if err := each(i, facts); err != nil {
				return count, err
			}
		}
		if err := c.ApplyFacts(d.heads[i], facts); err != nil {
			return count, err
		}
		count += len(facts)
	}
	return count, nil
}

// check compares what is decided with what is stored.
func (d *decisions) check(payloads [][]byte) error {
	_, err := d.decide(func(i int, facts []events.Fact) error {
		recs, err := events.ParseCommit(payloads[i])
		if err != nil {
			return err
		}
		if len(recs) != len(facts) {
			return fmt.Errorf("commit %d: %d facts decided, %d stored", i, len(facts), len(recs))
		}
		for k := range facts {
			if err := facts[k].Encode(); err != nil {
				return err
			}
			if string(facts[k].Data) != string(recs[k].Data) {
				return fmt.Errorf("record %d: decided %s, stored %s", recs[k].N, facts[k].Data, recs[k].Data)
			}
		}
		return nil
	})
	return err
}

// rebuild measures reading all campaigns and folding their views anew, against
// ordered consumers that read the same messages and do nothing with them.
func (b *bench) rebuild() (err error) {
	s, campaigns, err := b.evenings()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var all [][][]byte
	for _, campaign := range campaigns {
		payloads, err := stored(b.ctx, s.journal, campaign, 0)
		if err != nil {
			return err
		}
		all = append(all, payloads)
	}
	did := sumOf(all)
	below, _ := journal.Measure(s.journal)
	var p pairs
	events := 0
	for range b.trials {
		begun := time.Now()
		folded, err := b.fold(s, campaigns)
		ours := time.Since(begun)
		if err != nil {
			return err
		}
		consumed := make([]sum, below.Partitions())
		begun = time.Now()
		err = together(len(consumed), func(i int) error {
			return below.Consume(b.ctx, i, func(payload []byte) { consumed[i].add(payload) })
		})
		theirs := time.Since(begun)
		if err != nil {
			return err
		}
		var reference sum
		for _, c := range consumed {
			reference.merge(c)
		}
		if folded.sum != did || reference != did {
			return fmt.Errorf("no ratio: %v folded, %v consumed, %v stored", folded.sum, reference, did)
		}
		events = folded.events
		p.add(float64(events)/ours.Seconds(), float64(events)/theirs.Seconds())
	}
	return b.report(p.row(benchRow{
		Row: "rebuild", Reach: 0.7, Unit: "events/s", Against: "raw ordered consumers of the same messages",
		Work: fmt.Sprintf("%d events of %d campaigns", events, len(campaigns)),
	}))
}

// sum is a checksum of messages in any order, cheap enough to be taken while the
// clock runs: how many, their bytes, and the FNV-1a of the first 256 of each.
type sum struct {
	messages, bytes int
	xor             uint64
}

func (s *sum) add(payload []byte) {
	h := uint64(14695981039346656037)
	for _, c := range payload[:min(len(payload), 256)] {
		h = (h ^ uint64(c)) * 1099511628211
	}
	s.messages, s.bytes, s.xor = s.messages+1, s.bytes+len(payload), s.xor^h
}

func (s *sum) merge(o sum) {
	s.messages, s.bytes, s.xor = s.messages+o.messages, s.bytes+o.bytes, s.xor^o.xor
}

func sumOf(campaigns [][][]byte) (s sum) {
	for _, payloads := range campaigns {
		for _, p := range payloads {
			s.add(p)
		}
	}
	return s
}

type folded struct {
	sum
	events int
}

// fold rebuilds the views of campaigns, as many at once as there are partitions.
func (b *bench) fold(s *stage, campaigns []string) (folded, error) {
	lanes := make([]folded, s.raw.Partitions())
	err := together(len(lanes), func(lane int) error {
		for i := lane; i < len(campaigns); i += len(lanes) {
			v := projections.New(campaigns[i])
			err := s.journal.Read(b.ctx, campaigns[i], 0, func(c journal.Commit) error {
				lanes[lane].add(c.Payload)
				recs, err := events.ParseCommit(c.Payload)
				if err != nil {
					return err
				}
				for _, rec := range recs {
					if err := v.Apply(rec); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			lanes[lane].events += int(v.Position())
		}
		return nil
	})
	var all folded
	for _, l := range lanes {
		all.merge(l.sum)
		all.events += l.events
	}
	return all, err
}

// advance measures deciding ticks, against the cryptography of one tick alone.
func (b *bench) advance() error {
	c := rules.NewCampaign("0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d", library())
	chains := &benchChains{campaign: c.ID}
	give := func(typ, data string, faces ...int) error {
		cmd := newCommand(typ, data, faces...)
		if typ == "campaign.create" {
			cmd.ID, cmd.By = c.ID, rules.SystemPrincipal
		}
		facts, err := rules.Decide(c, cmd, chains)
		if err != nil {
			return err
		}
		return c.ApplyFacts(events.Head{Campaign: c.ID, N: c.Next, At: events.TimeFormat, By: cmd.By, Cmd: cmd.Record()}, facts)
	}
	// Con 5 and awful health: a check every round that only very bad dice fail,
	// rolled because the option that spares void rolls is off.
	tough := newCommand("character.create", `{"name":"Ox","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":5,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`)
	if err := errors.Join(
		give("campaign.create", `{"name":"Bench","system":"rpgamix","gm":"gm","vkey":"bench","options":{"rpgamix.skip_certain_rolls":false}}`),
		give("session.open", `{"title":"one","kind":"downtime"}`),
	); err != nil {
		return err
	}
	facts, err := rules.Decide(c, tough, chains)
	if err != nil {
		return err
	}
	if err := c.ApplyFacts(events.Head{Campaign: c.ID, N: c.Next, At: events.TimeFormat, By: "gm", Cmd: tough.Record()}, facts); err != nil {
		return err
	}
	if err := give("wound.inflict", `{"character":"`+tough.ID+`","points":31,"cause":"a fall"}`, 10, 10); err != nil {
		return err
	}
	cmd := newCommand("clock.advance", `{"by":"20m"}`) // 400 rounds
	repeat := b.scale(50)
	var p pairs
	processed := 0
	for range b.trials {
		processed = 0
		ours, err := oneCore(func() error {
			for range repeat {
				facts, err := rules.Decide(c, cmd, chains)
				if err != nil {
					return err
				}
				for _, f := range facts {
					if f.Event.Type() == "tick.processed" {
						processed++
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if processed == 0 || processed%repeat != 0 {
			return fmt.Errorf("no ratio: %d ticks decided in %d equal advances", processed, repeat)
		}
		theirs, err := oneCore(func() error { hashes(processed); return nil })
		if err != nil {
			return err
		}
		p.add(float64(processed)/ours.Seconds(), float64(processed)/theirs.Seconds())
	}
	return b.report(p.row(benchRow{
		Row: "advance", Reach: 0.4, Unit: "ticks/s on one core", Against: "one SHA-256 and one HMAC a tick",
		Work: fmt.Sprintf("%d ticks a trial, each with a roll", processed),
	}))
}

// hashes is the cryptography of so many ticks: a link of the chain, and a block of
// dice keyed by it, whose message is as long as that of a tick.
func hashes(ticks int) (out [32]byte) {
	message := []byte("dice/v1\n" + strings.Repeat("0", 64) + "\nsystem\n1234\n-\n-\n0\n")
	for i := range ticks {
		out = sha256.Sum256(out[:])
		binary.BigEndian.PutUint64(message, uint64(i))
		mac := hmac.New(sha256.New, out[:])
		mac.Write(message)
		mac.Sum(out[:0])
	}
	return out
}
