package rulestest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
)

// Run holds a system against what all systems must keep, over games made at
// random from its own command types. root is the folder of the rules packages,
// where the systems' vectors lie.
func Run(t *testing.T, book *rules.Book, root string) {
	w := learn(t, book, root)
	t.Run("games", func(t *testing.T) {
		executed := map[string]int{}
		rapid.Check(t, func(rt *rapid.T) { game(t, rt, book, w, executed) })
		for _, spec := range book.Commands() {
			switch {
			case executed[spec.Type] > 0:
			case slices.Contains(everywhere, spec.Type):
				t.Errorf("%s was never executed in the games at random: what they show is not shown of it", spec.Type)
			default:
				t.Logf("%s was never executed in the games at random", spec.Type)
			}
		}
	})
	t.Run("steps", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { steps(t, rt, book, w) })
	})
	t.Run("rights", func(t *testing.T) {
		tb := company(t, book)
		rapid.Check(t, func(rt *rapid.T) {
			for _, spec := range book.Specs() {
				rights(rt, tb, book, w, spec)
			}
		})
	})
	t.Run("description", func(t *testing.T) { describes(t, book) })
}

// everywhere are commands of many systems which the games at random come to
// dozens of times.
var everywhere = []string{"check", "contest", "attack", "wound.inflict", "heal.grant"}

// company is a table of two players, a spectator, and two characters of anna's.
func company(t *testing.T, book *rules.Book) *Table {
	tb := NewTable(t, book, "")
	for handle, role := range map[string]string{"anna": rules.RolePlayer, "bo": rules.RolePlayer, "sven": "spectator"} {
		tb.Must("gm", "participant.add", fmt.Sprintf(`{"handle":%q,"role":%q}`, handle, role))
	}
	sheet, err := json.Marshal(book.Example())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Of anna %d","kind":"pc","owner":"anna","creation":"free","sheet":%s}`, i, sheet))
	}
	return tb
}

// actor is who acts by a command, as its data reads: who does something to
// somebody; else who does something, unless that can be who suffers it.
func actor(raw []byte, typ reflect.Type) string {
	var members struct {
		By        string `json:"by"`
		Attacker  string `json:"attacker"`
		Character string `json:"character"`
	}
	if json.Unmarshal(raw, &members) != nil {
		return "" // by is something else here
	}
	for i := range typ.Elem().NumField() {
		if name, _, _ := strings.Cut(typ.Elem().Field(i).Tag.Get("json"), ","); name == "by" {
			return members.By
		}
	}
	if members.Attacker != "" {
		return members.Attacker
	}
	return members.Character
}

// rights: whatever a command's data is, it is refused to everybody for whom its
// type is not; and to a player who commands nobody but characters of others.
func rights(rt *rapid.T, tb *Table, book *rules.Book, w words, spec rules.CommandSpec) {
	m := &maker{book: book, words: w, ids: tb.State.Characters()}
	raw, err := json.Marshal(m.data(rt, reflect.TypeOf(spec.New()), spec.Type, ""), json.Deterministic(true))
	if err != nil {
		rt.Fatal(err)
	}
	allowed := map[rules.Who][]string{
		rules.GMOnly: {"gm"}, rules.OwnCharacters: {"gm", "anna"}, rules.Participants: {"gm", "anna", "bo"}, rules.Table: {"gm", "anna", "bo", "sven"}, rules.Program: {},
	}[spec.Who]
	data, err := spec.Parse(raw)
	if err != nil {
		return // refused for everybody
	}
	acting, names := data.(rules.Acting)
	if spec.Who == rules.OwnCharacters && !names {
		rt.Fatalf("%s does not say who acts", spec.Type)
	}
	known := func(id string) bool { return slices.Contains(m.ids, id) }
	if names && !known(actor(raw, reflect.TypeOf(data))) && !slices.ContainsFunc(acting.Actors(), known) {
		allowed = append(slices.Clone(allowed), "bo") // it commands nobody
	}
	for _, by := range []string{"gm", "anna", "bo", "sven", "nobody"} {
		err := tb.State.May(tb.Command(by, spec.Type, string(raw)))
		if refused := errors.As(err, new(*rules.Forbidden)); refused == slices.Contains(allowed, by) {
			rt.Fatalf("%s %s by %s: %v", spec.Type, raw, by, err)
		}
	}
}

// begin is a table with a session and a few characters.
func begin(t *testing.T, rt *rapid.T, book *rules.Book, w words) *Table {
	tb := NewTable(t, book, options(rt, book))
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	if w.Setting != nil {
		tb.Must("gm", "setting.define", fmt.Sprintf(`{"reason":"our world","setting":%s}`, w.Setting))
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "characters") {
		sheet := Evenly(rt, w.Sheets, "sheet")
		tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Character %d","kind":"npc","creation":"free","sheet":%s}`, i+1, sheet))
	}
	return tb
}

// options are a choice of readings.
func options(rt *rapid.T, book *rules.Book) string {
	chosen := map[string]string{}
	for _, o := range book.Describe().Options {
		if len(o.Values) > 0 && rapid.IntRange(0, 3).Draw(rt, o.Name+" chosen") == 0 {
			chosen[o.Name] = rapid.SampledFrom(o.Values).Draw(rt, o.Name)
		}
	}
	b, err := json.Marshal(chosen)
	if err != nil {
		rt.Fatal(err)
	}
	return string(b)
}

// repairs are how often a refusal is listened to.
const repairs = 6

// someCommand is a command at random, with data that fits its type. Where the
// rules refuse a member of it, that is made otherwise, a few times: else most
// of what is made at random would never be decided.
func someCommand(rt *rapid.T, tb *Table, book *rules.Book, w words) rules.Command {
	var specs []rules.CommandSpec
	for _, s := range book.Specs() {
		switch s.Type {
		case "campaign.create", "clock.resume", "correction.make", "session.close", "session.open", "participant.remove", "character.retire", "setting.define":
		default:
			specs = append(specs, s)
		}
	}
	own := book.Commands()
	spec := Evenly(rt, specs, "command")
	if Evenly(rt, []bool{false, true, true, true}, "own command") {
		spec = Evenly(rt, own, "own")
	}
	m := &maker{book: book, words: w, ids: tb.State.Characters()}
	cmd, typ := tb.Command("gm", spec.Type, ""), reflect.TypeOf(spec.New())
	data := m.data(rt, typ, spec.Type, "")
	for i := 0; ; i++ {
		raw, err := json.Marshal(data, json.Deterministic(true))
		if err != nil {
			rt.Fatal(err)
		}
		cmd.Data = raw
		if i == repairs {
			return cmd
		}
		_, err = tb.Decide(cmd, &tb.chains)
		field := refusedField(err)
		if field == "" {
			return cmd
		}
		data = m.repair(rt, typ, data, spec.Type, strings.Split(field, "."))
	}
}

// refusedField is the member that a refusal names, if it names one.
func refusedField(err error) string {
	var no *rules.Rejection
	var bad *rules.Invalid
	switch {
	case errors.As(err, &no):
		return no.Field
	case errors.As(err, &bad):
		return bad.Field
	}
	return ""
}

// game plays at random and checks after every command.
func game(t *testing.T, rt *rapid.T, book *rules.Book, w words, executed map[string]int) {
	tb := begin(t, rt, book, w)
	live := tb.Clone(t).State // folds facts, never bytes
	for range 1 + number(rt, 30, "commands") {
		cmd := someCommand(rt, tb, book, w)
		before := Shown(t, tb.State)
		dead := deadActors(tb, book, cmd)
		facts, err := tb.Decide(cmd, &Chains{})
		if after := Shown(t, tb.State); after != before {
			rt.Fatalf("%s %s changed the campaign while it was decided:\n%s", cmd.Type, cmd.Data, cmp.Diff(before, after))
		}
		if err != nil {
			if !refusal(err) {
				rt.Fatalf("%s %s: %v", cmd.Type, cmd.Data, err)
			}
			continue
		}
		if len(dead) > 0 {
			rt.Fatalf("%s %s was executed, but %v is dead", cmd.Type, cmd.Data, dead)
		}
		again, err := tb.Decide(cmd, &Chains{})
		if err != nil || !bytes.Equal(tb.Encode(cmd, facts), tb.Encode(cmd, again)) {
			rt.Fatalf("%s %s comes out otherwise when decided again: %v", cmd.Type, cmd.Data, err)
		}
		head := events.Head{Campaign: Campaign, N: live.Next, At: At, By: cmd.By, Cmd: cmd.Record()}
		if err := live.ApplyFacts(head, facts); err != nil {
			rt.Fatal(err)
		}
		if _, err := tb.Do(cmd); err != nil {
			rt.Fatal(err)
		}
		executed[cmd.Type]++
		if diff := cmp.Diff(Shown(t, live), Shown(t, tb.State)); diff != "" {
			rt.Fatalf("%s %s: folding facts and folding bytes differ: %s", cmd.Type, cmd.Data, diff)
		}
		restores(rt, live, tb.State, book)
		checkFacts(rt, facts)
		for _, id := range tb.State.Characters() {
			checkCharacter(rt, tb.State, book, id)
		}
	}
}

func refusal(err error) bool {
	return errors.As(err, new(*rules.Rejection)) || errors.As(err, new(*rules.Invalid)) || errors.As(err, new(*rules.Forbidden)) || errors.As(err, new(*rules.PendingError))
}

// deadActors are those who would act by a command and are dead. Free dice may
// be thrown in anybody's name.
func deadActors(tb *Table, book *rules.Book, cmd rules.Command) []string {
	i := slices.IndexFunc(book.Commands(), func(s rules.CommandSpec) bool { return s.Type == cmd.Type })
	if i < 0 {
		return nil
	}
	data, err := book.Commands()[i].Parse(cmd.Data)
	acting, ok := data.(rules.Acting)
	if err != nil || !ok {
		return nil
	}
	var dead []string
	for _, id := range acting.Actors() {
		if ch, known := tb.State.Character(id); known && !tb.State.Vitals(ch).Alive {
			dead = append(dead, ch.Name)
		}
	}
	return dead
}

// restores: a campaign that was written down and read back is the same, and is
// written down the same.
func restores(rt *rapid.T, live, folded *rules.Campaign, book *rules.Book) {
	written, err := live.Save()
	if err != nil {
		rt.Fatal(err)
	}
	read, err := rules.Restore(Campaign, rules.Library{book}, written)
	if err != nil {
		rt.Fatal(err)
	}
	again, err := read.Save()
	if err != nil {
		rt.Fatal(err)
	}
	rebuilt, err := folded.Save()
	if err != nil {
		rt.Fatal(err)
	}
	if !bytes.Equal(written, again) || !bytes.Equal(written, rebuilt) {
		rt.Fatalf("a campaign is another when it is read back:\n%s\n%s\nand folded anew:\n%s", written, again, rebuilt)
	}
	*live = *read
}

// checkFacts: whoever reads a fact about a character learns how the character
// stood after it, and every die that was drawn is in the roll's draws.
func checkFacts(rt *rapid.T, facts []events.Fact) {
	for _, f := range facts {
		if e, ok := f.Event.(events.CharacterEvent); ok && e.Of().After == nil {
			rt.Fatalf("%s does not say how the character stood", f.Event.Type())
		}
		roll, ok := f.Event.(*events.RollMade)
		if !ok {
			continue
		}
		also := 0
		for _, th := range roll.Also {
			also += len(th.Draws)
		}
		if also > len(roll.Draws) {
			rt.Fatalf("a roll of %d dice has %d in what followed", len(roll.Draws), also)
		}
	}
}

// checkCharacter: health within its bounds, nothing due for the dead, and a
// body that survives being written down.
func checkCharacter(rt *rapid.T, c *rules.Campaign, book *rules.Book, id string) {
	ch, _ := c.Character(id)
	v := c.Vitals(ch)
	if v.Health.Points > v.Health.Max {
		rt.Fatalf("%s has %d of %d points", ch.Name, v.Health.Points, v.Health.Max)
	}
	if !v.Alive && v.NextTick != nil {
		rt.Fatalf("%s is dead and has something due at %d", ch.Name, v.NextTick.Due)
	}
	if v.NextTick != nil && v.NextTick.Due < c.Clock {
		rt.Fatalf("%s has something due at %d, and it is %d", ch.Name, v.NextTick.Due, c.Clock)
	}
	if ranks := book.Describe().Ranks; !slices.Contains(ranks, v.Health.Rank) {
		rt.Fatalf("%s is %q, which is none of %v", ch.Name, v.Health.Rank, ranks)
	}
	written, err := json.Marshal(ch.Body, json.Deterministic(true))
	if err != nil {
		rt.Fatal(err)
	}
	body := book.NewBody()
	if err := json.Unmarshal(written, body, json.RejectUnknownMembers(true)); err != nil {
		rt.Fatalf("the body of %s cannot be read back: %v", ch.Name, err)
	}
	read, err := json.Marshal(body, json.Deterministic(true))
	if err != nil || !bytes.Equal(written, read) {
		rt.Fatalf("the body of %s is another when read back:\n%s\n%s", ch.Name, written, read)
	}
}

// steps: letting time pass at once or in pieces gives the same ticks with the
// same dice, after whatever has happened.
func steps(t *testing.T, rt *rapid.T, book *rules.Book, w words) {
	tb := begin(t, rt, book, w)
	for range rapid.IntRange(0, 6).Draw(rt, "commands") {
		cmd := someCommand(rt, tb, book, w)
		if _, err := tb.Do(cmd); err != nil && !refusal(err) {
			rt.Fatal(err)
		}
		tb.Finish()
	}
	units := []int64{1, 3, 10, 60, 599, 3600, 86_400, 604_800}
	pieces := rapid.SliceOfN(rapid.SampledFrom(units), 1, 10).Draw(rt, "pieces")
	var whole int64
	for _, p := range pieces {
		whole += p
	}
	once, often := tb.Clone(t), tb.Clone(t)
	once.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, whole))
	once.Finish()
	for _, p := range pieces {
		often.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, p))
		often.Finish()
	}
	from := len(tb.Ticks())
	if diff := cmp.Diff(once.Ticks()[from:], often.Ticks()[from:]); diff != "" {
		rt.Fatalf("%d seconds at once and in pieces %v: %s", whole, pieces, diff)
	}
	if a, b := bodies(t, once.State), bodies(t, often.State); a != b {
		rt.Fatalf("%d seconds at once and in pieces %v leave other characters: %s", whole, pieces, cmp.Diff(a, b))
	}
}

// bodies are the characters of a campaign, and more, as text.
func bodies(t *testing.T, c *rules.Campaign, more ...*rules.Character) string {
	out := slices.Clone(more)
	for _, id := range c.Characters() {
		ch, _ := c.Character(id)
		out = append(out, ch)
	}
	slices.SortFunc(out, func(a, b *rules.Character) int { return strings.Compare(a.ID, b.ID) })
	return written(t, out)
}

func written(t *testing.T, out []*rules.Character) string {
	b, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// describes: a system says what it is, and every option has a default that it
// accepts, a rule that exists, and words.
func describes(t *testing.T, book *rules.Book) {
	d := book.Describe()
	if d.Title == "" || d.Summary == "" || d.Credit == "" || len(d.Ranks) == 0 {
		t.Errorf("title, summary, credit or ranks are missing: %+v", d)
	}
	known := map[string]bool{}
	for _, r := range d.Rules {
		if known[r.ID] || r.Title == "" {
			t.Errorf("rule %s stands twice or has no title", r.ID)
		}
		known[r.ID] = true
	}
	for _, o := range d.Options {
		if o.Doc == "" || !known[o.Rule] {
			t.Errorf("option %s: no words, or rule %q is not listed", o.Name, o.Rule)
		}
		if len(o.Values) > 0 && o.Values[0] != o.Default {
			t.Errorf("option %s: the first value %q is not the default %q", o.Name, o.Values[0], o.Default)
		}
		raw, err := json.Marshal(o.Default)
		if err == nil {
			_, err = rules.Resolve(book, map[string]jsontext.Value{o.Name: raw})
		}
		if err != nil {
			t.Errorf("option %s: its own default is refused: %v", o.Name, err)
		}
	}
	for _, spec := range book.Specs() {
		if spec.Title == "" || spec.Doc == "" {
			t.Errorf("command %s has no title or no words", spec.Type)
		}
	}
}
