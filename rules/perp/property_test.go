package perp_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/perp"
	"tallystick/rules/rulestest"
)

// ward opens a table with wounded people: what time does to them is all that
// happens.
func ward(t testing.TB) (evening, []string) {
	e := open(t, "")
	ids := []string{
		e.person("Scratched", plain),
		e.person("Hardy", `{"traits":{"Hardy":1},"skills":{},"hp":20,"healing":["Hardy"]}`),
		e.person("Hopeless", `{"traits":{"Frail":-9},"skills":{},"hp":12,"healing":["Frail"]}`),
		e.person("Dying", plain),
		e.person("Saved", plain),
	}
	for i, to := range []int{5, 1, 3, -2, -6} {
		e.wound(ids[i], to)
	}
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":2,"tools":true}`, ids[4]))
	return e, ids
}

// D16: advancing at once or in steps gives the same ticks with the same dice.
func TestAdvanceSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.Int64Range(1, 40*86_400).Draw(rt, "seconds")
		steps := rapid.SliceOfN(rapid.Int64Range(1, 10*86_400), 0, 12).Draw(rt, "steps")
		at := func(steps []int64) ([]string, []int) {
			e, ids := ward(t)
			left := whole
			for _, s := range steps {
				if s < left {
					e.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, s))
					left -= s
				}
			}
			e.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, left))
			var hp []int
			for _, id := range ids {
				hp = append(hp, e.body(id).HP)
			}
			return e.Ticks(), hp
		}
		once, hp := at(nil)
		split, hpSplit := at(steps)
		if diff := cmp.Diff(once, split); diff != "" {
			rt.Fatal(diff)
		}
		if diff := cmp.Diff(hp, hpSplit); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// cast makes four fighters of all kinds.
func cast(e evening) []string {
	return []string{
		e.person("Finnin", courtier),
		e.person("Doc", medic),
		e.person("Knight", `{"traits":{"Strong":2,"Slow":-1},"skills":{"Swords":{"points":3,"kind":"weapon"}},"hp":18,"armour":"platemail","shield":true,"weapons":[{"name":"sword","class":"medium"}]}`),
		e.person("Trooper", `{"traits":{"Quick":1},"skills":{"Guns":{"points":2}},"hp":12,"armour":"powered","weapons":[{"name":"Uzi","class":"small gun","rate_of_fire":3}]}`),
	}
}

// deed draws a command that may or may not be allowed.
func deed(rt *rapid.T, ids []string) (typ, data string) {
	who := func(name string) string { return rapid.SampledFrom(ids).Draw(rt, name) }
	a, b, c := who("a"), who("b"), who("c")
	n := rapid.IntRange(1, 15).Draw(rt, "n")
	yes := rapid.Bool().Draw(rt, "yes")
	deeds := [][2]string{
		{"attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"against":{"parry":%v}}`, a, b, yes)},
		{"attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon":"big gun"},"cover":{"hard_quarters":%d}}`, a, b, n%5)},
		{"perp.volley", fmt.Sprintf(`{"attacker":%q,"targets":[{"character":%[2]q},{"character":%[3]q}],"shots":[%[2]q,%[3]q,%[2]q]}`, a, b, c)},
		{"perp.gang", fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q,"weapon":"club"},{"character":%q,"weapon":"mace"}]}`, a, b, c)},
		{"perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":%d}]}`, a, b, n)},
		{"contest", fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q}]}`, a, b)},
		{"check", fmt.Sprintf(`{"character":%q,"difficulty":%d,"about":["agility"]}`, a, n)},
		{"wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, a, n)},
		{"wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"skills":["First aid"],"tools":%v}`, a, ids[1], yes)},
		{"wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":1,"tools":true}`, a)},
		{"heal.grant", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"luck"}`, a, n)},
		{"perp.stabilise", fmt.Sprintf(`{"character":%q}`, a)},
		{"perp.wear", fmt.Sprintf(`{"character":%q,"armour":"chainmail"}`, a)},
		{"perp.power", fmt.Sprintf(`{"character":%q,"on":%v}`, a, yes)},
		{"clock.advance", `{"seconds":3}`},
		{"clock.advance", fmt.Sprintf(`{"seconds":%d}`, 20*n)},
		{"clock.advance", fmt.Sprintf(`{"seconds":%d}`, n*50_000)},
	}
	d := rapid.SampledFrom(deeds).Draw(rt, "deed")
	return d[0], d[1]
}

// Whatever is played: deciding changes nothing, stored bytes fold to the same
// as live facts, bodies survive JSON, every After is true, nobody has more than
// the maximum, the dead stay dead and have no next tick, and a refusal comes
// before any die.
func TestPlay(t *testing.T) {
	options := []string{
		"", `{"perp.gang_mode":"brutal","perp.combat_rounds":"free"}`,
		`{"perp.gang_mode":"cinematic","perp.gang_lone_damage":"one","perp.stabilise":"gm","perp.volley_defence":"once"}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		e := open(t, rapid.SampledFrom(options).Draw(rt, "options"))
		ids := cast(e)
		dead := map[string]bool{}
		for range rapid.IntRange(1, 25).Draw(rt, "deeds") {
			typ, data := deed(rt, ids)
			before := rulestest.Shown(t, e.State)
			n := len(e.Records)
			cmd := e.Command("gm", typ, data)
			facts, err := rules.Decide(e.State, cmd, &rulestest.Chains{})
			if rulestest.Shown(t, e.State) != before {
				rt.Fatalf("deciding %s %s changed the campaign", typ, data)
			}
			if err != nil {
				if !errors.As(err, new(*rules.Rejection)) && !errors.As(err, new(*rules.Invalid)) {
					rt.Fatalf("%s %s: %v", typ, data, err)
				}
				continue
			}
			live := fold(t, e)
			if err := live.ApplyFacts(events.Head{Campaign: rulestest.Campaign, N: e.State.Next, At: rulestest.At, By: "gm", Cmd: cmd.Record()}, facts); err != nil {
				rt.Fatal(err)
			}
			if _, err := e.Do(cmd); err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(rulestest.Shown(t, live), rulestest.Shown(t, e.State)); diff != "" {
				rt.Fatalf("%s: live and stored differ: %s", typ, diff)
			}
			for _, r := range e.Records[n:] {
				ev, err := book.Registry().Decode(r)
				if err != nil {
					rt.Fatal(err)
				}
				if ce, ok := ev.(events.CharacterEvent); ok && dead[ce.Of().Character] {
					rt.Fatalf("%s happened to the dead", r.Type)
				}
			}
			for _, id := range ids {
				lawful(rt, e, id)
				if alive := e.vitals(id).Alive; !alive {
					dead[id] = true
				} else if dead[id] {
					rt.Fatal("the dead rise")
				}
			}
		}
	})
}

// fold is the campaign again from its stored bytes.
func fold(t testing.TB, e evening) *rules.Campaign {
	c := rules.NewCampaign(rulestest.Campaign, rules.Library{book})
	for _, payload := range e.Payloads {
		recs, err := events.ParseCommit(payload)
		if err == nil {
			err = c.ApplyCommit(recs)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func lawful(rt *rapid.T, e evening, id string) {
	b, v := e.body(id), e.vitals(id)
	tick, due := book.NextTick(e.State.Options, b)
	switch {
	case v.Health.Points > v.Health.Max:
		rt.Fatalf("%d of %d", v.Health.Points, v.Health.Max)
	case v.Alive != (v.Health.Points > -20) || v.Alive == (v.Health.Rank == perp.Dead):
		rt.Fatalf("alive %v at %d, %s", v.Alive, v.Health.Points, v.Health.Rank)
	case due && !v.Alive:
		rt.Fatal("the dead have a next tick")
	case v.Alive && due != (v.Health.Points < v.Health.Max):
		rt.Fatalf("at %d of %d the next tick is %+v", v.Health.Points, v.Health.Max, tick)
	case due && tick.Due <= e.State.Clock:
		rt.Fatalf("due at %d, and it is %d", tick.Due, e.State.Clock)
	}
	raw, err := json.Marshal(b, json.Deterministic(true))
	if err != nil {
		rt.Fatal(err)
	}
	again := book.NewBody()
	if err := json.Unmarshal(raw, again, json.RejectUnknownMembers(true)); err != nil {
		rt.Fatal(err)
	}
	stored, err := json.Marshal(again, json.Deterministic(true))
	if err != nil || string(stored) != string(raw) {
		rt.Fatalf("a body does not survive JSON: %v\n%s\n%s", err, raw, stored)
	}
	if diff := cmp.Diff(book.Vitals(e.State.Options, b, 0), book.Vitals(e.State.Options, again, 0)); diff != "" {
		rt.Fatal(diff)
	}
}

// Every After is how the character stands once the event is folded.
func TestAfterIsTrue(t *testing.T) {
	e, ids := ward(t)
	e.advance("30d")
	c := rules.NewCampaign(rulestest.Campaign, rules.Library{book})
	seen := 0
	for i := range e.Records {
		rec := e.Records[i]
		if err := c.ApplyCommit([]events.Record{rec}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		ev, err := book.Registry().Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		if ce, ok := ev.(events.CharacterEvent); ok {
			ch, _ := c.Character(ce.Of().Character)
			if diff := cmp.Diff(c.Vitals(ch), *ce.Of().After); diff != "" {
				t.Errorf("record %d %s: %s", i, rec.Type, diff)
			}
			seen++
		}
	}
	if seen < 3*len(ids) {
		t.Errorf("%d events about characters", seen)
	}
}

// A treatment as the prognosis asks for it is decided for everybody hurt.
func TestTreatment(t *testing.T) {
	e := open(t, "")
	id := e.person("Mara", plain)
	e.wound(id, -3)
	ch, _ := e.State.Character(id)
	raw, err := rules.Canonical(book.Treatment(e.State.Options, ch))
	if err != nil {
		t.Fatal(err)
	}
	branches, err := rules.BranchCommand(e.State, rules.Command{ID: "x", Type: "wound.treat", Data: raw})
	if err != nil || len(branches) != 10 {
		t.Fatalf("%d ways, %v", len(branches), err)
	}
	for _, b := range branches {
		ch, _ := b.After.Character(id)
		if v := b.After.Vitals(ch); v.NextTick.Kind != "natural healing" {
			t.Errorf("treated, next is %+v", v.NextTick)
		}
	}
}

// No sheet that anybody can write makes Create panic, and what it accepts is a
// healthy character that survives JSON.
func FuzzSheet(f *testing.F) {
	for _, s := range []string{courtier, plain, medic, `{"traits":{"":1},"skills":{"a":{"points":-1}},"hp":3}`, `{"traits":null}`, `[]`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	options, err := rules.Resolve(perp.New(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string, byBook bool) {
		sheet := book.Sheet()
		if rules.Unmarshal(jsontext.Value(raw), sheet) != nil {
			return
		}
		body, _, err := book.Create(options, sheet, byBook, 0)
		if err != nil {
			return
		}
		v := book.Vitals(options, body, 0)
		if v.Health.Rank != perp.Well || v.Health.Points != v.Health.Max || !v.Alive {
			t.Errorf("%s makes %+v", raw, v)
		}
		stored, err := json.Marshal(body)
		if err == nil {
			err = json.Unmarshal(stored, book.NewBody(), json.RejectUnknownMembers(true))
		}
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	})
}
