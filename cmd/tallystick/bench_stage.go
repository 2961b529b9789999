package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// benchKeys need not be secret: the ledgers of a benchmark are thrown away.
var benchKeys = ledger.Keys{Master: bytes.Repeat([]byte{1}, 32), Signing: bytes.Repeat([]byte{2}, 32)}

// stage is a ledger on the disk to measure, with the store below it.
type stage struct {
	*ledger.Ledger
	dir     string
	journal journal.Journal

	// What there is to compare with: a store that nats-server syncs by itself.
	reference journal.Journal
	raw       journal.Raw
}

// stage opens one in a new folder.
func (b *bench) stage() (*stage, error) {
	dir, err := os.MkdirTemp(b.dir, "ledger-")
	if err != nil {
		return nil, err
	}
	j, err := journal.Embedded(b.ctx, journal.Options{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		return nil, err
	}
	reference, err := journal.Embedded(b.ctx, journal.Options{Dir: filepath.Join(dir, "reference"), ServerSyncs: true})
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	raw, _ := journal.Measure(reference)
	l, err := ledger.New(b.ctx, ledger.Config{Journal: j, Library: library(), Keys: benchKeys, Server: "bench.example"})
	return &stage{Ledger: l, dir: dir, journal: j, reference: reference, raw: raw}, err
}

func (s *stage) close() error {
	s.Ledger.Close()
	return errors.Join(s.journal.Close(), s.reference.Close())
}

// give executes a command of the game master.
func (s *stage) give(ctx context.Context, campaign string, cmd rules.Command) (ledger.Answer, error) {
	a, err := s.Execute(ctx, campaign, cmd)
	if err != nil {
		return a, fmt.Errorf("%s: %w", cmd.Type, err)
	}
	return a, nil
}

func newCommand(typ, data string, faces ...int) rules.Command {
	cmd := rules.Command{ID: uuid.Must(uuid.NewV7()).String(), By: "gm", Type: typ, Data: jsontext.Value(data)}
	if len(faces) > 0 {
		cmd.Dice = hand(faces)
	}
	return cmd
}

// table opens a campaign of RPGamix with a session in it, and so many people.
// Wounding one of them for the first time makes three events.
func (s *stage) table(ctx context.Context, people int) (campaign string, ids []string, err error) {
	campaign = uuid.Must(uuid.NewV7()).String()
	if _, err := s.Create(ctx, campaign, rules.CampaignCreate{Name: "Bench", System: "rpgamix", GM: "gm"}); err != nil {
		return "", nil, err
	}
	if _, err := s.give(ctx, campaign, newCommand("session.open", `{"title":"one","kind":"table"}`)); err != nil {
		return "", nil, err
	}
	for i := range people {
		cmd := newCommand("character.create", fmt.Sprintf(benchPerson, i+1))
		if _, err := s.give(ctx, campaign, cmd); err != nil {
			return "", nil, err
		}
		ids = append(ids, cmd.ID)
	}
	return campaign, ids, nil
}

const benchPerson = `{"name":"Ina %d","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}}`

// wound makes three events: the roll not to pass out, the wound, unconscious.
func wound(id string) rules.Command {
	return newCommand("wound.inflict", `{"character":"`+id+`","points":8,"cause":"a falling beam"}`, 3)
}

const threeEvents = 3

// stored are the payloads of a campaign after a sequence.
func stored(ctx context.Context, j journal.Journal, campaign string, after uint64) (payloads [][]byte, err error) {
	err = j.Read(ctx, campaign, after, func(c journal.Commit) error {
		payloads = append(payloads, c.Payload)
		return nil
	})
	return payloads, err
}

// workOf counts and hashes payloads, campaign by campaign in any order.
func workOf(campaigns [][][]byte) work {
	var w work
	var each [][32]byte
	for _, payloads := range campaigns {
		h := sha256.New()
		for _, p := range payloads {
			fmt.Fprintf(h, "%d\n", len(p))
			h.Write(p)
			w.count++
		}
		each = append(each, [32]byte(h.Sum(nil)))
	}
	slices.SortFunc(each, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, sum := range each {
		h.Write(sum[:])
	}
	w.hash = [32]byte(h.Sum(nil))
	return w
}

// readWork is workOf what is stored of campaigns after the given sequences.
func readWork(ctx context.Context, j journal.Journal, campaigns []string, after []uint64) (work, error) {
	all := make([][][]byte, len(campaigns))
	for i, campaign := range campaigns {
		var err error
		if all[i], err = stored(ctx, j, campaign, after[i]); err != nil {
			return work{}, err
		}
	}
	return workOf(all), nil
}

// together runs f for 0 to n−1 at once and returns the first error.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// few runs f for 0 to n−1, 64 at a time.
func few(n int, f func(i int) error) error {
	next := make(chan int)
	go func() {
		for i := range n {
			next <- i
		}
		close(next)
	}()
	return together(min(n, 64), func(int) error {
		var first error
		for i := range next {
			if err := f(i); err != nil && first == nil {
				first = err
			}
		}
		return first
	})
}

// twin is a campaign id of the same partition.
func twin(campaign string, partitions int) string {
	for {
		id := uuid.NewString()
		if journal.PartitionOf(id, partitions) == journal.PartitionOf(campaign, partitions) {
			return id
		}
	}
}

// benchChains are the server's chains of one campaign of a stage.
type benchChains struct {
	campaign string
	kept     map[[2]string]*dice.Chain // by session and lane
}

func (c *benchChains) chain(session, lane string, n int) (*dice.Chain, error) {
	if c.kept == nil {
		c.kept = map[[2]string]*dice.Chain{}
	}
	key := [2]string{session, lane}
	if chain := c.kept[key]; chain != nil {
		return chain, nil
	}
	chain, err := dice.NewChain(dice.Tail(benchKeys.Master, c.campaign, session, lane), n)
	c.kept[key] = chain
	return chain, err
}

// Anchor implements rules.Chains.
func (c *benchChains) Anchor(session, lane string, n int) (dice.Seed, error) {
	chain, err := c.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Anchor(), nil
}

// Link implements rules.Chains.
func (c *benchChains) Link(session, lane string, n, i int) (dice.Seed, error) {
	chain, err := c.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Link(i)
}
