package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/events/archive"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

var (
	keys   = ledger.Keys{Master: bytes.Repeat([]byte{1}, 32), Signing: bytes.Repeat([]byte{2}, 32)}
	embers = rules.Library{rules.NewBook(rulestest.Ember())}
)

// shell is a ledger over a journal, with a campaign in it.
type shell struct {
	testing.TB
	*ledger.Ledger
	journal journal.Journal
}

const fireID = "0192f1c0-9000-7000-8000-000000000002"

const campaign = "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d"

func open(t testing.TB, j journal.Journal) *shell {
	t.Helper()
	l, err := ledger.New(context.Background(), ledger.Config{Journal: j, Library: embers, Keys: keys, Server: "test.example"})
	if err != nil {
		t.Fatal(err)
	}
	return &shell{TB: t, Ledger: l, journal: j}
}

// table is a shell with a campaign whose session is open, and one fire.
func table(t testing.TB, j journal.Journal) (*shell, string) {
	s := open(t, j)
	if _, err := s.Create(context.Background(), campaign, rules.CampaignCreate{Name: "Night watch", System: "ember", GM: "gm"}); err != nil {
		t.Fatal(err)
	}
	s.must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	// Fixed ids give every table the same dice.
	for id, typ := range map[string]string{fireID: "character.create", "0192f1c0-9000-7000-8000-000000000001": "session.open"} {
		data := `{"title":"one","kind":"table"}`
		if id == fireID {
			data = `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":100000}}`
		}
		if _, err := s.do(rules.Command{ID: id, By: "gm", Type: typ, Data: jsontext.Value(data)}); err != nil {
			t.Fatal(err)
		}
	}
	return s, fireID
}

func command(by, typ, data string) rules.Command {
	return rules.Command{ID: uuid.Must(uuid.NewV7()).String(), By: by, Type: typ, Data: jsontext.Value(data)}
}

func (s *shell) do(cmd rules.Command) (ledger.Answer, error) {
	return s.Execute(context.Background(), campaign, cmd)
}

func (s *shell) must(by, typ, data string) ledger.Answer {
	s.Helper()
	a, err := s.do(command(by, typ, data))
	if err != nil {
		s.Fatalf("%s: %v", typ, err)
	}
	return a
}

// stored is every record in the journal.
func (s *shell) stored() []events.Record {
	s.Helper()
	var out []events.Record
	err := s.journal.Read(context.Background(), campaign, 0, func(c journal.Commit) error {
		recs, err := events.ParseCommit(c.Payload)
		out = append(out, recs...)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	for i, r := range out {
		if r.N != int64(i) {
			s.Fatalf("record %d has n %d", i, r.N)
		}
	}
	return out
}

func count(recs []events.Record, typ string) int {
	n := 0
	for _, r := range recs {
		if r.Type == typ {
			n++
		}
	}
	return n
}

// A retry is answered as the command was, whenever it comes: at once by
// twenty, after a restart, and never for somebody else or something else.
func TestRetry(t *testing.T) {
	j := journal.NewMemory(4)
	s, _ := table(t, j)
	roll := command("anna", "roll", `{"expression":"2d6","purpose":"luck"}`)
	answers := make([]ledger.Answer, 20)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = s.do(roll); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	again, err := open(t, j).do(roll)
	if err != nil {
		t.Fatal(err)
	}
	fresh := 0
	for _, a := range append(answers, again) {
		if !a.Repeated {
			fresh++
		}
		if diff := cmp.Diff(lines(again), lines(a)); diff != "" || !bytes.Equal(a.Receipt, again.Receipt) {
			t.Fatalf("answers differ: %s", diff)
		}
	}
	if n := count(s.stored(), "roll.made"); n != 1 || fresh != 1 {
		t.Errorf("%d rolls in the ledger, %d fresh answers", n, fresh)
	}
	for what, other := range map[string]rules.Command{
		"other body":   {ID: roll.ID, By: "anna", Type: "roll", Data: jsontext.Value(`{"expression":"3d6","purpose":"luck"}`)},
		"other type":   {ID: roll.ID, By: "anna", Type: "note.add", Data: jsontext.Value(`{"text":"x"}`)},
		"other person": {ID: roll.ID, By: "gm", Type: "roll", Data: roll.Data},
	} {
		if _, err := s.do(other); !errors.Is(err, ledger.ErrReused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := roll
	same.Data = jsontext.Value(` { "purpose" : "luck", "expression":"2d6" } `)
	if a, err := s.do(same); err != nil || !a.Repeated {
		t.Errorf("the same command with its members in another order: %v", err)
	}
	other := roll
	other.ID = uuid.Must(uuid.NewV7()).String()
	if a, err := s.do(other); err != nil || a.Repeated || count(s.stored(), "roll.made") != 2 {
		t.Errorf("a new key makes a new roll: %v", err)
	}
}

func lines(a ledger.Answer) []string {
	out := make([]string, len(a.Records))
	for i, l := range a.Records {
		out[i] = string(l)
	}
	return out
}

// Each fault in two rows: the append failed, and the append was stored but its
// answer was lost. Either way the retry has the dice that the first try had.
func TestFaultAndRetry(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome journal.Outcome
	}{{"failed", journal.LostBefore}, {"failed after it was stored", journal.LostAfter}} {
		t.Run(c.name, func(t *testing.T) {
			j := journal.NewMemory(2)
			s, fire := table(t, j)
			broken := true
			j.SetFaults(&journal.Faults{
				Publish: func(journal.Entry) journal.Outcome {
					if broken {
						return c.outcome
					}
					return journal.Proceed
				},
				Look: func(string) error {
					if broken {
						return errors.New("no answer")
					}
					return nil
				},
			})
			stoke := command("gm", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":3}`, fire))
			if _, err := s.do(stoke); err == nil {
				t.Fatal("answered although nothing was certain")
			}
			broken = false
			before := count(s.stored(), "roll.made")
			a, err := s.do(stoke)
			if err != nil {
				t.Fatal(err)
			}
			b, err := open(t, j).do(stoke)
			if err != nil || cmp.Diff(lines(a), lines(b)) != "" {
				t.Fatalf("another answer after a restart: %v", err)
			}
			if c.outcome == journal.LostAfter && (before != 1 || !a.Repeated) {
				t.Errorf("the first try was stored: %d rolls before the retry, repeated %v", before, a.Repeated)
			}
			if n := count(s.stored(), "roll.made"); n != 1 {
				t.Errorf("%d rolls, want 1", n)
			}
		})
	}
}

// Two nodes command one campaign at once: every command is there once, in one
// order, and every lane's dice are those of its chain, whoever was faster.
func TestTwoNodes(t *testing.T) {
	j := journal.NewMemory(4)
	one, fire := table(t, j)
	two := open(t, j)
	var wg sync.WaitGroup
	for i := range 60 {
		s, by := []*shell{one, two}[i%2], []string{"gm", "anna"}[i/2%2]
		wg.Go(func() {
			data := `{"expression":"1d20"}`
			typ := "roll"
			if by == "gm" && i%3 == 0 {
				typ, data = "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":1}`, fire)
			}
			if _, err := s.do(command(by, typ, data)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	recs := one.stored()
	if n := count(recs, "roll.made"); n != 60 {
		t.Fatalf("%d rolls, want 60", n)
	}
	next := map[string]int{}
	for _, r := range recs {
		if r.Type != "roll.made" {
			continue
		}
		e, err := events.Core().Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		roll := e.(*events.RollMade)
		next[roll.Lane]++
		if roll.I != next[roll.Lane] {
			t.Fatalf("record %d is roll %d of lane %s, want %d", r.N, roll.I, roll.Lane, next[roll.Lane])
		}
	}
}

// What one node has stored the next one knows, also when it stores nothing
// itself: a refusal, a head, a receipt and a secret are as of now, not as of when
// the node last wrote.
func TestOtherNodeIsCurrent(t *testing.T) {
	j := journal.NewMemory(4)
	one, fire := table(t, j)
	two := open(t, j)
	two.must("gm", "note.add", `{"text":"seen so far"}`)
	one.must("gm", "participant.add", `{"handle":"bert","role":"player"}`)
	two.must("bert", "note.add", `{"text":"I am known everywhere"}`)
	one.must("gm", "session.close", `{}`)
	one.must("gm", "session.open", `{"title":"two","kind":"table"}`)
	secret, err := one.ExecuteSecret(t.Context(), campaign, command("gm", "roll", `{"expression":"1d6"}`))
	if err != nil {
		t.Fatal(err)
	}
	two.must("gm", "roll.open", fmt.Sprintf(`{"roll":%d}`, secret.First))
	one.must("gm", "session.close", `{}`)
	if _, err := two.do(command("gm", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":1}`, fire))); !errors.As(err, new(*rules.Rejection)) {
		t.Errorf("a roll outside a session, at the node that did not close it: %v", err)
	}
	size := one.must("gm", "note.add", `{"text":"the last word"}`).Last + 1
	if got, err := two.Size(t.Context(), campaign); err != nil || got != size {
		t.Errorf("the other node knows %d records of %d, %v", got, size, err)
	}
	size = one.must("gm", "note.add", `{"text":"and one more"}`).Last + 1
	if _, err := two.Receipt(t.Context(), campaign, size-1, size); err != nil {
		t.Errorf("a receipt for what the other node stored: %v", err)
	}
	size = one.must("gm", "note.add", `{"text":"and another"}`).Last + 1
	if _, _, err := two.Consistency(t.Context(), campaign, size, 0); err != nil {
		t.Errorf("a device that holds the newer head is told that the ledger went back: %v", err)
	}
}

// An advance that takes many commits and is broken off in any of them is
// completed by the next command, with the ticks it would have had.
func TestAdvanceBrokenOff(t *testing.T) {
	whole := advanced(t, -1)
	for _, k := range []int{0, 1, 3} {
		if diff := cmp.Diff(whole, advanced(t, k)); diff != "" {
			t.Errorf("broken off after %d commits: %s", k, diff)
		}
	}
}

// advanced is the ticks of a long advance, broken off after so many commits.
func advanced(t *testing.T, after int) []string {
	j := journal.NewMemory(1)
	s, _ := table(t, j)
	if after >= 0 {
		left := after
		j.SetFaults(&journal.Faults{
			Publish: func(journal.Entry) journal.Outcome {
				if left--; left < 0 {
					return journal.LostBefore
				}
				return journal.Proceed
			},
			Look: func(string) error {
				if left < 0 {
					return errors.New("no answer")
				}
				return nil
			},
		})
	}
	long := rules.Command{ID: "0192f1c0-9000-7000-8000-000000000009", By: "gm", Type: "clock.advance", Data: jsontext.Value(`{"seconds":20000}`)}
	_, err := s.do(long)
	if (err == nil) != (after < 0) {
		t.Fatalf("broken off after %d commits: %v", after, err)
	}
	j.SetFaults(nil)
	s = open(t, j)
	if after != 0 {
		s.must("anna", "note.add", `{"text":"where were we?"}`) // completes the advance first
	}
	a, err := s.do(long)
	if err != nil {
		t.Fatal(err)
	}
	var ticks []string
	for _, r := range s.stored() {
		if r.Type == "tick.processed" {
			ticks = append(ticks, string(r.Data))
		}
	}
	if last := s.stored()[a.Last]; last.Type != "clock.advanced" || len(ticks) != 2000 {
		t.Fatalf("the answer ends with %s; %d ticks", last.Type, len(ticks))
	}
	return ticks
}

// A receipt proves its record to somebody who knows the key alone, and the
// proofs of consistency lead from any size to any later one.
func TestProofs(t *testing.T) {
	s, _ := table(t, journal.NewMemory(1))
	var vkey string
	if err := s.State(context.Background(), campaign, func(c *rules.Campaign) error { vkey = c.Created.VKey; return nil }); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		a := s.must("anna", "roll", `{"expression":"1d6"}`)
		receipt, err := merkle.ParseReceipt(a.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.Check(a.Records[0], vkey); err != nil {
			t.Fatal(err)
		}
		if receipt.Check([]byte(strings.Replace(string(a.Records[0]), "1d6", "1d8", 1)), vkey) == nil {
			t.Fatal("a receipt proves another record")
		}
	}
	ctx := context.Background()
	size, err := s.Size(ctx, campaign)
	if err != nil {
		t.Fatal(err)
	}
	var roots []merkle.Checkpoint
	for n := int64(1); n <= size; n++ {
		raw, err := s.Checkpoint(ctx, campaign, n)
		if err != nil {
			t.Fatal(err)
		}
		c, err := merkle.Open(raw, vkey)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, c)
	}
	for _, from := range roots {
		proof, raw, err := s.Consistency(ctx, campaign, from.Size, 0)
		if err != nil {
			t.Fatal(err)
		}
		to, err := merkle.Open(raw, vkey)
		if err != nil {
			t.Fatal(err)
		}
		if err := merkle.CheckConsistency(proof, from.Size, from.Root, to.Size, to.Root); err != nil {
			t.Errorf("from %d to %d: %v", from.Size, to.Size, err)
		}
	}
	if _, err := s.Receipt(ctx, campaign, size, 0); !errors.As(err, new(*rules.Invalid)) {
		t.Errorf("a receipt for a record that is not there: %v", err)
	}
}

// A secret roll leaves nothing in the store but its seal, is repeated to the
// game master alone, and can be opened later for everybody to check.
func TestSecretRoll(t *testing.T) {
	j := journal.NewMemory(1)
	s, _ := table(t, j)
	ctx := context.Background()
	roll := command("gm", "roll", `{"expression":"1d20","purpose":"does the guard hear them"}`)
	a, err := s.ExecuteSecret(ctx, campaign, roll)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(a.Secret), "does the guard hear them") {
		t.Errorf("the game master is told %s", a.Secret)
	}
	again, err := open(t, j).ExecuteSecret(ctx, campaign, roll)
	if err != nil || !again.Repeated || !bytes.Equal(a.Secret, again.Secret) || cmp.Diff(lines(a), lines(again)) != "" {
		t.Errorf("repeated: %v %v %s", err, again.Repeated, again.Secret)
	}
	if _, err := s.ExecuteSecret(ctx, campaign, rules.Command{ID: roll.ID, By: "gm", Type: "roll", Data: jsontext.Value(`{"expression":"1d6"}`)}); !errors.Is(err, ledger.ErrReused) {
		t.Errorf("another secret under the same key: %v", err)
	}
	if _, err := s.ExecuteSecret(ctx, campaign, command("nobody", "roll", `{"expression":"1d6"}`)); !errors.As(err, new(*rules.Forbidden)) {
		t.Errorf("a stranger's secret roll: %v", err)
	}
	for _, r := range s.stored() {
		if strings.Contains(string(r.Data)+string(r.Cmd.Data), "guard") {
			t.Errorf("record %d gives the secret away: %s %s", r.N, r.Cmd.Data, r.Data)
		}
	}
	s.must("gm", "roll", `{"expression":"1d6"}`)
	open := command("gm", "roll.open", fmt.Sprintf(`{"roll":%d}`, a.First))
	opened, err := s.do(open)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(opened.Records[0]), "does the guard hear them") {
		t.Errorf("opened: %s", opened.Records[0])
	}
	if rep, err := s.do(open); err != nil || !rep.Repeated {
		t.Errorf("opened again under the same key: %v", err)
	}
	if _, err := s.do(command("gm", "roll.open", fmt.Sprintf(`{"roll":%d}`, a.First))); !errors.As(err, new(*rules.Rejection)) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := s.do(command("gm", "roll.seal", `{"seal":"`+strings.Repeat("0", 64)+`"}`)); !errors.As(err, new(*rules.Forbidden)) {
		t.Errorf("a seal made elsewhere: %v", err)
	}
}

// A commit that cannot be folded makes its campaign red and read-only, and no
// other.
func TestRed(t *testing.T) {
	j := journal.NewMemory(1)
	s, _ := table(t, j)
	const other = "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7e"
	if _, err := s.Create(context.Background(), other, rules.CampaignCreate{Name: "Other", System: "ember", GM: "gm"}); err != nil {
		t.Fatal(err)
	}
	gap := bytes.Replace(s.must("gm", "note.add", `{"text":"x"}`).Records[0], []byte(`"n":`), []byte(`"n":1`), 1)
	seq, err := j.Last(context.Background(), campaign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(context.Background(), journal.Entry{Campaign: campaign, ID: "x", Expected: seq, Payload: gap}); err != nil {
		t.Fatal(err)
	}
	s = open(t, j)
	if _, err := s.do(command("gm", "note.add", `{"text":"y"}`)); !errors.As(err, new(*ledger.RedError)) {
		t.Errorf("a command for a damaged ledger: %v", err)
	}
	if red := s.Red(); len(red) != 1 || red[campaign] == nil {
		t.Errorf("red: %v", red)
	}
	if _, err := s.Execute(context.Background(), other, command("gm", "note.add", `{"text":"y"}`)); err != nil {
		t.Errorf("the other campaign: %v", err)
	}
}

// A campaign of which the end is lost is red, with the record from which on it is
// missing, and stays so at every moment while others read it.
func TestRedStays(t *testing.T) {
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "checkpoints")
	with := func(j journal.Journal) (*ledger.Ledger, *archive.Heads) {
		heads, err := archive.OpenHeads(ctx, j, file, archive.Options{Delay: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { heads.Close() })
		l, err := ledger.New(ctx, ledger.Config{Journal: j, Library: embers, Keys: keys, Server: "test.example", Heads: heads})
		if err != nil {
			t.Fatal(err)
		}
		return l, heads
	}
	whole, short := journal.NewMemory(1), journal.NewMemory(1)
	l, heads := with(whole)
	if _, err := l.Create(ctx, campaign, rules.CampaignCreate{Name: "Red", System: "ember", GM: "gm"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.Execute(ctx, campaign, command("gm", "note.add", `{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	size, err := l.Size(ctx, campaign)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := heads.Close(); err != nil {
		t.Fatal(err)
	}
	var all []journal.Commit
	if err := whole.Read(ctx, campaign, 0, func(c journal.Commit) error { all = append(all, c); return nil }); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for _, c := range all[:len(all)-1] {
		if last, err = short.Append(ctx, journal.Entry{Campaign: campaign, ID: c.ID, Expected: last, Payload: c.Payload}); err != nil {
			t.Fatal(err)
		}
	}

	l, _ = with(short)
	if err := l.Inspect(ctx); err != nil {
		t.Fatal(err)
	}
	if n, ok := ledger.StoppedAt(l.Red()[campaign]); !ok || n != size-1 {
		t.Fatalf("red: %v, stopped at %d", l.Red(), n)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for range 500 {
			if _, err := l.Size(ctx, campaign); !errors.As(err, new(*ledger.RedError)) {
				t.Errorf("read: %v", err)
			}
		}
	}()
	for {
		select {
		case <-read:
			return
		default:
		}
		if len(l.Red()) != 1 {
			t.Fatal("red no more")
		}
	}
}

// Idle campaigns are forgotten when memory is over its budget, and nobody
// notices.
func TestEviction(t *testing.T) {
	j := journal.NewMemory(2)
	const budget = 4 * (ledger.CampaignBytes + 12*ledger.RecordBytes)
	l, err := ledger.New(context.Background(), ledger.Config{Journal: j, Library: embers, Keys: keys, Server: "test.example", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 10)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7()).String()
		if _, err := l.Create(context.Background(), ids[i], rules.CampaignCreate{Name: "x", System: "ember", GM: "gm"}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 20 {
		for _, id := range ids {
			if _, err := l.Execute(context.Background(), id, command("gm", "note.add", fmt.Sprintf(`{"text":"round %d"}`, round))); err != nil {
				t.Fatal(err)
			}
			if n := l.InMemory(); n <= 0 || n > budget {
				t.Fatalf("%d bytes in memory", n)
			}
		}
	}
	for _, id := range ids {
		if size, err := l.Size(context.Background(), id); err != nil || size != 22 {
			t.Errorf("campaign %s has %d records (%v)", id, size, err)
		}
	}
}

func TestUnknownAndClosing(t *testing.T) {
	s, _ := table(t, journal.NewMemory(1))
	if _, err := s.Execute(context.Background(), "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c70", command("gm", "note.add", `{"text":"x"}`)); !errors.Is(err, ledger.ErrUnknownCampaign) {
		t.Error(err)
	}
	if _, err := s.do(rules.Command{ID: "one", By: "gm", Type: "note.add", Data: jsontext.Value(`{"text":"x"}`)}); !errors.As(err, new(*rules.Invalid)) {
		t.Error(err)
	}
	s.Close()
	if _, err := s.do(command("gm", "note.add", `{"text":"x"}`)); !errors.Is(err, ledger.ErrClosing) {
		t.Error(err)
	}
}
