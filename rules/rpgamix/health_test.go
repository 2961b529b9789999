package rpgamix_test

import (
	"cmp"
	"fmt"
	"testing"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// Where most of our checks start from: 25 points, 21 lost, then bleeding.
func TestBleeding(t *testing.T) {
	g := game{rulestest.NewTable(t, book, "")} // no session: automatic losses need no dice
	mara := g.npc("Mara", sheet(""))
	same(t, "at first", words(g.vitals(mara)), words(events.Vitals{Alive: true, Health: events.Health{Points: 25, Max: 25, Rank: "good"}, Conditions: []events.Condition{}}))
	g.wound(mara, 21)
	same(t, "events", g.types(), "wound.inflicted")
	v := g.vitals(mara)
	same(t, "wounded", v.Health, events.Health{Points: 4, Max: 25, Rank: "incapacitated", Penalty: -16})
	same(t, "condition", words(v.Conditions), "[{unconscious 0 0 RPGX-36}]")
	same(t, "next", *v.NextTick, events.NextTick{Due: 3, Kind: "round"})
	g.advance(3)
	same(t, "after a round", g.points(mara), 3)
	same(t, "events of the round", g.types(), "tick.processed clock.advanced")
	g.advance(9)
	v = g.vitals(mara)
	if v.Alive || v.Health.Rank != "dead" || v.Health.Penalty != 0 || v.NextTick != nil || len(v.Conditions) != 0 {
		t.Errorf("after four rounds: %+v", v)
	}
	same(t, "events of the end", g.types(), "tick.processed tick.processed tick.processed character.died clock.advanced")
	g.advance(1_000_000)
	same(t, "nothing more", g.types(), "clock.advanced")
}

const (
	round = 3
	hour  = 3_600
	day   = 86_400
	week  = 604_800
)

// casualty brings a character of Con 0 to so many of 25 points, awake, with
// dice by hand for the rolls on the way.
func casualty(g game, points int, treated bool) string {
	id := g.npc("Mara", sheet(""))
	lost := 25 - points
	var dice []int
	if lost >= 5 && lost < 20 {
		dice = append(dice, 10) // does not pass out
	}
	if lost >= 15 && lost < 20 {
		dice = append(dice, 10) // stays awake on falling to Awful
	}
	g.wound(id, lost, dice...)
	if treated {
		g.treat(id)
	}
	return id
}

// Every line of the health table, made and failed, through the clock. Nothing
// happens a second before, and the next check is due as the table says.
func TestHealthTable(t *testing.T) {
	for _, x := range []struct {
		points  int
		treated bool
		due     int64
		kind    string
		before  []int // dice of checks that fall due before it and change nothing
		face    int   // 0: no die
		want    int
		rule    string
	}{
		{23, false, day, "day", nil, 5, 24, "RPGX-39"},
		{23, false, day, "day", nil, 4, 23, "RPGX-39"},
		{23, false, week, "week", []int{1, 1, 1, 1, 1, 1, 1}, 5, 23, "RPGX-39"},
		{23, false, week, "week", []int{1, 1, 1, 1, 1, 1, 1}, 4, 22, "RPGX-39"},
		{22, true, day, "day", nil, 7, 24, "RPGX-40"},
		{22, true, day, "day", nil, 5, 23, "RPGX-40"},
		{22, true, day, "day", nil, 10, 25, "RPGX-40"},
		{22, true, day, "day", nil, 4, 22, "RPGX-40"},
		{22, true, week, "week", []int{1, 1, 1, 1, 1, 1, 1}, 5, 25, "RPGX-40"},
		{22, true, week, "week", []int{1, 1, 1, 1, 1, 1, 1}, 4, 22, "RPGX-40"},
		{18, false, day, "day", nil, 5, 19, "RPGX-41"},
		{18, false, day, "day", nil, 4, 17, "RPGX-41"},
		{18, true, day, "day", nil, 9, 22, "RPGX-42"},
		{18, true, day, "day", nil, 4, 18, "RPGX-42"},
		{13, false, hour, "hour", nil, 5, 13, "RPGX-43"},
		{13, false, hour, "hour", nil, 4, 12, "RPGX-43"},
		{13, true, day, "day", nil, 5, 14, "RPGX-44"},
		{13, true, day, "day", nil, 4, 12, "RPGX-44"},
		{8, false, round, "round", nil, 5, 8, "RPGX-45"},
		{8, false, round, "round", nil, 4, 7, "RPGX-45"},
		{8, true, day, "day", nil, 5, 9, "RPGX-46"},
		{8, true, day, "day", nil, 4, 7, "RPGX-46"},
		{3, false, round, "round", nil, 0, 2, "RPGX-47"},
		{3, true, day, "day", nil, 5, 4, "RPGX-48"},
		{3, true, day, "day", nil, 4, 2, "RPGX-48"},
	} {
		t.Run(fmt.Sprintf("%d %v %s %d", x.points, x.treated, x.kind, x.face), func(t *testing.T) {
			g := play(t, "")
			mara := casualty(g, x.points, x.treated)
			early := x.before
			if x.kind == "week" {
				early = early[:6]
			}
			g.advance(x.due-1, early...)
			same(t, "a second before", g.points(mara), x.points)
			dice := x.before[len(early):]
			if x.face > 0 {
				dice = append(dice, x.face)
			}
			g.advance(1, dice...)
			same(t, "points", g.points(mara), x.want)
			if x.face > 0 && x.kind != "week" {
				same(t, "outcome", g.roll().Outcome, []string{"worsens", "unchanged", "heals"}[1+cmp.Compare(x.want, x.points)])
			}
			for _, r := range g.Records {
				if r.Type == "tick.processed" && r.Clock == x.due {
					e, _ := book.Registry().Decode(r)
					tick := e.(*events.TickProcessed)
					if tick.Kind == x.kind {
						same(t, "tick", words(tick.Kind, tick.Due, tick.Rolled, tick.Change, tick.Rule), words(x.kind, x.due, x.face > 0, x.want-x.points, x.rule))
					}
				}
			}
		})
	}
}

// The daily gain of Poor health comes behind 24 hourly checks (RPGX-43).
func TestPoorDay(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 13, false)
	faces := make([]int, 25)
	for i := range faces {
		faces[i] = 9
	}
	g.advance(day, faces...)
	same(t, "points", g.points(mara), 14)
}

// A treated hourly check of Poor health neither wins nor loses: it makes no
// event at all (RPGX-44).
func TestVoidLine(t *testing.T) {
	g := play(t, `{"rpgamix.skip_certain_rolls":false}`)
	casualty(g, 13, true)
	g.advance(day - 1)
	same(t, "events", g.types(), "clock.advanced")
}

// Deterioration from Poor to death: the ranks on the way, the Con roll on
// falling to Awful, and who is awake.
func TestWayDown(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 11, false)
	g.advance(hour, 1, 4) // fails the hour and passes out in Awful
	same(t, "Awful", words(g.vitals(mara).Health, g.conditions(mara)), "{10 25 awful -8} unconscious")
	same(t, "events", g.types(), "roll.made tick.processed rpgamix.consciousness.checked condition.gained clock.advanced")
	same(t, "rule", g.vitals(mara).Conditions[0].Rule, "RPGX-34")
	g.advance(5*round, 1, 1, 1, 1, 1)
	same(t, "Incapacitated", words(g.vitals(mara).Health), "{5 25 incapacitated -16}")
	g.advance(4 * round)
	same(t, "brink", g.points(mara), 1)
	g.advance(round)
	same(t, "dead", g.vitals(mara).Alive, false)
}

// Who stays awake on falling to Awful exerts himself harder each time: the
// book's door (RPGX-34, RPGX-35).
func TestDoor(t *testing.T) {
	g := play(t, "")
	hero := g.npc("Hero", sheet("con 2"))
	g.wound(hero, 21, 10, 3) // 35 to 14: does not pass out; 3 + 2 stays awake
	same(t, "Awful", words(g.vitals(hero).Health), "{14 35 awful -8}")
	act := func(what string, face int) {
		t.Helper()
		g.Must("gm", "rpgamix.exert", fmt.Sprintf(`{"character":%q,"act":%q}`, hero, what), face)
	}
	act("crawling for the door", 3)
	same(t, "first", g.roll().Against.Value, 5)
	act("opening the door", 4)
	same(t, "second", g.roll().Against.Value, 6)
	act("closing the door", 4)
	same(t, "third", words(g.roll().Against.Value, g.roll().Total, g.roll().Outcome), "7 6 unconscious")
	same(t, "condition", g.conditions(hero), "unconscious")
	same(t, "afterwards", g.code("rpgamix.exert", fmt.Sprintf(`{"character":%q,"act":"waving"}`, hero)), "unconscious")
}

// The count of exertions begins anew when the rank was left (RPGX-35).
func TestExertionsAreForgotten(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 10, false)
	exert := fmt.Sprintf(`{"character":%q,"act":"crawling"}`, mara)
	g.Must("gm", "rpgamix.exert", exert, 9)
	g.Must("gm", "rpgamix.exert", exert, 9)
	same(t, "second", g.roll().Against.Value, 6)
	g.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"a potion"}`, mara))
	same(t, "in Poor health", g.code("rpgamix.exert", exert), "not_awful")
	g.wound(mara, 3, 9)
	g.Must("gm", "rpgamix.exert", exert, 9)
	same(t, "anew", g.roll().Against.Value, 5)
}

// In Awful health strenuous acts take their Con roll first, others do not.
func TestStrenuous(t *testing.T) {
	for _, x := range []struct {
		data string
		dice []int
		want string
	}{
		{`"stat":"str"`, []int{9, 8}, "9 awake, 0"},
		{`"stat":"str"`, []int{4}, "4 unconscious"},
		{`"stat":"dex"`, []int{4}, "4 unconscious"},
		{`"stat":"str","strenuous":false`, []int{8}, "0"},
		{`"stat":"int"`, []int{8}, "0"},
		{`"stat":"int","strenuous":true`, []int{9, 8}, "9 awake, 0"},
	} {
		g := play(t, "")
		mara := casualty(g, 8, false)
		g.Must("gm", "check", fmt.Sprintf(`{"character":%q,%s}`, mara, x.data), x.dice...)
		r := g.roll()
		got := words(r.Total)
		if r.Outcome != "" {
			got += " " + r.Outcome
		}
		for _, also := range r.Also {
			got += fmt.Sprint(", ", also.Total)
		}
		same(t, x.data, got, x.want)
	}
}

// Constitution -5: one point, Good or dead (RPGX-30).
func TestMouse(t *testing.T) {
	g := play(t, "")
	mouse := g.npc("Mouse", sheet("con -5"))
	same(t, "mouse", words(g.vitals(mouse).Health), "{1 1 good 0}")
	g.wound(mouse, 1)
	same(t, "events", g.types(), "wound.inflicted character.died")
	same(t, "dead", words(g.vitals(mouse).Health), "{0 1 dead 0}")
}

// Points of ranks for every constitution: five ranks of Con + 5 points.
func TestRanks(t *testing.T) {
	for con := -4; con <= 8; con++ {
		g := game{rulestest.NewTable(t, book, "")}
		id := g.npc("x", sheet(words("con ", con)))
		size := con + 5
		same(t, "max", g.vitals(id).Health.Max, 5*size)
		for k, rank := range []string{"incapacitated", "awful", "poor", "fair", "good"} {
			for _, p := range []int{k*size + 1, (k + 1) * size} {
				if p == 5*size {
					continue
				}
				h := play(t, "")
				id := h.npc("x", sheet(words("con ", con)))
				cmd := h.Command("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"x"}`, id, 5*size-p))
				if _, err := h.Do(cmd); err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("rank of %d with Con %d", p, con), h.vitals(id).Health.Rank, rank)
			}
		}
	}
}

// Passing out: once a round, by the damage of the round together (RPGX-27).
func TestPassingOut(t *testing.T) {
	g := play(t, "")
	mara := g.npc("Mara", sheet(""))
	g.wound(mara, 4)
	same(t, "4 of 5", g.types(), "wound.inflicted")
	g.wound(mara, 1, 5)
	same(t, "5 of 5", g.types(), "roll.made wound.inflicted")
	g.wound(mara, 6)
	same(t, "once in a round", g.types(), "wound.inflicted")
	g.advance(round)
	g.wound(mara, 2)
	same(t, "another round", g.types(), "wound.inflicted")
	g.wound(mara, 3, 10, 10)
	same(t, "its sum, and Awful", g.points(mara), 9)

	frail := g.npc("Frail", sheet("con -4")) // one point is Con + 5
	g.wound(frail, 1, 10)
	same(t, "the first point of a round", g.types(), "roll.made wound.inflicted")

	h := play(t, "")
	sue := h.npc("Sue", sheet("con 1"))
	h.wound(sue, 12, 3)
	same(t, "Sue on a 3", h.conditions(sue), "unconscious")
	h.wound(sue, 6)
	same(t, "no roll for the unconscious", h.types(), "wound.inflicted")
}

// Clocks start on entry into a rank or on treatment; changes within do not
// restart them (RPGX-52).
func TestClocks(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 23, false)
	g.advance(day/2, []int{}...)
	g.wound(mara, 1)
	same(t, "a wound within the rank", g.vitals(mara).NextTick.Due, day)
	g.treat(mara)
	same(t, "treated", g.vitals(mara).NextTick.Due, day/2+day)
	g.wound(mara, 1)
	same(t, "wounded again, treatment undone", g.vitals(mara).NextTick.Due, day/2+day)
	g.advance(100)
	g.wound(mara, 3)
	same(t, "Fair", words(g.vitals(mara).Health.Rank, g.vitals(mara).NextTick.Due), words("fair", day/2+100+day))
}

// At one instant the shorter interval goes first, and a change of rank drops
// what else was due (RPGX-52).
func TestOrderAtOneInstant(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 21, false) // Good, the last point
	faces := []int{1, 1, 1, 1, 1, 1, 1, 1}
	g.advance(week, faces...) // the day, then the week: falls to Fair
	same(t, "Fair", words(g.points(mara), g.vitals(mara).Health.Rank), "20 fair")
	same(t, "next", g.vitals(mara).NextTick.Due, week+day)

	h := play(t, "")
	poor := casualty(h, 11, false)
	for range 23 {
		h.advance(hour, 9)
	}
	h.advance(hour, 1, 9) // the hour loses, falls to Awful; the day is dropped
	same(t, "Awful", h.points(poor), 10)
	same(t, "next round", h.vitals(poor).NextTick.Due, day+round)
}

// Whole again: no more checks, and treatment is forgotten (RPGX-50).
func TestWhole(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 24, true)
	g.advance(day, 10)
	same(t, "whole", g.points(mara), 25)
	if g.vitals(mara).NextTick != nil {
		t.Error("a check is due for somebody who is whole")
	}
	g.wound(mara, 1)
	same(t, "treatment is for the new wound", g.vitals(mara).NextTick.Due, day+day)
	g.treat(mara)
}

// A roll that could change nothing is not made: Con 5 and Con 4 do not bleed
// by the hour or the round (RPGX-38).
func TestCertainRolls(t *testing.T) {
	for con, due := range map[int]string{3: "hour", 4: "day", 5: "day"} {
		g := play(t, "")
		id := g.npc("x", sheet(words("con ", con)))
		size := con + 5
		g.wound(id, 2*size+1, 10)
		same(t, "rank", g.vitals(id).Health.Rank, "poor")
		same(t, words("Con ", con), g.vitals(id).NextTick.Kind, due)
	}
}

// Things neither bleed nor pass out nor heal.
func TestThings(t *testing.T) {
	g := play(t, "")
	golem := g.npc("Golem", sheet("", `"nature":"thing"`))
	g.wound(golem, 12)
	same(t, "events", g.types(), "wound.inflicted")
	if g.vitals(golem).NextTick != nil {
		t.Error("a thing has a check of the health table")
	}
	same(t, "treat", g.code("wound.treat", fmt.Sprintf(`{"character":%q}`, golem)), "not_living")
	g.advance(1_000)
	g.Must("gm", "character.amend", fmt.Sprintf(`{"character":%q,"reason":"it lives","sheet":%s}`, golem, sheet("")))
	same(t, "alive", g.vitals(golem).NextTick.Due, hour)
	g.advance(day)
}

// Amending keeps the points that are missing, and may not kill.
func TestAmend(t *testing.T) {
	g := play(t, "")
	mara := casualty(g, 18, false)
	amend := func(stats string) string {
		return fmt.Sprintf(`{"character":%q,"reason":"training","sheet":%s}`, mara, sheet(stats))
	}
	g.Must("gm", "character.amend", amend("con 2"))
	same(t, "Con 2", words(g.vitals(mara).Health), "{28 35 fair -2}")
	same(t, "Con -4", g.code("character.amend", amend("con -4")), "amended_to_death")
	g.wound(mara, 3)
	same(t, "ten points of ten missing", g.code("character.amend", amend("con -3")), "amended_to_death")
	g.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"a potion"}`, mara))
	same(t, "Con -6", g.code("character.amend", amend("con -6")), "stat_under_-5")
	g.advance(day)
}

// Unconsciousness and waking: by healing, by the game master, by magic.
func TestWaking(t *testing.T) {
	g := play(t, "")
	mara := g.npc("Mara", sheet(""))
	wake := fmt.Sprintf(`{"character":%q,"cause":"smelling salts"}`, mara)
	same(t, "awake", g.code("rpgamix.wake", wake), "not_unconscious")
	g.wound(mara, 7, 1)
	same(t, "passed out", g.conditions(mara), "unconscious")
	g.advance(day, 5)
	same(t, "woke with a point won back", g.types()+" "+g.conditions(mara), "roll.made tick.processed condition.ended clock.advanced ")
	g.wound(mara, 7, 1)
	g.Must("gm", "rpgamix.wake", wake)
	same(t, "woken", g.conditions(mara), "")
	g.wound(mara, 9)
	same(t, "incapacitated", g.conditions(mara), "unconscious")
	g.Must("gm", "rpgamix.wake", wake)
	same(t, "by magic", g.conditions(mara), "awake by magic")
	g.Must("gm", "check", fmt.Sprintf(`{"character":%q,"stat":"int","difficulty":0}`, mara), 10)
	same(t, "at -16", g.roll().Total, -6)
	g.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":5,"cause":"a potion"}`, mara))
	same(t, "the magic ends with the rank", g.conditions(mara), "")
}

// Who passed out and is incapacitated does not wake by a point won back there.
func TestNoWakingWhileIncapacitated(t *testing.T) {
	g := play(t, "")
	mara := g.npc("Mara", sheet(""))
	g.wound(mara, 8, 1)
	g.wound(mara, 15)
	g.treat(mara)
	g.advance(day, 10)
	same(t, "events", words(g.types(), g.points(mara)), "roll.made tick.processed clock.advanced 3")
	g.advance(3*day, 10, 10, 10)
	same(t, "in Awful health", words(g.points(mara), g.conditions(mara)), "6 ")
}

// The automatic loss of the incapacitated spares nobody, however tough
// (RPGX-47).
func TestToughBleedToo(t *testing.T) {
	g := game{rulestest.NewTable(t, book, "")}
	giant := g.npc("Giant", sheet("con 5"))
	g.wound(giant, 41)
	g.advance(9 * round)
	same(t, "dead", words(g.points(giant), g.vitals(giant).Alive), "0 false")
}

// Treatment is over when the character is whole, also where new wounds leave
// it alone (RPGX-53).
func TestTreatmentEnds(t *testing.T) {
	g := play(t, `{"rpgamix.new_wound_unstabilises":false}`)
	mara := casualty(g, 24, true)
	g.wound(mara, 1)
	same(t, "still treated", g.code("wound.treat", fmt.Sprintf(`{"character":%q}`, mara)), "already_stabilised")
	g.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":9,"cause":"a potion"}`, mara))
	same(t, "whole", g.points(mara), 25)
	g.wound(mara, 1)
	g.treat(mara)
}

// Deciding that a condition ends leaves the campaign's own conditions alone.
func TestConditionsAreNotShared(t *testing.T) {
	g := play(t, "")
	bob, sue := g.npc("Bob", sheet("")), g.npc("Sue", sheet(""))
	g.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"axe","potential":10},"difficulty":0}`, bob, sue), 5, 1, 1)
	same(t, "both", g.conditions(sue), "stunned, unconscious")
	before := rulestest.Shown(t, g.State)
	for _, typ := range []string{"rpgamix.wake", "wound.inflict"} {
		data := fmt.Sprintf(`{"character":%q,"cause":"x"}`, sue)
		if typ == "wound.inflict" {
			data = fmt.Sprintf(`{"character":%q,"cause":"x","points":20}`, sue)
		}
		if _, err := rules.Decide(g.State, g.Command("gm", typ, data), &rulestest.Chains{}); err != nil {
			t.Fatal(err)
		}
		same(t, typ, rulestest.Shown(t, g.State), before)
	}
}
