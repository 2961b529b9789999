package rulestest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
)

// Replaying is what corrections need of package replay.
type Replaying struct {
	Correct Correct
	// New begins a replay; it is given commit after commit.
	New func(rules.Library) func(payload []byte) error
}

// Corrections holds a system against what corrections must keep, over games
// made at random from its own command types. root is as for Run.
func Corrections(t *testing.T, book *rules.Book, root string, r Replaying) {
	w := learn(t, book, root)
	compared := 0
	rapid.Check(t, func(rt *rapid.T) { corrections(t, rt, book, w, r, &compared) })
	if compared == 0 {
		t.Error("no correction could be compared with a game in which the command was never given")
	}
}

// corrections: whatever is taken back, the game goes on, a replay comes to the
// same, and taking the correction back gives the state before it. Where no
// later roll is put into question the state is that of a game in which the
// command was never given.
func corrections(t *testing.T, rt *rapid.T, book *rules.Book, w words, r Replaying, compared *int) {
	tb := begin(t, rt, book, w)
	tb.Correct = r.Correct
	play(t, rt, tb, book, w)
	for range rapid.IntRange(1, 3).Draw(rt, "corrections") {
		command, ok := someRevocable(rt, tb, book)
		if !ok {
			break
		}
		before, clock := playing(t, tb.State), tb.State.Clock
		done, err := correct(tb, command)
		if err != nil {
			if !refusal(err) {
				rt.Fatalf("correct %s: %v", command, err)
			}
			continue
		}
		for _, id := range tb.State.Characters() {
			checkCharacter(rt, tb.State, book, id)
		}
		if neverGiven(t, rt, tb, book, command, done) {
			*compared++
		}
		if rapid.Bool().Draw(rt, "back again") {
			if _, err := correct(tb, done.ID); err != nil {
				rt.Fatalf("correct the correction of %s: %v", command, err)
			}
			if after := playing(t, tb.State); after != before || tb.State.Clock != clock {
				rt.Fatalf("taking the correction of %s back does not give the state before it: clock %d and %d, %s",
					command, clock, tb.State.Clock, cmp.Diff(before, after))
			}
		}
		play(t, rt, tb, book, w)
		nothing(t, rt, tb)
	}
	checkOrdinals(rt, tb.Records)
	again := r.New(tb.library)
	for _, payload := range tb.Payloads {
		if err := again(payload); err != nil {
			rt.Fatal(err)
		}
	}
}

// playing are the characters that are in play. What is known of one whose
// creation was taken back does not matter.
func playing(t *testing.T, c *rules.Campaign) string {
	var out []*rules.Character
	for _, id := range c.Characters() {
		if ch, _ := c.Character(id); !ch.Retired {
			out = append(out, ch)
		}
	}
	return written(t, out)
}

// play gives a few commands at random.
func play(t *testing.T, rt *rapid.T, tb *Table, book *rules.Book, w words) {
	for range rapid.IntRange(0, 8).Draw(rt, "commands") {
		if _, err := tb.Do(someCommand(rt, tb, book, w)); err != nil && !refusal(err) {
			rt.Fatal(err)
		}
		tb.Finish()
		if rapid.IntRange(0, 2).Draw(rt, "time passes") == 0 {
			tb.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, rapid.SampledFrom([]int{3, 60, 3600, 86_400, 700_000}).Draw(rt, "seconds")))
			tb.Finish()
		}
	}
}

// someRevocable is the id of a command that can be taken back.
func someRevocable(rt *rapid.T, tb *Table, book *rules.Book) (string, bool) {
	var all []string
	for _, r := range tb.Records {
		if r.Cmd.Type != "" && book.Revocable(r.Cmd.Type) {
			all = append(all, r.Cmd.ID)
		}
	}
	if len(all) == 0 {
		return "", false
	}
	return rapid.SampledFrom(all).Draw(rt, "corrected"), true
}

// correction is what a correction came to.
type correction struct {
	ID string
	*events.CorrectionMade
	restored int
}

func correct(tb *Table, command string) (correction, error) {
	cmd := tb.Command("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"a mistake"}`, command))
	facts, err := tb.Do(cmd)
	if err != nil {
		return correction{}, err
	}
	done := correction{ID: cmd.ID}
	for _, f := range facts {
		switch e := f.Event.(type) {
		case *events.CorrectionMade:
			done.CorrectionMade = e
		case *events.CorrectionContinued:
			done.Questioned, done.Undone = append(done.Questioned, e.Questioned...), append(done.Undone, e.Undone...)
		case *events.CharacterRestored:
			done.restored++
		}
	}
	return done, nil
}

// nothing: a roll of no consequence that is taken back changes nobody. So what
// the counterfactual comes to is the state there is, whatever was corrected
// before.
func nothing(t *testing.T, rt *rapid.T, tb *Table) {
	roll := tb.Must("gm", "roll", `{"expression":"1d6"}`)
	before := bodies(t, tb.State)
	done, err := correct(tb, roll)
	if err != nil {
		rt.Fatal(err)
	}
	if after := bodies(t, tb.State); after != before || done.restored > 0 || len(done.Undone)+len(done.Questioned)+len(done.Again) > 0 {
		rt.Fatalf("taking a roll of no consequence back changed something: %+v %s", done.CorrectionMade, cmp.Diff(before, after))
	}
}

// neverGiven plays the game once more without a command, with the recorded
// dice typed in, and compares. It is false when there is nothing to compare: a
// later roll is in question, dice are asked for that were never thrown, or
// something else was corrected.
func neverGiven(t *testing.T, rt *rapid.T, tb *Table, book *rules.Book, command string, done correction) bool {
	if len(done.Questioned) > 0 || len(tb.State.Corrections()) > 1 {
		return false
	}
	undone := func(n int64) bool {
		return slices.ContainsFunc(done.Undone, func(s events.Span) bool { return s.First <= n && n <= s.Last })
	}
	other := Empty(t, book)
	for i := 0; i < len(tb.Records); {
		first := tb.Records[i]
		cmd := rules.Command{ID: first.Cmd.ID, By: first.By, Type: first.Cmd.Type, Data: first.Cmd.Data}
		var faces []int
		for ; i < len(tb.Records) && (tb.Records[i].N == first.N || tb.Records[i].Cmd.Type == ""); i++ {
			if r := tb.Records[i]; r.Type == "roll.made" && !undone(r.N) {
				e, err := book.Registry().Decode(r)
				if err != nil {
					rt.Fatal(err)
				}
				for _, d := range e.(*events.RollMade).Draws {
					faces = append(faces, int(d[1]))
				}
			}
		}
		if cmd.ID == command || cmd.ID == done.ID {
			continue
		}
		if faces != nil {
			cmd.Dice = &events.Hand{Faces: faces}
		}
		if _, err := other.Do(cmd); err != nil {
			return false
		}
	}
	if !within(checks(other.Records), checks(tb.Records)) {
		return false // the dice that were typed in were those of other checks
	}
	if is, would := unnumbered(bodies(t, tb.State)), unnumbered(inPlay(t, other, tb)); is != would || tb.State.Clock != other.State.Clock {
		rt.Fatalf("without %s: clock %d, want %d, %s", command, tb.State.Clock, other.State.Clock, cmp.Diff(would, is))
	}
	return true
}

// ordinals are the numbers of wounds in what is written of a character.
var ordinals = regexp.MustCompile(`"(Wounds|wounds|last_wound|ordinal)":-?\d+`)

// unnumbered leaves them out: a correction gives no ordinal back, so that a
// wound keeps the one it had, whichever came before it.
func unnumbered(written string) string { return ordinals.ReplaceAllString(written, `"$1":"-"`) }

// checkOrdinals: no two wounds of a character have the same ordinal, whatever
// was taken back between them.
func checkOrdinals(rt *rapid.T, recs []events.Record) {
	given := map[string]int64{}
	for _, r := range recs {
		if r.Type != "wound.inflicted" {
			continue
		}
		e, err := events.Core().Decode(r)
		if err != nil {
			rt.Fatal(err)
		}
		w := e.(*events.WoundInflicted)
		key := fmt.Sprint(w.Character, " ", w.Wound)
		if first, twice := given[key]; twice || w.Wound < 1 {
			rt.Fatalf("wound %d of %s is that of record %d and that of record %d", w.Wound, w.Character, first, r.N)
		}
		given[key] = r.N
	}
}

// checks are the checks that fell due, as often as they did, by the command
// that let time pass.
func checks(recs []events.Record) map[string]int {
	all := map[string]int{}
	command := ""
	for _, r := range recs {
		if r.Cmd.Type != "" && r.Cmd.Type != "clock.resume" {
			command = r.Cmd.ID
		}
		if r.Type != "tick.processed" {
			continue
		}
		if e, err := events.Core().Decode(r); err == nil {
			tick := e.(*events.TickProcessed)
			all[fmt.Sprint(command, tick.Character, tick.Due, tick.Kind)]++
		}
	}
	return all
}

func within(some, all map[string]int) bool {
	for k, n := range some {
		if all[k] < n {
			return false
		}
	}
	return true
}

// inPlay are the characters of a game, with those of another one that are not
// in it: retired.
func inPlay(t *testing.T, other, tb *Table) string {
	var missing []*rules.Character
	for _, id := range tb.State.Characters() {
		ch, _ := tb.State.Character(id)
		if _, there := other.State.Character(id); !there && ch.Retired {
			missing = append(missing, ch)
		}
	}
	return bodies(t, other.State, missing...)
}

// Games plays games at random from a system's own command types and hands each
// over. root is as for Run.
func Games(t *testing.T, book *rules.Book, root string, each func(rt *rapid.T, tb *Table)) {
	w := learn(t, book, root)
	rapid.Check(t, func(rt *rapid.T) {
		tb := begin(t, rt, book, w)
		play(t, rt, tb, book, w)
		each(rt, tb)
	})
}
