package rulestest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// Campaign is the id of every table's campaign.
const Campaign = "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d"

// At is the wall clock of every record of a table.
const At = "2026-11-30T19:00:00.000Z"

// Chains are real chains of dice from a fixed master key. The zero value is
// ready for use.
type Chains struct{ kept map[string]*dice.Chain }

func (m *Chains) chain(session, lane string, n int) (*dice.Chain, error) {
	if m.kept == nil {
		m.kept = map[string]*dice.Chain{}
	}
	key := fmt.Sprint(session, " ", lane, " ", n)
	if chain, ok := m.kept[key]; ok {
		return chain, nil
	}
	chain, err := dice.NewChain(dice.Tail([]byte("a master key of thirty-two bytes"), Campaign, session, lane), n)
	m.kept[key] = chain
	return chain, err
}

// Anchor implements rules.Chains.
func (m *Chains) Anchor(session, lane string, n int) (dice.Seed, error) {
	chain, err := m.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Anchor(), nil
}

// Link implements rules.Chains.
func (m *Chains) Link(session, lane string, n, i int) (dice.Seed, error) {
	chain, err := m.chain(session, lane, n)
	if err != nil {
		return dice.Seed{}, err
	}
	return chain.Link(i)
}

// A Table is a campaign in the making, held in memory. Ids of commands are
// counted, so that two tables that are given the same commands have the same
// dice.
type Table struct {
	T        testing.TB
	State    *rules.Campaign
	Records  []events.Record
	Payloads [][]byte // the commits as they would be stored
	// Correct finds out what a correction changes: replay.Correct. Without it
	// no command can be taken back.
	Correct Correct

	library rules.Library
	chains  Chains
	ids     int
}

// NewTable opens a campaign of a system, with options in JSON ("" for none).
// The game master is gm.
func NewTable(t testing.TB, book *rules.Book, options string) *Table {
	t.Helper()
	tb := Empty(t, book)
	if options == "" {
		options = "{}"
	}
	tb.Must("gm", "campaign.create", fmt.Sprintf(`{"name":"Night watch","system":%q,"options":%s,"gm":"gm","vkey":"v"}`, book.Name(), options))
	return tb
}

// Empty is a table whose campaign has not been created.
func Empty(t testing.TB, book *rules.Book) *Table {
	library := rules.Library{book}
	return &Table{T: t, State: rules.NewCampaign(Campaign, library), library: library}
}

// Command makes a command with the next id, and dice by hand if faces are
// given.
func (tb *Table) Command(by, typ, data string, faces ...int) rules.Command {
	tb.ids++
	id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, tb.ids)).String()
	cmd := rules.Command{ID: id, By: by, Type: typ, Data: jsontext.Value(data)}
	if faces != nil {
		cmd.Dice = &events.Hand{Faces: faces}
	}
	return cmd
}

// Do decides and stores a command, folding the stored bytes.
func (tb *Table) Do(cmd rules.Command) ([]events.Fact, error) {
	tb.T.Helper()
	facts, err := tb.Decide(cmd, &tb.chains)
	if err != nil {
		return nil, err
	}
	payload := tb.Encode(cmd, facts)
	recs, err := events.ParseCommit(payload)
	if err != nil {
		tb.T.Fatal(err)
	}
	if err := tb.State.ApplyCommit(recs); err != nil {
		tb.T.Fatal(err)
	}
	tb.Records = append(tb.Records, recs...)
	tb.Payloads = append(tb.Payloads, payload)
	return facts, nil
}

// Decide decides a command as the table stands, and stores nothing.
func (tb *Table) Decide(cmd rules.Command, chains *Chains) ([]events.Fact, error) {
	return rules.Decide(tb.State, cmd, remembering{chains, tb})
}

// Correct is the type of replay.Correct, which this package may not import.
type Correct func(history func(each func(payload []byte) error) error, c *rules.Campaign, x rules.Correction) (*rules.Difference, error)

// remembering are chains with the commands before, for corrections.
type remembering struct {
	*Chains
	tb *Table
}

// Correct implements rules.Histories.
func (r remembering) Correct(c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	if r.tb.Correct == nil {
		return nil, rules.ErrNoHistory
	}
	return r.tb.Correct(func(each func([]byte) error) error {
		for _, payload := range r.tb.Payloads {
			if err := each(payload); err != nil {
				return err
			}
		}
		return nil
	}, c, x)
}

// Encode writes facts as the next commit would be stored.
func (tb *Table) Encode(cmd rules.Command, facts []events.Fact) []byte {
	tb.T.Helper()
	head := events.Head{Campaign: Campaign, N: tb.State.Next, At: At, By: cmd.By, Cmd: cmd.Record()}
	payload, err := events.EncodeCommit(head, slices.Clone(facts), func(i int) string { return fmt.Sprint("record ", i) })
	if err != nil {
		tb.T.Fatal(err)
	}
	return payload
}

// Must does a command and returns its id; an advance is brought to its end.
func (tb *Table) Must(by, typ, data string, faces ...int) string {
	tb.T.Helper()
	cmd := tb.Command(by, typ, data, faces...)
	if _, err := tb.Do(cmd); err != nil {
		tb.T.Fatalf("%s %s: %v", typ, data, err)
	}
	return cmd.ID
}

// Finish brings an advance of the clock that is under way to its end.
func (tb *Table) Finish() {
	tb.T.Helper()
	for p := tb.State.Pending; p != nil; p = tb.State.Pending {
		tb.Must(rules.SystemPrincipal, "clock.resume", fmt.Sprintf(`{"command":%q,"part":%d}`, p.Command, p.Parts))
	}
}

// Refused does a command that must be refused, and returns why.
func (tb *Table) Refused(by, typ, data string, faces ...int) error {
	tb.T.Helper()
	_, err := tb.Do(tb.Command(by, typ, data, faces...))
	if err == nil {
		tb.T.Fatalf("%s %s was executed", typ, data)
	}
	return err
}

// Refold folds the stored bytes anew and goes on with that state.
func (tb *Table) Refold() {
	tb.T.Helper()
	again := rules.NewCampaign(Campaign, tb.library)
	for _, payload := range tb.Payloads {
		recs, err := events.ParseCommit(payload)
		if err == nil {
			err = again.ApplyCommit(recs)
		}
		if err != nil {
			tb.T.Fatal(err)
		}
	}
	tb.State = again
}

// Clone is another table at the same point of the same game. It reports to t.
func (tb *Table) Clone(t testing.TB) *Table {
	c := *tb
	c.T, c.chains = t, Chains{}
	c.Records, c.Payloads = slices.Clone(tb.Records), slices.Clone(tb.Payloads)
	c.Refold()
	return &c
}

// Ticks are the ticks of the ledger and their rolls, without what depends on
// how the way was cut: numbers, times and commands.
func (tb *Table) Ticks() []string {
	var out []string
	for _, r := range tb.Records {
		switch r.Type {
		case "session.opened", "session.closed", "clock.advancing", "clock.advanced":
		default:
			if r.Cmd.Type == "" || r.Clock > 0 {
				out = append(out, fmt.Sprint(r.Clock, " ", r.Type, " ", string(r.Data)))
			}
		}
	}
	return out
}

// Shown is everything of a campaign's state that facts change, as text.
func Shown(t testing.TB, c *rules.Campaign) string {
	t.Helper()
	shown := []any{c.Clock, c.Next, c.LastAt, c.Session, c.Pending, c.Participants(), c.Options.Values(), c.Options.Setting}
	for _, id := range c.Characters() {
		ch, _ := c.Character(id)
		shown = append(shown, ch)
	}
	b, err := json.Marshal(shown, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
