package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
)

// verifiedRecords is how many records the export has that the verify rows read.
const verifiedRecords = 1_000_000

// verify measures verifying the export of one large campaign from its file, against
// deciding its commands alone, and what a verifier holds of it in the end.
func (b *bench) verify() (err error) {
	file, err := os.Create(filepath.Join(b.dir, "events.jsonl"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	bare, err := writeCampaign(file, b.scale(verifiedRecords))
	if err != nil {
		return err
	}
	work := fmt.Sprintf("one campaign of %d records", bare.events)
	var p pairs
	for range b.trials {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var report *replay.Report
		ours, err := oneCore(func() (err error) {
			report, err = replay.Verify(file, replay.Evidence{Library: library()})
			return err
		})
		if err != nil {
			return err
		}
		decided := 0
		theirs, err := oneCore(func() (err error) { decided, err = bare.decide(nil); return err })
		if err != nil {
			return err
		}
		if report.Rules != replay.RulesSame || int(report.Records) != bare.events || decided != bare.events {
			return fmt.Errorf("no ratio: %d records verified (%s), %d decided, %d written", report.Records, report.Rules, decided, bare.events)
		}
		p.add(float64(bare.events)/ours.Seconds(), float64(bare.events)/theirs.Seconds())
	}
	if err := b.report(p.row(benchRow{
		Row: "verify", Reach: 0.7, Unit: "records/s on one core", Against: "rules and dice alone in memory", Work: work,
	})); err != nil {
		return err
	}
	held, err := heldByVerifier(file)
	if err != nil {
		return err
	}
	return b.report(alone([]float64{float64(held) / float64(bare.events)}, benchRow{
		Row: "verify: memory for a record", Unit: "bytes", Against: "a verifier that has read them all", Work: work,
	}))
}

// writeCampaign writes the export of a campaign with at least so many records, as
// quickly as it can be decided: nothing is signed or stored.
func writeCampaign(out io.Writer, records int) (*decisions, error) {
	id := uuid.Must(uuid.NewV7()).String()
	c, d := rules.NewCampaign(id, library()), &decisions{campaign: id, chains: &benchChains{campaign: id}}
	w := bufio.NewWriterSize(out, 1<<20)
	give := func(cmd rules.Command) error {
		facts, err := rules.Decide(c, cmd, d.chains)
		if err != nil {
			return err
		}
		head := events.Head{Campaign: id, N: c.Next, At: events.TimeFormat, By: cmd.By, Cmd: cmd.Record()}
		payload, err := events.EncodeCommit(head, facts, func(int) string { return uuid.Must(uuid.NewV7()).String() })
		if err != nil {
			return err
		}
		d.heads, d.commands, d.events = append(d.heads, head), append(d.commands, cmd), d.events+len(facts)
		w.Write(append(payload, '\n')) // Flush tells of any error
		return c.ApplyFacts(head, facts)
	}
	err := playOn(id, give, func() bool { return d.events < records })
	return d, errors.Join(err, w.Flush())
}

// playOn gives the commands of a long evening, from the creation of the campaign on,
// while there is to be more.
func playOn(campaign string, give func(rules.Command) error, more func() bool) error {
	signer, err := merkle.NewSigner("bench.example", campaign, benchKeys.Signing)
	if err != nil {
		return err
	}
	create := newCommand("campaign.create", `{"name":"Bench","system":"rpgamix","gm":"gm","vkey":"`+signer.VKey()+`"}`)
	create.ID, create.By = campaign, rules.SystemPrincipal
	begin := []rules.Command{create, newCommand("session.open", `{"title":"one","kind":"table"}`)}
	people := make([]string, 10)
	for i := range people {
		cmd := newCommand("character.create", fmt.Sprintf(benchPerson, i+1))
		people[i], begin = cmd.ID, append(begin, cmd)
	}
	for i, commands := 0, begin; ; i, commands = i+1, benchRound(people, i) {
		for _, cmd := range commands {
			if err := give(cmd); err != nil && !errors.As(err, new(*rules.Rejection)) {
				return err
			}
		}
		if !more() {
			return nil
		}
	}
}

// atEnd is a file that notes the memory in use when it was read to its end.
type atEnd struct {
	*os.File
	heap uint64
}

func (a *atEnd) Read(into []byte) (int, error) {
	n, err := a.File.Read(into)
	if err == io.EOF {
		a.heap = heap()
	}
	return n, err
}

// heldByVerifier is the memory, in bytes, that a verifier has taken when it has
// read an export.
func heldByVerifier(file *os.File) (int64, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	before, in := heap(), &atEnd{File: file}
	_, err := replay.Verify(in, replay.Evidence{Library: library()})
	return int64(in.heap) - int64(before), err
}
