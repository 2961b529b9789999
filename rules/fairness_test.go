package rules_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
	"tallystick/rules/dice"
	"tallystick/rules/rulestest"
)

// circle is a table whose participants hold chains of their own: gm, anna and
// bo have devices, dan has none.
type circle struct {
	*rulestest.Table
	device map[string]*rulestest.Device // by lane
	vault  rulestest.Chains             // makes seals, from the same master key
	each   func()                       // after every command
}

func newCircle(t testing.TB) *circle {
	t.Helper()
	c := &circle{Table: rulestest.NewTable(t, embers, ""), device: map[string]*rulestest.Device{}, each: func() {}}
	for _, h := range []string{"anna", "bo", "dan"} {
		c.must("gm", "participant.add", fmt.Sprintf(`{"handle":%q,"role":"player"}`, h))
	}
	c.must("gm", "session.open", `{"title":"one","kind":"table","devices":true}`)
	return c
}

// seated is a circle whose seats are sealed.
func seated(t testing.TB) *circle {
	t.Helper()
	c := newCircle(t)
	c.sit()
	return c
}

func (c *circle) sit() {
	c.T.Helper()
	for _, d := range []*rulestest.Device{
		rulestest.NewDevice(c.T, "gm", "gm", 100, 0),
		rulestest.NewDevice(c.T, "anna", "anna", 100, 50),
		rulestest.NewDevice(c.T, "bo", "bo", 0, 50),
	} {
		c.must(d.Handle, "seat.take", d.Take())
		c.device[d.Handle] = d
	}
	c.must("gm", "seating.close", `{}`)
	c.reveal("anna", 1)
	c.reveal("bo", 1)
}

func (c *circle) must(by, typ, data string) {
	c.T.Helper()
	c.Must(by, typ, data)
	c.each()
}

func (c *circle) last() int64 { return c.State.Next - 1 }

func (c *circle) shown(lane string, m int) string {
	return fmt.Sprintf(`{"lane":%q,"m":%d,"x":%q}`, lane, m, c.device[lane].Witness(m))
}

func (c *circle) reveal(lane string, m int) {
	c.T.Helper()
	c.must(c.device[lane].Handle, "seat.reveal", c.shown(lane, m))
}

// command is one with the link of the lane's device, if it has one.
func (c *circle) command(lane, typ, data string) rules.Command {
	c.T.Helper()
	d, held := c.device[lane]
	if !held {
		return c.Command(lane, typ, data)
	}
	cmd := c.Command(d.Handle, typ, data)
	if d.C != nil {
		cmd.Seat = d.Seat(c.State, lane)
	}
	return cmd
}

// give gives a command that must be executed.
func (c *circle) give(cmd rules.Command) int64 {
	c.T.Helper()
	if _, err := c.Do(cmd); err != nil {
		c.T.Fatalf("%s %s: %v", cmd.Type, cmd.Data, err)
	}
	c.each()
	return c.last()
}

// declare declares a roll of the game master.
func (c *circle) declare() int64 {
	c.T.Helper()
	return c.give(c.command("gm", "roll.declare", `{"command":"roll","arguments":{"expression":"1d1000000"},"purpose":"the end"}`))
}

// answer is the roll.witness that is asked for.
func (c *circle) answer() (by, typ, data string) {
	d := c.State.Session.Declared
	device := c.device[d.Witness.Lane]
	return device.Handle, "roll.witness", fmt.Sprintf(`{"declared":%d,"w":%q}`, d.N, device.Witness(d.Witness.M))
}

func (c *circle) lane(name string) rules.Lane {
	c.T.Helper()
	for _, l := range c.State.Session.Lanes {
		if l.Name == name {
			return *l
		}
	}
	c.T.Fatalf("there is no lane %s", name)
	return rules.Lane{}
}

// refused gives a command that must be refused under a code.
func refused(t *testing.T, c *circle, cmd rules.Command, code string) {
	t.Helper()
	before := rulestest.Shown(t, c.State)
	_, err := c.Do(cmd)
	var no *rules.Rejection
	var forbidden *rules.Forbidden
	switch {
	case errors.As(err, &no) && no.Code == code:
	case errors.As(err, &forbidden) && code == "forbidden":
	default:
		t.Errorf("%s %s: got %v, want %s", cmd.Type, cmd.Data, err, code)
	}
	if after := rulestest.Shown(t, c.State); after != before {
		t.Errorf("%s changed the table although it was refused", cmd.Type)
	}
}

// Any interleaving of commands, refusals, crashes between draw and append, and
// lost races gives each lane the same values.
func TestLanesAreDeafToEverything(t *testing.T) {
	lanes := []string{"gm", "anna", "bo", "dan"}
	values := map[string]string{} // of every roll ever made, by lane and index
	rapid.Check(t, func(rt *rapid.T) {
		c := seated(t)
		// The first die has a million sides; what else is asked for differs.
		roll := func(lane string) rules.Command {
			more := rapid.SampledFrom([]string{"", "+2d6", "+1d20-3", "+4d10kh1"}).Draw(rt, "more")
			purpose := rapid.StringMatching(`[a-z]{1,9}`).Draw(rt, "purpose")
			return c.command(lane, "roll", fmt.Sprintf(`{"expression":"1d1000000%s","purpose":%q}`, more, purpose))
		}
		for range rapid.IntRange(20, 40).Draw(rt, "steps") {
			lane := rapid.SampledFrom(lanes).Draw(rt, "lane")
			switch rapid.SampledFrom([]string{"roll", "roll", "crash", "refusal", "race", "secret", "declare", "typed", "restart"}).Draw(rt, "step") {
			case "roll":
				c.give(roll(lane))
			case "crash": // decided, and lost before it was stored; the retry comes later
				if _, err := rules.Decide(c.State, roll(lane), &c.vault); err != nil {
					rt.Fatal(err)
				}
			case "refusal":
				if _, err := c.Do(c.command(lane, "roll", `{"expression":"1d6","character":"nobody"}`)); err == nil {
					rt.Fatal("a roll of nobody was executed")
				}
			case "race": // decided, but another command was stored first
				cmd := roll(lane)
				if _, err := rules.Decide(c.State, cmd, &c.vault); err != nil {
					rt.Fatal(err)
				}
				c.Must("gm", "note.add", `{"text":"first"}`)
				c.give(cmd)
			case "secret":
				cmd, _, err := rules.DecideSecret(c.State, c.Command("gm", "roll", `{"expression":"1d1000000"}`), &c.vault)
				if err != nil {
					rt.Fatal(err)
				}
				c.give(cmd)
			case "declare":
				c.declare()
				c.must(c.answer())
			case "typed":
				c.Must(lane, "roll", `{"expression":"1d6"}`, 3)
			case "restart":
				c.Refold()
			}
		}
		next := map[string]int{}
		for _, rec := range c.Records {
			e, err := embers.Registry().Decode(rec)
			if err != nil {
				rt.Fatal(err)
			}
			roll, w := rollOf(e)
			if roll == nil {
				continue
			}
			if next[roll.Lane]++; roll.I != next[roll.Lane] {
				rt.Fatalf("lane %s: roll %d came when %d was due", roll.Lane, roll.I, next[roll.Lane])
			}
			place := fmt.Sprintf("%s %d %s", roll.Lane, roll.I, w)
			got := fmt.Sprint(roll.S, roll.C, roll.Draws[0])
			if was, known := values[place]; known && was != got {
				rt.Fatalf("roll %s was %s, and is %s now", place, was, got)
			}
			values[place] = got
		}
	})
	if len(values) < 20 {
		t.Errorf("only %d rolls were seen", len(values))
	}
}

// rollOf is the roll in an event that was made on the ledger's dice, and the
// witness's element in it.
func rollOf(e events.Event) (roll *events.RollMade, w string) {
	switch e := e.(type) {
	case *events.RollMade:
		if e.Source == rules.SourceLedger {
			return e, dice.Absent
		}
	case *events.RollResolved:
		return &e.RollMade, e.W
	}
	return nil, ""
}

// The program may stop at any moment of a seating or of a declared roll: it
// goes on where the ledger ends.
func TestRestartInTheMiddle(t *testing.T) {
	play := func(each func(c *circle)) *circle {
		c := newCircle(t)
		c.each = func() { each(c) }
		c.sit()
		c.give(c.command("anna", "roll", `{"expression":"3d6"}`))
		c.declare()
		c.must(c.answer())
		n := c.declare()
		c.must("gm", "roll.pass", fmt.Sprintf(`{"declared":%d}`, n))
		c.must(c.answer())
		n = c.declare()
		c.must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"no"}`, n))
		late := rulestest.NewDevice(t, "dan", "dan", 40, 40)
		c.must("dan", "seat.take", late.Take())
		c.device["dan.2"] = late
		c.must("gm", "seating.close", `{}`)
		c.reveal("dan.2", 1)
		c.reveal("anna", c.lane("anna").XAsked)
		c.must("gm", "seating.seal", `{}`)
		c.give(c.command("dan.2", "roll", `{"expression":"3d6"}`))
		c.must("gm", "session.close", `{}`)
		return c
	}
	through := play(func(*circle) {})
	restarted := play(func(c *circle) { c.Refold() })
	if diff := cmp.Diff(strings.Split(string(slices.Concat(through.Payloads...)), "}{"), strings.Split(string(slices.Concat(restarted.Payloads...)), "}{")); diff != "" {
		t.Error(diff)
	}
	closed := string(last(through.Records).Data)
	if want := `"rolls":4,"typed_in":0,"voided":1,"passed":1}`; !strings.HasSuffix(closed, want) {
		t.Errorf("the session closes with %s, want %s", closed, want)
	}
}

func TestSeatingRefusals(t *testing.T) {
	c := newCircle(t)
	anna, bo := rulestest.NewDevice(t, "anna", "anna", 30, 8), rulestest.NewDevice(t, "bo", "bo", 0, 8)
	copied := rulestest.NewDevice(t, "bo", "anna", 0, 8)
	refused(t, c, c.Command("anna", "roll", `{"expression":"1d6"}`), "no_seat")
	refused(t, c, c.Command("gm", "seating.seal", `{}`), "no_seating")
	refused(t, c, c.Command("anna", "seat.take", fmt.Sprintf(`{"c0":%q,"x0":%[1]q}`, anna.X.Anchor())), "anchor_used")
	c.must("anna", "seat.take", anna.Take())
	c.device["anna"] = anna
	refused(t, c, c.Command("anna", "seat.take", `{}`), "seat_taken")
	refused(t, c, c.Command("anna", "seat.take", `{"lost":true}`), "seat_taken")
	refused(t, c, c.Command("bo", "seat.take", copied.Take()), "anchor_used")
	refused(t, c, c.Command("anna", "seat.reveal", c.shown("anna", 1)), "no_seating")
	c.must("bo", "seat.take", bo.Take())
	c.device["bo"] = bo
	refused(t, c, c.Command("anna", "seating.close", `{}`), "forbidden")
	c.must("gm", "seating.close", `{}`)
	refused(t, c, c.Command("gm", "seating.close", `{}`), "no_seating")
	refused(t, c, c.Command("dan", "seat.take", `{}`), "seats_closed")
	refused(t, c, c.Command("bo", "seat.reveal", c.shown("anna", 1)), "forbidden")
	refused(t, c, c.Command("anna", "seat.reveal", c.shown("anna", 2)), "not_asked")
	wrong := fmt.Sprintf(`{"lane":"anna","m":1,"x":%q}`, anna.Witness(2))
	refused(t, c, c.Command("anna", "seat.reveal", wrong), "witness_wrong")
	refused(t, c, c.Command("anna", "roll", `{"expression":"1d6"}`), "no_seat")
	c.reveal("anna", 1)
	refused(t, c, c.Command("anna", "seat.reveal", c.shown("anna", 1)), "not_asked")
	c.reveal("bo", 1)
	refused(t, c, c.Command("anna", "seat.reveal", c.shown("anna", 1)), "no_seating")
	refused(t, c, c.Command("anna", "seat.take", anna.Take()), "anchor_used")
	refused(t, c, c.Command("anna", "seat.take", `{}`), "seat_taken")
	// Dan was seated without a device. One that comes late may be used until
	// he has rolled; nothing else gives him a second lane.
	late := rulestest.NewDevice(t, "dan", "dan", 20, 3)
	refused(t, c, c.Command("dan", "seat.take", `{}`), "seat_taken")
	refused(t, c, c.Command("dan", "seat.take", `{"lost":true}`), "seat_taken")
	c.must("dan", "roll", `{"expression":"1d6"}`)
	refused(t, c, c.Command("dan", "seat.take", late.Take()), "seat_taken")
}

func TestDeviceRefusals(t *testing.T) {
	c := seated(t)
	for name, spoil := range map[string]struct {
		do   func(s *events.Seat)
		code string
	}{
		"another lane":      {func(s *events.Seat) { s.Lane = "gm" }, "seat_link_due"},
		"an index too high": {func(s *events.Seat) { s.I++ }, "seat_link_due"},
		"the next element":  {func(s *events.Seat) { s.C = element(t, c.device["anna"].C, 2) }, "seat_link_wrong"},
		"the anchor":        {func(s *events.Seat) { s.C = c.device["anna"].C.Anchor().String() }, "seat_link_wrong"},
		"another's element": {func(s *events.Seat) { s.C = element(t, c.device["gm"].C, 1) }, "seat_link_wrong"},
		"no element":        {func(s *events.Seat) { s.C = "" }, "seat_link_wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := c.command("anna", "roll", `{"expression":"1d6"}`)
			spoil.do(cmd.Seat)
			refused(t, c, cmd, spoil.code)
		})
	}
	refused(t, c, c.Command("anna", "roll", `{"expression":"1d6"}`), "seat_link_due")
	c.give(c.command("anna", "roll", `{"expression":"1d6"}`))
	again := c.command("anna", "roll", `{"expression":"1d6"}`)
	again.Seat.I, again.Seat.C = 1, element(t, c.device["anna"].C, 1)
	refused(t, c, again, "seat_link_due")
}

func element(t *testing.T, chain *dice.Chain, i int) string {
	t.Helper()
	seed, err := chain.Link(i)
	if err != nil {
		t.Fatal(err)
	}
	return seed.String()
}

func TestDeclaredRefusals(t *testing.T) {
	c := seated(t)
	declare := func(command, data string) rules.Command {
		return c.command("gm", "roll.declare", fmt.Sprintf(`{"command":%q,"arguments":%s,"purpose":"p"}`, command, data))
	}
	fire(c.Table, 50)
	refused(t, c, declare("note.add", `{"text":"hello"}`), "no_dice")
	refused(t, c, declare("clock.advance", `{"seconds":20}`), "no_dice") // dice of the system's lane
	n := c.declare()
	refused(t, c, declare("roll", `{"expression":"1d6"}`), "declared_roll_open")
	refused(t, c, c.command("gm", "roll", `{"expression":"1d6"}`), "declared_roll_open")
	refused(t, c, c.Command("gm", "seat.take", `{"lost":true}`), "declared_roll_open")
	witness, _, data := c.answer()
	if witness != "anna" {
		t.Fatalf("the first witness is %s", witness)
	}
	refused(t, c, c.Command("bo", "roll.witness", data), "forbidden")
	refused(t, c, c.Command("gm", "roll.witness", data), "forbidden")
	refused(t, c, c.Command("anna", "roll.witness", fmt.Sprintf(`{"declared":%d,"w":%q}`, n+1, c.device["anna"].Witness(2))), "not_declared")
	refused(t, c, c.Command("anna", "roll.witness", fmt.Sprintf(`{"declared":%d,"w":%q}`, n, c.device["anna"].Witness(3))), "witness_wrong")
	refused(t, c, c.Command("anna", "roll.witness", fmt.Sprintf(`{"declared":%d,"w":%q}`, n, c.device["bo"].Witness(2))), "witness_wrong")

	// A seating may be prepared meanwhile, but no element is due in two places.
	c.must("anna", "seat.take", fmt.Sprintf(`{"lost":true,"x0":%q}`, rulestest.NewDevice(t, "anna", "new", 0, 9).X.Anchor()))
	refused(t, c, c.Command("gm", "seating.close", `{}`), "declared_roll_open")
	c.must("gm", "roll.pass", fmt.Sprintf(`{"declared":%d}`, n))
	refused(t, c, c.Command(witness, "roll.witness", data), "forbidden") // passed over
	refused(t, c, c.Command("gm", "roll.pass", fmt.Sprintf(`{"declared":%d}`, n)), "no_witness")
	c.must(c.answer())
	if w := c.State.Session.LastWitness; w != "bo" {
		t.Errorf("the last witness is %s", w)
	}
	c.must("gm", "seating.close", `{}`)
	refused(t, c, declare("roll", `{"expression":"1d6"}`), "no_witness") // both owe an element to the seating
	c.reveal("bo", 3)
	n = c.declare()
	if w := c.State.Session.Declared.Witness; w != (events.Ask{Lane: "bo", M: 4}) {
		t.Errorf("asked is %v", w)
	}
	c.must("gm", "seating.seal", `{}`)
	c.must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"enough"}`, n))
}

// A game master who has taken another seat declares nothing until it is
// sealed: the roll would begin on one lane and end on the other.
func TestDeclareWaitsForTheSeat(t *testing.T) {
	c := seated(t)
	again := rulestest.NewDevice(t, "gm", "another", 30, 0)
	c.must("gm", "seat.take", fmt.Sprintf(`{"lost":true,"c0":%q,"n":30}`, again.C.Anchor()))
	cmd := c.command("gm", "roll.declare", `{"command":"roll","arguments":{"expression":"1d6"},"purpose":"p"}`)
	refused(t, c, cmd, "seats_open")
	c.must("gm", "seating.close", `{}`)
	refused(t, c, cmd, "seats_open")
	c.reveal("anna", 2)
	c.reveal("bo", 2)
	c.device["gm.2"] = again
	c.give(c.command("gm.2", "roll.declare", `{"command":"roll","arguments":{"expression":"1d6"},"purpose":"p"}`))
	c.must(c.answer())
}

// When things change so that a declared command throws no dice any more, the
// witness's answer cannot end it without dice.
func TestDeclaredCommandThatChanged(t *testing.T) {
	c := seated(t)
	id := fire(c.Table, 50)
	n := c.give(c.command("gm", "roll.declare", fmt.Sprintf(`{"command":"ember.stoke","arguments":{"character":%q,"logs":1},"purpose":"p"}`, id)))
	c.must("gm", "character.retire", fmt.Sprintf(`{"character":%q,"reason":"rain"}`, id))
	by, _, data := c.answer()
	refused(t, c, c.Command(by, "roll.witness", data), "retired")
	c.must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"rain"}`, n))
}

// A late device takes the place of a lane that was never rolled on, and has a
// secret of its own in its joint seed.
func TestLateDevice(t *testing.T) {
	c := seated(t)
	before := c.lane("dan").Joint
	late := rulestest.NewDevice(t, "dan", "dan", 20, 3)
	c.device["dan.2"] = late
	c.must("dan", "seat.take", late.Take())
	c.must("gm", "seating.close", `{}`)
	for _, lane := range []string{"bo", "dan.2", "anna"} {
		c.reveal(lane, c.lane(lane).XAsked)
	}
	l := c.lane("dan.2")
	if !l.Sealed || l.Joint == before || c.lane("dan").Joint != before || c.State.Session.Open != nil {
		t.Errorf("got %+v", l)
	}
	refused(t, c, c.Command("dan", "roll", `{"expression":"1d6"}`), "seat_link_due")
	c.give(c.command("dan.2", "roll", `{"expression":"1d6"}`))
}

// secret makes a secret roll and stores its seal.
func (c *circle) secret(data string) (n int64, s rules.Secret) {
	c.T.Helper()
	cmd, s, err := rules.DecideSecret(c.State, c.Command("gm", "roll", data), &c.vault)
	if err != nil {
		c.T.Fatal(err)
	}
	return c.give(cmd), s
}

func opening(what string, n int64, salt []byte, payload string) string {
	return fmt.Sprintf(`{%q:%d,"salt":"%x","payload":%q}`, what, n, salt, payload)
}

// What a secret roll was, and its dice, follow from nothing that is public
// before it is opened.
func TestSecretRollIsNotInThePublicRecord(t *testing.T) {
	c := seated(t)
	fire(c.Table, 50)
	n, s := c.secret(`{"expression":"3d1000000","purpose":"the trapdoor"}`)
	for range 5 {
		c.give(c.command("gm", "roll", `{"expression":"3d1000000"}`))
		c.give(c.command("anna", "roll", `{"expression":"3d1000000"}`))
	}
	c.declare()
	c.must(c.answer())
	c.must("gm", "clock.advance", `{"seconds":35}`)
	var roll events.RollMade
	if err := json.Unmarshal(s.Payload, &roll); err != nil {
		t.Fatal(err)
	}
	var lane rules.Lane
	for _, l := range c.State.Session.Lanes {
		if l.Name == rules.SecretLane {
			lane = *l
		}
	}
	for _, rec := range c.Records {
		text := string(rec.Data) + string(rec.Cmd.Data)
		for _, hidden := range []string{roll.S, hex.EncodeToString(s.Salt), "trapdoor"} {
			if strings.Contains(text, hidden) {
				t.Fatalf("record %d shows the secret roll: %s", rec.N, text)
			}
		}
		// Nor do seeds that were shown lead to its seed, or give its dice.
		for _, seed := range seeds(text) {
			stream := dice.NewStream(seed, lane.Joint, lane.Name, 1, dice.Absent, dice.Absent)
			if stream.Die(1_000_000) == roll.Draws[0][1] {
				t.Fatalf("record %d has a seed that gives the secret dice: %s", rec.N, text)
			}
			for range 100 {
				if seed.String() == roll.S {
					t.Fatalf("record %d leads to the seed of the secret roll: %s", rec.N, text)
				}
				seed = seed.Next()
			}
		}
	}
	c.must("gm", "roll.open", opening("roll", n, s.Salt, string(s.Payload)))
	refused(t, c, c.Command("gm", "roll.open", opening("roll", n, s.Salt, string(s.Payload))), "not_sealed")
}

// seeds are all 64 hex digits in a text.
func seeds(text string) []dice.Seed {
	var out []dice.Seed
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		if seed, err := dice.ParseSeed(word); err == nil {
			out = append(out, seed)
		}
	}
	return out
}

// A secret roll that is asked for again, as after a crash, has the same dice
// and the same seal.
func TestSecretRollAgain(t *testing.T) {
	c := seated(t)
	cmd := c.Command("gm", "roll", `{"expression":"3d6","purpose":"p"}`)
	first, s, err := rules.DecideSecret(c.State, cmd, &c.vault)
	if err != nil {
		t.Fatal(err)
	}
	again, same, err := rules.DecideSecret(c.State, cmd, &c.vault)
	if err != nil || string(first.Data) != string(again.Data) || string(s.Payload) != string(same.Payload) {
		t.Errorf("got %s and %s (%v)", first.Data, again.Data, err)
	}
}

// A seal opens to what was sealed and to nothing else, and what was sealed
// must be a roll of that lane: a game master who runs the server can seal
// whatever he likes, but not open it.
func TestSecretRefusals(t *testing.T) {
	c := seated(t)
	n, s := c.secret(`{"expression":"2d6","purpose":"p"}`)
	payload := string(s.Payload)
	refused(t, c, c.Command("anna", "roll.open", opening("roll", n, s.Salt, payload)), "forbidden")
	refused(t, c, c.Command("gm", "roll.open", opening("roll", n, s.Salt, strings.Replace(payload, `"purpose":"p"`, `"purpose":"q"`, 1))), "seal_broken")
	refused(t, c, c.Command("gm", "roll.open", opening("roll", n+1, s.Salt, payload)), "not_sealed")
	refused(t, c, c.Command("gm", "target.open", opening("target", n, s.Salt, payload)), "not_sealed")
	upper := strings.Replace(opening("roll", n, s.Salt, payload), hex.EncodeToString(s.Salt), strings.ToUpper(hex.EncodeToString(s.Salt)), 1)
	if _, err := c.Do(c.Command("gm", "roll.open", upper)); !errors.As(err, new(*rules.Invalid)) {
		t.Errorf("a salt in upper case: got %v", err)
	}
	for name, forge := range map[string]func(roll *events.RollMade) string{
		"another face":     func(r *events.RollMade) string { r.Draws[0][1] = r.Draws[0][1]%6 + 1; return "" },
		"no dice":          func(r *events.RollMade) string { r.Draws = []events.Draw{}; return "" },
		"another index":    func(r *events.RollMade) string { r.I++; return "" },
		"another lane":     func(r *events.RollMade) string { r.Lane = "gm"; return "" },
		"another seed":     func(r *events.RollMade) string { r.S = c.lane(rules.SecretLane).S0; return "" },
		"a physical roll":  func(r *events.RollMade) string { r.Source = rules.SourcePhysical; return "" },
		"a chosen element": func(r *events.RollMade) string { ground(c, r); return "" },
		"a witness":        func(r *events.RollMade) string { r.W = r.S; return "" },
		"a missing member": func(r *events.RollMade) string {
			b, _ := json.Marshal(r, json.Deterministic(true))
			return strings.Replace(string(b), `"modifiers":[],`, "", 1)
		},
		"another order": func(r *events.RollMade) string {
			b, _ := json.Marshal(r, json.Deterministic(true))
			return strings.Replace(string(b), `"source":"ledger","expression":"2d6"`, `"expression":"2d6","source":"ledger"`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			_, s, err := rules.DecideSecret(c.State, c.Command("gm", "roll", `{"expression":"2d6","purpose":"p"}`), &c.vault)
			if err != nil {
				t.Fatal(err)
			}
			var roll events.RollMade
			if err := json.Unmarshal(s.Payload, &roll); err != nil {
				t.Fatal(err)
			}
			forged := forge(&roll)
			if forged == "" {
				b, err := json.Marshal(&roll, json.Deterministic(true))
				if err != nil {
					t.Fatal(err)
				}
				forged = string(b)
			}
			if forged == string(s.Payload) {
				t.Fatal("nothing was forged")
			}
			seal := hex.EncodeToString(merkle.Seal(s.Salt, []byte(forged)))
			sealed := c.give(c.Command("gm", "roll.seal", fmt.Sprintf(`{"seal":%q}`, seal)))
			open := opening("roll", sealed, s.Salt, forged)
			refused(t, c, c.Command("gm", "roll.open", open[:len(open)-1]+`,"shows_earlier":true}`), "payload")
		})
	}
	c.must("gm", "roll.open", opening("roll", n, s.Salt, payload))
}

// ground tries elements of no chain until the dice please.
func ground(c *circle, r *events.RollMade) {
	seed, err := dice.ParseSeed(r.S)
	if err != nil {
		c.T.Fatal(err)
	}
	for try := range 10_000 {
		r.C = fmt.Sprintf("%064x", try)
		stream := dice.NewStream(seed, c.lane(rules.SecretLane).Joint, r.Lane, r.I, r.C, dice.Absent)
		r.Draws = []events.Draw{{6, stream.Die(6)}, {6, stream.Die(6)}}
		if r.Draws[0][1] == 6 && r.Draws[1][1] == 6 {
			return
		}
	}
}

// A hidden target judges the rolls that were made against it, the declared
// ones too.
func TestHiddenTarget(t *testing.T) {
	c := seated(t)
	id := fire(c.Table, 50)
	cmd, s, err := rules.HideTarget(c.Command("gm", "target.seal", `{"target":{"value":5,"purpose":"wet wood"}}`), &c.vault)
	if err != nil || strings.Contains(string(cmd.Data), "wet") {
		t.Fatalf("%s, %v", cmd.Data, err)
	}
	n := c.give(cmd)
	stoke := fmt.Sprintf(`{"character":%q,"logs":1,"call":%d}`, id, n)
	refused(t, c, c.command("gm", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":1,"call":%d}`, id, n+7)), "not_sealed")
	first := c.give(c.command("gm", "ember.stoke", stoke)) - 1
	c.give(c.command("gm", "roll.declare", fmt.Sprintf(`{"command":"ember.stoke","arguments":%s,"purpose":"p"}`, stoke)))
	c.must(c.answer())
	second := c.last() - 1
	refused(t, c, c.Command("gm", "target.open", opening("target", n, s.Salt, `{"value":4}`)), "seal_broken")
	c.must("gm", "target.open", opening("target", n, s.Salt, string(s.Payload)))
	var opened events.TargetOpened
	if err := json.Unmarshal(last(c.Records).Data, &opened); err != nil {
		t.Fatal(err)
	}
	if opened.Value != 5 || len(opened.Rolls) != 2 || opened.Rolls[0].Roll != first || opened.Rolls[1].Roll != second {
		t.Errorf("opened %+v, want rolls %d and %d", opened, first, second)
	}
	refused(t, c, c.command("gm", "ember.stoke", stoke), "not_sealed")
}
