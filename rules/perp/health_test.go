package perp_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// A scenario for every state of health: who falls, bleeds, wakes and dies.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		name  string
		to    int
		rank  string
		alive bool
		types []string
		tick  string
	}{
		{"hurt", 1, "hurt", true, []string{"wound.inflicted"}, "natural healing"},
		{"at 0 unconscious", 0, "unconscious", true, []string{"wound.inflicted", "condition.gained", "condition.gained"}, "bleeding"},
		{"deep down", -19, "unconscious", true, []string{"wound.inflicted", "condition.gained", "condition.gained"}, "bleeding"},
		{"dead at -20", -20, "dead", false, []string{"wound.inflicted", "character.died"}, ""},
		{"dead below", -30, "dead", false, []string{"wound.inflicted", "character.died"}, ""},
	} {
		e := open(t, "")
		id := e.person("Mara", plain)
		n := len(e.Records)
		e.wound(id, c.to)
		e.stands(id, c.to, c.rank)
		v := e.vitals(id)
		tick := ""
		if v.NextTick != nil {
			tick = v.NextTick.Kind
		}
		if got := e.types(n); v.Alive != c.alive || !slices.Equal(got, c.types) || tick != c.tick {
			t.Errorf("%s: alive %v, %v, next %s", c.name, v.Alive, got, tick)
		}
	}
}

// "d6 hit points per minute until he reaches -20", the first one a full minute
// after the fall.
func TestBleeding(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.advance("7s")
	e.wound(id, 0)
	e.advance("59s")
	e.stands(id, 0, "unconscious")
	n := len(e.Records)
	e.advance("1s", 4)
	e.stands(id, -4, "unconscious")
	if want := []string{"roll.made", "tick.processed", "clock.advanced"}; !slices.Equal(e.types(n), want) {
		t.Errorf("a minute is %v", e.types(n))
	}
	e.advance("10m", 6, 6, 6) // to -22: no die after death
	e.stands(id, -22, "dead")
	if died := decode[*events.CharacterDied](e, e.Records[len(e.Records)-2]); died.Cause != "bled to death" || died.Rule != "PERP-50" || e.Records[len(e.Records)-2].Clock != 7+4*60 {
		t.Errorf("%+v at %d", died, e.Records[len(e.Records)-2].Clock)
	}
	if _, due := book.NextTick(e.State.Options, e.body(id)); due {
		t.Error("the dead have a next tick")
	}
	e.refused("dead", "attack", `{"attacker":%q,"target":%q}`, id, id)
	e.refused("dead", "heal.grant", `{"character":%q,"points":5,"cause":"a prayer"}`, id)
	e.refused("dead", "wound.inflict", `{"character":%q,"points":5,"cause":"spite"}`, id)
}

// When what began, and of what somebody died.
func TestSince(t *testing.T) {
	e := open(t, `{"perp.stabilise":"gm"}`)
	id := e.person("Mara", plain)
	e.advance("7s")
	e.wound(id, -1)
	e.Must("gm", "perp.stabilise", fmt.Sprintf(`{"character":%q}`, id))
	e.advance("5m")
	e.wound(id, -2)
	want := []events.Condition{{Name: "unconscious", Since: 7, Rule: "PERP-48"}, {Name: "bleeding", Since: 307, Rule: "PERP-49"}}
	if diff := cmp.Diff(want, e.vitals(id).Conditions); diff != "" {
		t.Error(diff)
	}
	e.wound(id, -20)
	if died := decode[*events.CharacterDied](e, e.Records[len(e.Records)-1]); died.Cause != "a fall" {
		t.Errorf("died of %s", died.Cause)
	}
}

// A week of healing runs from the first point lost: another wound does not
// begin it anew. Where it ends in the second of a d6 lost, that is lost first.
func TestWeekGoesOn(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, 5)
	e.advance("3d")
	e.wound(id, 4)
	e.advance("3d23h59m")
	e.wound(id, 0)
	n := len(e.Records)
	e.advance("1m", 3, 2)
	e.stands(id, -1, "unconscious")
	var kinds []string
	for _, rec := range e.Records[n:] {
		if rec.Type == "tick.processed" {
			kinds = append(kinds, decode[*events.TickProcessed](e, rec).Kind)
		}
	}
	if want := []string{"bleeding", "natural healing"}; !slices.Equal(kinds, want) {
		t.Errorf("ticks %v, want %v", kinds, want)
	}
}

// D16 (c): the exact chances to be dead by minute 4 to 8, and the mean.
func TestMinutesToDeathExactly(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, 0)
	type state struct {
		c *rules.Campaign
		p *big.Rat
	}
	alive := map[int]state{0: {e.State, big.NewRat(1, 1)}}
	dead, mean := new(big.Rat), new(big.Rat)
	want := map[int]string{3: "0.00", 4: "5.40", 5: "30.52", 6: "63.69", 7: "86.28", 8: "96.11"}
	last := 0
	for minute := 1; len(alive) > 0; minute++ {
		next := map[int]state{}
		for _, s := range alive {
			ch, _ := s.c.Character(id)
			tick, _ := s.c.Book.NextTick(s.c.Options, ch.Body)
			branches, err := rules.BranchTick(s.c, ch, tick)
			if err != nil || len(branches) != 6 {
				t.Fatalf("%d branches, %v", len(branches), err)
			}
			for _, b := range branches {
				ch, _ := b.After.Character(id)
				v := b.After.Vitals(ch)
				p := new(big.Rat).Mul(s.p, b.Probability)
				if !v.Alive {
					dead.Add(dead, p)
					mean.Add(mean, new(big.Rat).Mul(p, big.NewRat(int64(minute), 1)))
					last = minute
					continue
				}
				if old, ok := next[v.Health.Points]; ok {
					p.Add(p, old.p)
				}
				next[v.Health.Points] = state{b.After, p}
			}
		}
		alive = next
		if pct, ok := want[minute]; ok {
			if got := new(big.Rat).Mul(dead, big.NewRat(100, 1)).FloatString(2); got != pct {
				t.Errorf("dead by minute %d: %s %%, want %s %%", minute, got, pct)
			}
		}
	}
	if last != 20 || mean.FloatString(2) != "6.19" || dead.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("last minute %d, mean %s, dead %s", last, mean.FloatString(2), dead)
	}
}

// D16 (a): a d6 at the end of each full week, never above the maximum.
func TestWeeks(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, 5)
	e.advance("6d23h")
	e.stands(id, 5, "hurt")
	e.advance("1h", 3)
	e.stands(id, 8, "hurt")
	e.advance("14d", 2, 6)
	e.stands(id, 12, "well")
	if v := e.vitals(id); v.NextTick != nil {
		t.Errorf("nothing is left to heal, and next is %+v", v.NextTick)
	}
	// The next wound begins a week of its own.
	e.advance("1d")
	e.wound(id, 11)
	if due := e.vitals(id).NextTick.Due; due != 21*86_400+86_400+7*86_400 {
		t.Errorf("due at %d", due)
	}
}

// Traits that count in healing, and a week in which no face would bring
// anything: no die is thrown.
func TestTraitsInHealing(t *testing.T) {
	e := open(t, "")
	hardy := e.person("Hardy", `{"traits":{"Hardy":2},"skills":{},"hp":12,"healing":["hardy"]}`)
	e.wound(hardy, 2)
	e.advance("1w", 1)
	e.stands(hardy, 5, "hurt")
	if r := e.roll(); r.Total != 3 || r.Modifiers[0].Rule != "PERP-51" || *r.Margin != 3 {
		t.Errorf("%+v", r)
	}
	e.advance("1w", 6)
	e.stands(hardy, 12, "well") // 8 rolled, 7 to regain
	frail := e.person("Frail", `{"traits":{"Frail":-6},"skills":{},"hp":12,"healing":["Frail"]}`)
	e.wound(frail, 2)
	n := len(e.Records)
	e.advance("1w")
	if want := []string{"tick.processed", "clock.advanced"}; !slices.Equal(e.types(n), want) {
		t.Errorf("a week without hope is %v", e.types(n))
	}
	weak := e.person("Weak", `{"traits":{"Weak":-2},"skills":{},"hp":12,"healing":["Weak"]}`)
	e.wound(weak, 2)
	e.advance("6d")
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":10,"cause":"a spring"}`, frail))
	e.advance("1d", 1)
	e.stands(weak, 2, "hurt") // never below zero
}

const medic = `{"traits":{"Calm":1},"skills":{"First aid":{"points":2,"kind":"medical"},"Herbs":{"points":0},"Swords":{"points":3,"kind":"weapon"}},"hp":12}`

// Tending: a third of the result over the week, once a week, by somebody
// trained and with tools.
func TestTending(t *testing.T) {
	e := open(t, "")
	doc, id := e.person("Doc", medic), e.person("Mara", `{"traits":{"Tough":1},"skills":{},"hp":20,"healing":["Tough"]}`)
	e.refused("not_hurt", "wound.treat", `{"character":%q,"by":%q,"skills":["First aid"],"tools":true}`, id, doc)
	e.wound(id, 1)
	e.refused("closed_no_skill", "wound.treat", `{"character":%q,"by":%q,"tools":true}`, id, doc)
	e.refused("closed_no_skill", "wound.treat", `{"character":%q,"by":%q,"skills":["Swords"],"tools":true}`, id, doc)
	e.refused("closed_no_skill", "wound.treat", `{"character":%q,"tools":true}`, id)
	e.refused("closed_no_tools", "wound.treat", `{"character":%q,"by":%q,"skills":["Herbs"]}`, id, doc)
	e.refused("one_skill_only", "wound.treat", `{"character":%q,"by":%q,"skills":["Herbs","First aid"],"tools":true}`, id, doc)
	e.advance("6d")
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"skills":["First aid"],"traits":["Calm"],"tools":true}`, id, doc), 8)
	if r := e.roll(); r.Total != 12 || r.Character != doc { // 8, 2, 1, 1
		t.Errorf("%d by %s", r.Total, r.Character)
	}
	e.stands(id, 1, "hurt") // over the week, not at once
	e.refused("already_tended", "wound.treat", `{"character":%q,"by":%q,"skills":["Herbs"],"tools":true}`, id, doc)
	e.advance("1d", 3)
	e.stands(id, 9, "hurt") // 3, 1 for Tough, 4 for tending
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"skills":["Herbs"],"patient_traits":[],"tools":true}`, id, doc), 2)
	e.advance("1w", 1)
	e.stands(id, 11, "hurt") // the third of 2 is nothing
	// D17 (d): a poor treatment costs nothing.
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":-4,"modifiers":[{"label":"in the dark","value":-5}],"tools":true}`, id), 6)
	if r := e.roll(); r.Total != -2 || *r.Margin != 0 {
		t.Errorf("%d gives %d", r.Total, *r.Margin)
	}
	e.advance("1w", 1)
	e.stands(id, 13, "hurt")

	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":-4,"modifiers":[{"label":"in the dark","value":-5}],"tools":true}`, id), 1)
	e.advance("1w", 1)
	e.stands(id, 15, "hurt") // -8 takes nothing either

	// Who is whole again before the week is over has nothing to come.
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":5,"tools":true}`, id), 10)
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":5,"cause":"a potion"}`, id))
	e.wound(id, 1)
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":0,"tools":true}`, id), 4)
	e.advance("1w", 1)
	e.stands(id, 4, "hurt") // 1, 1 for Tough, and 1 for the second treatment: no 5 for the first

	// Tending helps also in a week in which no face would.
	frail := e.person("Frail", `{"traits":{"Frail":-6},"skills":{},"hp":12,"healing":["Frail"]}`)
	e.wound(frail, 2)
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":2,"patient_traits":[],"tools":true}`, frail), 10)
	e.advance("1w", 1)
	e.stands(frail, 6, "hurt") // a third of 12; the die is the other's

	e = open(t, `{"perp.medic_traits":false}`)
	doc, id = e.person("Doc", medic), e.person("Mara", plain)
	e.wound(id, 1)
	e.refused("medic_traits_do_not_count", "wound.treat", `{"character":%q,"by":%q,"skills":["First aid"],"traits":["Calm"],"tools":true}`, id, doc)
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"skills":["First aid"],"tools":true}`, id, doc), 7)
}

// What stops the bleeding, in the three readings.
func TestStabilising(t *testing.T) {
	treat := `{"character":%q,"hand_skill":0,"tools":true}`
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, -7)
	n := len(e.Records)
	e.Must("gm", "wound.treat", fmt.Sprintf(treat, id), 2)
	if want := []string{"roll.made", "wound.treated", "condition.ended"}; !slices.Equal(e.types(n), want) {
		t.Errorf("a treatment is %v", e.types(n))
	}
	e.refused("not_by_word", "perp.stabilise", `{"character":%q}`, id)
	// D17 (c): at -7, tended, a 5 in the week: -2 and still unconscious.
	e.advance("1w", 5)
	e.stands(id, -2, "unconscious")
	n = len(e.Records)
	e.advance("1w", 4)
	e.stands(id, 2, "hurt")
	if want := []string{"roll.made", "tick.processed", "condition.ended", "clock.advanced"}; !slices.Equal(e.types(n), want) {
		t.Errorf("waking is %v", e.types(n))
	}
	// A new wound bleeds; it can be stopped again in the same week, but is not
	// tended twice: no die.
	e.wound(id, -1)
	e.Must("gm", "wound.treat", fmt.Sprintf(treat, id), 9)
	e.wound(id, -3)
	if e.vitals(id).NextTick.Kind != "bleeding" {
		t.Error("a new wound does not bleed")
	}
	n = len(e.Records)
	e.Must("gm", "wound.treat", fmt.Sprintf(treat, id))
	if want := []string{"wound.treated", "condition.ended"}; !slices.Equal(e.types(n), want) {
		t.Errorf("the second treatment is %v", e.types(n))
	}
	e.refused("already_tended", "wound.treat", treat, id)
	e.advance("1w", 1)
	e.stands(id, 1, "hurt") // 1 and the third of 9

	e = open(t, `{"perp.stabilise":"never"}`)
	id = e.person("Mara", plain)
	e.wound(id, 0)
	e.Must("gm", "wound.treat", fmt.Sprintf(treat, id), 9)
	e.refused("already_tended", "wound.treat", treat, id)
	e.advance("1m", 2)
	e.stands(id, -2, "unconscious")
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"luck"}`, id))
	e.advance("1m", 1)
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"luck"}`, id))
	e.stands(id, 1, "hurt") // -2, 1 granted, 1 bled, 3 granted
	if e.vitals(id).NextTick.Kind != "natural healing" {
		t.Error("who stands bleeds")
	}

	e = open(t, `{"perp.stabilise":"gm"}`)
	id = e.person("Mara", plain)
	e.refused("not_bleeding", "perp.stabilise", `{"character":%q}`, id)
	e.wound(id, 0)
	e.Must("gm", "wound.treat", fmt.Sprintf(treat, id), 9)
	if e.vitals(id).NextTick.Kind != "bleeding" {
		t.Error("tending stopped the bleeding")
	}
	e.Must("gm", "perp.stabilise", fmt.Sprintf(`{"character":%q}`, id))
	e.advance("1h")
	e.stands(id, 0, "unconscious")
}

// D17: healing from below zero, and never above the maximum.
func TestGrant(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.refused("not_hurt", "heal.grant", `{"character":%q,"points":1,"cause":"luck"}`, id)
	e.wound(id, -5)
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"luck"}`, id))
	e.stands(id, -2, "unconscious")
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":40,"cause":"luck"}`, id))
	e.stands(id, 12, "well")
	for _, r := range e.Records {
		if r.Type == "heal.granted" {
			if g := decode[*events.HealGranted](e, r); g.Points != 3 && g.Points != 14 {
				t.Errorf("%d points came back", g.Points)
			}
		}
	}
}

// The unconscious do not act, and are not rolled against.
func TestTheUnconsciousDoNotAct(t *testing.T) {
	e := open(t, "")
	id, other := e.person("Mara", medic), e.person("Ben", plain)
	e.wound(id, 0)
	third := e.person("Cal", plain)
	for typ, data := range map[string]string{
		"check":       fmt.Sprintf(`{"character":%q}`, id),
		"contest":     fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q}]}`, other, id),
		"attack":      fmt.Sprintf(`{"attacker":%q,"target":%q}`, id, other),
		"perp.volley": fmt.Sprintf(`{"attacker":%q,"with":{"weapon":"dart"},"targets":[{"character":%[2]q}],"shots":[%[2]q]}`, id, other),
		"perp.gang":   fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q},{"character":%q}]}`, other, third, id),
		"perp.wear":   fmt.Sprintf(`{"character":%q,"armour":"leather"}`, id),
		"perp.power":  fmt.Sprintf(`{"character":%q,"on":true}`, id),
	} {
		e.refused("unconscious", typ, "%s", data)
	}
	no := e.refused("unconscious", "attack", `{"attacker":%q,"target":%q}`, id, other)
	if no.Reason != "Mara is unconscious and cannot attack" || no.Rule != "PERP-48" || no.Field != "attacker" {
		t.Errorf("%+v", no)
	}
	e.refused("target_unconscious", "attack", `{"attacker":%q,"target":%q}`, other, id)
	e.wound(other, 5)
	e.refused("unconscious", "wound.treat", `{"character":%q,"by":%q,"skills":["Herbs"],"tools":true}`, other, id)
}

// Another sheet: points lost stay lost, armour put on in play stays on.
func TestAmend(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, 5)
	e.Must("gm", "perp.wear", fmt.Sprintf(`{"character":%q,"armour":"leather"}`, id))
	amend := `{"character":%q,"reason":"grew up","sheet":{"traits":{},"skills":{},"hp":%d%s}}`
	e.Must("gm", "character.amend", fmt.Sprintf(amend, id, 15, ""))
	e.stands(id, 8, "hurt")
	if e.body(id).Armour != "leather" {
		t.Errorf("wears %s", e.body(id).Armour)
	}
	e.Must("gm", "character.amend", fmt.Sprintf(amend, id, 6, `,"armour":"chainmail"`))
	e.stands(id, -1, "unconscious")
	if e.body(id).Armour != "chainmail" || e.vitals(id).NextTick.Kind != "bleeding" {
		t.Errorf("wears %s, next %+v", e.body(id).Armour, e.vitals(id).NextTick)
	}
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"a potion"}`, id))
	e.Must("gm", "perp.wear", fmt.Sprintf(`{"character":%q,"armour":"powered"}`, id))
	e.Must("gm", "perp.power", fmt.Sprintf(`{"character":%q,"on":true}`, id))
	e.Must("gm", "character.amend", fmt.Sprintf(amend, id, 6, ``))
	e.stands(id, 2, "hurt")
	if b := e.body(id); b.Armour != "none" || b.Powered {
		t.Errorf("wears %s, powered %v", b.Armour, b.Powered)
	}
	e.wound(id, -15)
	e.refused("amended_to_death", "character.amend", amend, id, 1, "")
}

// Players act with their own characters only, and only the game master names a
// healer without a sheet.
func TestRights(t *testing.T) {
	e := open(t, "")
	e.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
	mine := e.Must("anna", "character.create", `{"name":"Mara","kind":"pc","creation":"free","sheet":`+medic+`}`)
	foe := e.person("Foe", plain)
	for typ, data := range map[string]string{
		"attack":      fmt.Sprintf(`{"attacker":%q,"target":%q}`, foe, mine),
		"check":       fmt.Sprintf(`{"character":%q}`, foe),
		"contest":     fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q}]}`, foe, mine),
		"perp.gang":   fmt.Sprintf(`{"target":%q,"attackers":[{"character":%[2]q},{"character":%[1]q}]}`, foe, mine),
		"perp.volley": fmt.Sprintf(`{"attacker":%q,"targets":[{"character":%[2]q}],"shots":[%[2]q]}`, foe, mine),
		"perp.share":  fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":1}]}`, foe, mine),
		"perp.wear":   fmt.Sprintf(`{"character":%q,"armour":"leather"}`, foe),
		"perp.power":  fmt.Sprintf(`{"character":%q,"on":true}`, foe),
		"wound.treat": fmt.Sprintf(`{"character":%q,"by":%q,"tools":true}`, mine, foe),
		// The game master's hand.
		"wound.inflict":  fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, foe),
		"heal.grant":     fmt.Sprintf(`{"character":%q,"points":1,"cause":"x"}`, mine),
		"perp.stabilise": fmt.Sprintf(`{"character":%q}`, mine),
	} {
		if err := e.Refused("anna", typ, data); !errors.As(err, new(*rules.Forbidden)) {
			t.Errorf("%s: %v", typ, err)
		}
	}
	e.wound(mine, 3)
	if err := e.Refused("anna", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":9,"tools":true}`, mine)); !errors.As(err, new(*rules.Forbidden)) {
		t.Error(err)
	}
	e.Must("anna", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%[1]q,"skills":["Herbs"],"tools":true}`, mine))
	e.Must("anna", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, mine, foe))
}

// A hidden number is sealed, rolled against unseen, and judged when it is
// opened.
func TestHiddenTarget(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	salt, payload := make([]byte, merkle.SaltSize), `{"value":7}`
	e.Must("gm", "target.seal", fmt.Sprintf(`{"seal":%q}`, hex.EncodeToString(merkle.Seal(salt, []byte(payload)))))
	n := len(e.Records) - 1
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"hidden":%d}`, id, n), 8)
	if r := e.roll(); r.Outcome != "" || r.Against != nil {
		t.Errorf("the roll shows %s against %+v", r.Outcome, r.Against)
	}
	e.Must("gm", "target.open", fmt.Sprintf(`{"target":%d,"salt":%q,"payload":%q}`, n, hex.EncodeToString(salt), payload))
	opened := decode[*events.TargetOpened](e, e.Records[len(e.Records)-1])
	if diff := cmp.Diff([]events.Judged{{Roll: int64(n + 1), Outcome: "success", Margin: 1}}, opened.Rolls); diff != "" {
		t.Error(diff)
	}
	e.refused("not_sealed", "check", `{"character":%q,"hidden":%d}`, id, n)
	var bad *rules.Invalid
	if err := e.Refused("gm", "check", fmt.Sprintf(`{"character":%q,"hidden":%d,"difficulty":4}`, id, n)); !errors.As(err, &bad) || bad.Field != "hidden" {
		t.Error(err)
	}
}
