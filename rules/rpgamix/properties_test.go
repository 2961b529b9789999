package rpgamix_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// Advancing once or in many small steps must give the same events.
func TestAdvanceSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		options := rapid.SampledFrom([]string{"", `{"rpgamix.clock":"calendar"}`, `{"rpgamix.skip_certain_rolls":false}`}).Draw(rt, "options")
		start := rapid.Int64Range(1, 3*hour).Draw(rt, "start")
		longest := int64(2 * day)
		if strings.Contains(options, "skip") {
			longest = 100 * round // every round of a tough casualty is rolled for
		}
		steps := rapid.SliceOfN(rapid.Int64Range(1, longest), 1, 12).Draw(rt, "steps")
		people := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [3]int {
			return [3]int{rapid.IntRange(-4, 6).Draw(rt, "con"), rapid.IntRange(1, 54).Draw(rt, "lost"), rapid.IntRange(0, 1).Draw(rt, "treated")}
		}), 1, 3).Draw(rt, "people")
		at := func(steps []int64) []string {
			g := play(t, options)
			g.advance(start)
			for _, p := range people {
				id := g.npc("x", sheet(fmt.Sprint("con ", p[0])))
				lost := min(p[1], 5*(p[0]+5)-1)
				if lost == 0 {
					continue
				}
				g.wound(id, lost)
				if p[2] == 1 {
					g.treat(id)
				}
			}
			for _, s := range steps {
				g.advance(s)
				g.Finish()
			}
			return g.Ticks()
		}
		var whole int64
		for _, s := range steps {
			whole += s
		}
		if diff := cmp.Diff(at([]int64{whole}), at(steps)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// anything is a random command at a table of three. Who does what only some can
// do is looked for among those who can.
func anything(rt *rapid.T, g game, ids []string) (typ, data string) {
	id := func(label string) string { return rulestest.Evenly(rt, ids, label) }
	n := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, label) }
	word := func(label string, words ...string) string { return rulestest.Evenly(rt, words, label) }
	one := func(label string, fits func(events.Vitals) bool) string {
		can := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !fits(g.vitals(id)) })
		if len(can) == 0 {
			can = ids
		}
		return rulestest.Evenly(rt, can, label)
	}
	with := func(condition string) func(events.Vitals) bool {
		return func(v events.Vitals) bool { return strings.Contains(fmt.Sprint(v.Conditions), condition) }
	}
	switch typ := word("command", "attack", "attack", "attack", "wound.inflict", "wound.inflict", "wound.treat", "heal.grant", "clock.advance", "check",
		"rpgamix.wake", "rpgamix.exert", "rpgamix.allocate", "rpgamix.allocate", "rpgamix.break_free", "rpgamix.choke", "character.amend"); typ {
	case "attack":
		return typ, fmt.Sprintf(`{"attacker":%q,"target":%q,"weapon":%q,"defence":{"skill":%q}}`, id("who"), id("whom"),
			word("weapon", "knife", "club", "spear", "fist"), word("skill", "Dodge", "Strategic Defense", "Hold Attacker"))
	case "wound.inflict":
		return typ, fmt.Sprintf(`{"character":%q,"points":%d,"cause":"a fall"}`, id("who"), n("points", 1, 12))
	case "wound.treat":
		return typ, fmt.Sprintf(`{"character":%q}`, id("who"))
	case "heal.grant":
		return typ, fmt.Sprintf(`{"character":%q,"points":%d,"cause":"x"}`, id("who"), n("points", 1, 60))
	case "clock.advance":
		return typ, fmt.Sprintf(`{"by":%q}`, word("span", "1s", "1s", "3s", "3s", "3s", "1m", "1h", "9d"))
	case "check":
		return typ, fmt.Sprintf(`{"character":%q,"stat":%q,"difficulty":%d}`, id("who"), word("stat", "str", "con", "int"), n("difficulty", 0, 12))
	case "rpgamix.wake":
		return typ, fmt.Sprintf(`{"character":%q,"cause":"x"}`, one("who", with("unconscious")))
	case "rpgamix.exert":
		return typ, fmt.Sprintf(`{"character":%q,"act":"x"}`, one("who", func(v events.Vitals) bool { return v.Health.Rank == "awful" && !with("unconscious")(v) }))
	case "rpgamix.allocate":
		who := one("who", func(v events.Vitals) bool { return strings.Contains(string(v.State), `"excess"`) })
		whom := slices.IndexFunc(ids, func(id string) bool { return id != who && strings.Contains(string(g.vitals(who).State), id) })
		return typ, fmt.Sprintf(`{"character":%q,"opponent":%q,"use":%q,"ranks":2}`, who, ids[max(0, whom)], word("use", "attack", "defence", "hold"))
	case "rpgamix.break_free":
		return typ, fmt.Sprintf(`{"character":%q,"stat":"str","holder":{"stat":"str"}}`, one("who", with("held")))
	case "rpgamix.choke":
		return typ, fmt.Sprintf(`{"character":%q,"weapon":"spear","grip":%q}`, id("who"), word("grip", "choked", "full"))
	}
	return "character.amend", fmt.Sprintf(`{"character":%q,"reason":"x","sheet":%s}`, id("who"), fighter(n("con", -4, 6)))
}

func fighter(con int) string {
	return sheet(fmt.Sprint("dex 2 con ", con), `"skills":{"Strategic Defense":3,"Hold Attacker":4,"Knife":4,"Club":3}`, `"armour":[{"name":"leather","points":2}]`)
}

// Whatever is commanded: deciding leaves the campaign untouched, health is
// never above the maximum, ranks and penalties fit the points, the dead do not
// act and have no ticks, bodies go to JSON and back, and what is folded from
// stored bytes is what was decided.
func TestPlay(t *testing.T) {
	executed := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		options := rapid.SampledFrom([]string{"", `{"rpgamix.waking":"gm","rpgamix.armour_wear":"ablative","rpgamix.clock":"calendar"}`}).Draw(rt, "options")
		g := play(t, options)
		g.Must("gm", "setting.define", aikido)
		var ids []string
		for i := range 3 {
			ids = append(ids, g.npc(fmt.Sprint("x", i), fighter(rapid.IntRange(-4, 6).Draw(rt, "con"))))
		}
		for range rulestest.Evenly(rt, []int{1, 10, 25, 40}, "commands") {
			for i, id := range ids {
				if !g.vitals(id).Alive && rapid.Bool().Draw(rt, "another enters") {
					ids[i] = g.npc("y", fighter(rapid.IntRange(-4, 6).Draw(rt, "con")))
				}
			}
			typ, data := anything(rt, g, ids)
			before := rulestest.Shown(t, g.State)
			cmd := g.Command("gm", typ, data)
			live, err := rules.Decide(g.State, cmd, &rulestest.Chains{})
			if rulestest.Shown(t, g.State) != before {
				rt.Fatalf("deciding %s %s changed the campaign", typ, data)
			}
			alive := map[string]bool{}
			for _, id := range ids {
				alive[id] = g.vitals(id).Alive
			}
			facts, again := g.Do(cmd)
			if fmt.Sprint(err) != fmt.Sprint(again) {
				rt.Fatalf("%s %s: %v, then %v", typ, data, err, again)
			}
			g.Finish()
			if err == nil {
				executed[typ]++
			}
			sameFacts(rt, live, facts)
			for _, f := range facts {
				if e, ok := f.Event.(events.CharacterEvent); ok && !alive[e.Of().Character] {
					rt.Fatalf("%s %s: %s of somebody dead", typ, data, f.Event.Type())
				}
			}
			for _, id := range ids {
				sound(rt, g, id)
			}
		}
		state := rulestest.Shown(t, g.State)
		g.Refold()
		if diff := cmp.Diff(state, rulestest.Shown(t, g.State)); diff != "" {
			rt.Fatal(diff)
		}
	})
	for _, typ := range strings.Fields("attack check clock.advance character.amend heal.grant rpgamix.allocate rpgamix.choke rpgamix.wake wound.inflict wound.treat") {
		if executed[typ] == 0 {
			t.Errorf("%s was never executed: what the games show is not shown of it", typ)
		}
	}
}

func sameFacts(rt *rapid.T, a, b []events.Fact) {
	for i := range max(len(a), len(b)) {
		x, _ := json.Marshal(a[i].Event, json.Deterministic(true))
		y, _ := json.Marshal(b[i].Event, json.Deterministic(true))
		if !bytes.Equal(x, y) {
			rt.Fatalf("decided twice: %s, %s", x, y)
		}
	}
}

// sound checks a character against what must always hold.
func sound(rt *rapid.T, g game, id string) {
	c, _ := g.State.Character(id)
	v := g.State.Vitals(c)
	h := v.Health
	if h.Points > h.Max || v.Alive != (h.Points > 0) || (h.Rank == "dead") == v.Alive {
		rt.Fatalf("%+v", h)
	}
	if !v.Alive && (v.NextTick != nil || len(v.Conditions) > 0) {
		rt.Fatalf("of the dead: %+v", v)
	}
	if v.NextTick != nil && v.NextTick.Due < g.State.Clock {
		rt.Fatalf("due at %d, and it is %d", v.NextTick.Due, g.State.Clock)
	}
	raw, err := json.Marshal(c.Body, json.Deterministic(true))
	if err != nil {
		rt.Fatal(err)
	}
	body := book.NewBody()
	if err := json.Unmarshal(raw, body, json.RejectUnknownMembers(true)); err != nil {
		rt.Fatal(err)
	}
	again, err := json.Marshal(body, json.Deterministic(true))
	if err != nil || !bytes.Equal(raw, again) {
		rt.Fatalf("%s came back as %s (%v)", raw, again, err)
	}
	back := book.Vitals(g.State.Options, body, g.State.Clock)
	if fmt.Sprint(back.Health, back.Conditions) != fmt.Sprint(v.Health, v.Conditions) {
		rt.Fatalf("%+v came back as %+v", v, back)
	}
	tick, ok := book.NextTick(g.State.Options, body)
	if ok != (v.NextTick != nil) || ok && tick.Due != v.NextTick.Due {
		rt.Fatalf("next tick %+v came back as %+v", v.NextTick, tick)
	}
}

// Nobody can crash the reading of a sheet, and what is accepted is sound.
func FuzzSheet(f *testing.F) {
	f.Add([]byte(sheet("")))
	f.Add([]byte(sheet(bobStats, `"exchange":true,"points":10`)))
	f.Add([]byte(fighter(1)))
	f.Add([]byte(sheet("", `"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":9}],"nature":"machine","pools":{"ki":2}`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		g := game{rulestest.NewTable(t, book, "")}
		cmd := g.Command("gm", "character.create", creation("free", string(raw)))
		if _, err := rules.Decide(g.State, cmd, &rulestest.Chains{}); err != nil {
			return
		}
		s := book.Sheet()
		if rules.Unmarshal(raw, s) != nil {
			return // closed the sheet and went on: no sheet by itself
		}
		body, _, err := book.Create(g.State.Options, s, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		if h := book.Vitals(g.State.Options, body, 0).Health; h.Points != h.Max || h.Points < 1 {
			t.Errorf("%s: %+v", raw, h)
		}
	})
}
