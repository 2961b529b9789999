package perp_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/rules"
)

// The courtier comes out as printed: by the book, with nothing to object to.
func TestCourtierByTheBook(t *testing.T) {
	e := open(t, "")
	id := e.Must("gm", "character.create", `{"name":"Finnin MacMorris","kind":"pc","creation":"book","sheet":`+courtier+`}`)
	e.stands(id, 12, "well")
	created := decode[*events.CharacterCreated](e, e.Records[len(e.Records)-1])
	if len(created.Warnings) > 0 {
		t.Errorf("warned of %v", created.Warnings)
	}
	// The printed sheet: what each skill and area is worth, on a die of 1.
	for _, row := range []struct {
		skill, area string
		value       int
	}{
		{"Swords", "", 1}, {"Swords", "rapier", 2}, {"Swords", "Two handed swords", 0}, {"Seduction", "", 3}, {"Etiquette", "", 2},
		{"Fast talk", "", 3}, {"Archery", "", 1}, {"Read and write", "", 0}, {"History", "", 0}, {"Horseback riding", "", 0},
		{"Street wise", "", -2}, {"Geography", "", -1},
	} {
		e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"skills":[%q],"area":%q}`, id, row.skill, row.area), 1)
		if got := e.roll().Total - 1; got != row.value {
			t.Errorf("%s %s is worth %d, want %d", row.skill, row.area, got, row.value)
		}
	}
}

// Every objection is named, each with its rule.
func TestBookNamesEveryObjection(t *testing.T) {
	e := open(t, "")
	no := e.refused("positive_traits", "character.create", `{"name":"Too much","kind":"pc","creation":"book","sheet":{
		"traits":{"Strong":5,"Vain":-1},
		"skills":{"A":{"points":11,"specializations":["x","x","y"],"exclusions":["x"]},"B":{"points":-5},"C":{"points":0},"D":{"points":0},"E":{"points":0},"F":{"points":0}},
		"hp":21}}`)
	for _, rule := range []string{"PERP-3", "PERP-4", "PERP-8", "PERP-9", "PERP-10", "PERP-11", "PERP-12"} {
		if !strings.Contains(no.Reason, rule) {
			t.Errorf("%s is not named in: %s", rule, no.Reason)
		}
	}
	// Without the book the same character is nobody's business.
	e.person("Free", `{"traits":{"Strong":5},"skills":{"A":{"points":11}},"hp":21}`)
}

// The guard scene: he can seduce her or talk, never both on one roll.
func TestGoldenRuleNamesBothSkills(t *testing.T) {
	e := open(t, "")
	id := e.person("Finnin", courtier)
	no := e.refused("one_skill_only", "check", `{"character":%q,"skills":["Seduction","fast talk"],"difficulty":5}`, id)
	if no.Rule != "PERP-13" || !strings.Contains(no.Reason, "Seduction") || !strings.Contains(no.Reason, "Fast talk") {
		t.Errorf("%s: %s", no.Rule, no.Reason)
	}
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"skills":["Fast talk"],"traits":["Affable"],"difficulty":8}`, id), 5)
	r := e.roll()
	if r.Total != 9 || r.Outcome != "success" || *r.Margin != 1 || r.Against.Value != 8 {
		t.Errorf("%d against %+v: %s", r.Total, r.Against, r.Outcome)
	}
	want := []events.Modifier{{Label: "Affable", Value: 1, Rule: "PERP-14"}, {Label: "Fast talk", Value: 3, Rule: "PERP-4"}}
	if !slices.Equal(r.Modifiers, want) {
		t.Errorf("modifiers %v", r.Modifiers)
	}
}

// "At the expense of any skill in two handed swords": what he holds is his area
// unless another is named, in the singular as in the plural.
func TestAreas(t *testing.T) {
	e := open(t, `{"perp.combat_rounds":"free"}`)
	finnin, foe := e.person("Finnin", courtier), e.person("Foe", plain)
	for _, c := range []struct {
		with string
		want []events.Modifier // what is worth 0 is not among them
	}{
		{`"weapon":"two handed sword"`, []events.Modifier{}},
		{`"weapon":"claymore","area":"TWO HANDED SWORD"`, []events.Modifier{}},
		{`"weapon":"claymore"`, []events.Modifier{{Label: "Swords", Value: 1, Rule: "PERP-4"}}},
		{`"area":"rapiers","weapon":"claymore"`, []events.Modifier{{Label: "Swords", Value: 2, Rule: "PERP-7"}}},
		{`"weapon":"Rapier"`, []events.Modifier{{Label: "Swords", Value: 2, Rule: "PERP-7"}}},
	} {
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"skills":["Swords"],%s}}`, finnin, foe, c.with), 1, 10)
		if got := e.roll().Modifiers; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.with, got, c.want)
		}
		e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":12,"cause":"a potion"}`, finnin))
	}
	create := `{"name":"X","kind":"pc","creation":"book","sheet":{"traits":{"Vain":-2},"skills":{"Swords":{"points":1,"specializations":%s,"exclusions":%s}},"hp":12}}`
	e.refused("area_specialized_and_excluded", "character.create", create, `["Sabre"]`, `["Sabres"]`)
	e.refused("exclusions_missing", "character.create", create, `["Sabre","Sabres"]`, `["Axe","axes"]`)
	e.Must("gm", "character.create", fmt.Sprintf(create, `["Sabre","Sabres"]`, `["Axe","Mace"]`))
}

// "A rank-7 test to batter down": 7 is not above 7.
func TestStoreroomDoor(t *testing.T) {
	for _, c := range []struct {
		options string
		face    int
		outcome string
	}{
		{"", 7, "failure"}, {"", 8, "success"}, {`{"perp.target_tie":"succeed"}`, 7, "success"}, {`{"perp.target_tie":"succeed"}`, 6, "failure"},
	} {
		e := open(t, c.options)
		id := e.person("Mara", plain)
		e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"difficulty":7}`, id), c.face)
		if got := e.roll().Outcome; got != c.outcome {
			t.Errorf("%s: %d is a %s", c.options, c.face, got)
		}
	}
}

// The power systems: a closed test, for which zero-level and negative skills
// qualify and areas of no knowledge do not.
func TestClosedTest(t *testing.T) {
	e := open(t, "")
	finnin := e.person("Finnin", courtier)
	note := `"closed":{"any_skill":["Hacking","Computer use"]},"difficulty":9`
	e.refused("closed_no_skill", "check", `{"character":%q,%s}`, finnin, note)
	for _, points := range []int{0, -1, 3} {
		id := e.person("Hacker", fmt.Sprintf(`{"traits":{},"skills":{"Computer use":{"points":%d}},"hp":5}`, points))
		e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"skills":["Computer use"],%s}`, id, note), 4)
	}
	chemist := e.person("Chemist", `{"traits":{},"skills":{"Chemistry":{"points":1}},"hp":5}`)
	lab := `"closed":{"any_skill":["chemistry"],"tools":["Laboratory"]}`
	e.refused("closed_no_tools", "check", `{"character":%q,%s,"tools":["crowbar"]}`, chemist, lab)
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,%s,"tools":["laboratory"]}`, chemist, lab), 4)
	both := `"closed":{"any_skill":["chemistry"],"tools":["Laboratory","Gloves"]}`
	e.refused("closed_no_tools", "check", `{"character":%q,%s,"tools":["laboratory"]}`, chemist, both)
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,%s,"tools":["gloves","laboratory"]}`, chemist, both), 4)
	sword := `"closed":{"any_skill":["Swords"]},"area":"Two handed swords"`
	e.refused("closed_no_skill", "check", `{"character":%q,%s}`, finnin, sword)
	other := open(t, `{"perp.exclusion_counts_as_zero_level":true}`)
	finnin = other.person("Finnin", courtier)
	other.Must("gm", "check", fmt.Sprintf(`{"character":%q,%s}`, finnin, sword), 4)
}

// Pierre and Finnin: 10 against 7, and the parry leaves 1 of 5 points.
func TestDuel(t *testing.T) {
	const pierre = `{"traits":{},"skills":{"Fencing":{"points":2}},"hp":12,"weapons":[{"name":"blade","class":"medium"}]}`
	for _, c := range []struct {
		options string
		parry   bool
		hp      int
	}{{"", true, 11}, {"", false, 7}, {`{"perp.parry_skill_twice":false}`, true, 9}} {
		e := open(t, c.options)
		p, f := e.person("Pierre", pierre), e.person("Finnin", courtier)
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"skills":["Fencing"]},
			"against":{"skills":["Swords"],"traits":["Athletic"],"weapon":"rapier","parry":%v}}`, p, f, c.parry), 8, 4)
		e.stands(f, c.hp, "hurt")
		e.stands(p, 12, "well")
		r := e.roll()
		if r.Total != 10 || r.Also[0].Total != 7 || *r.Margin != 3 || r.Outcome != "wins" || r.Also[0].Outcome != "loses" {
			t.Errorf("%d against %d: %s", r.Total, r.Also[0].Total, r.Outcome)
		}
		d := damageOf(t, r.Throw)
		if d.Points != 12-c.hp || d.To != f {
			t.Errorf("%s %v: %+v", c.options, c.parry, d)
		}
	}
	// He cannot take Athletic off the damage as well.
	e := open(t, "")
	p, f := e.person("Pierre", pierre), e.person("Finnin", courtier)
	no := e.refused("trait_in_roll_and_damage", "attack", `{"attacker":%q,"target":%q,
		"against":{"skills":["Swords"],"traits":["Athletic"],"parry":true,"parry_traits":["Athletic"]}}`, p, f)
	if no.Field != "against" || no.Rule != "PERP-43" {
		t.Errorf("%+v", no)
	}
	// With the trait kept out of the roll he can: 3+1 fewer in the roll, 1 off.
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"skills":["Fencing"]},
		"against":{"skills":["Swords"],"parry":true,"parry_traits":["Athletic"]}}`, p, f), 8, 4)
	e.stands(f, 11, "hurt")
}

// Fighting three at once by each of the book's three rules.
func TestGangingUp(t *testing.T) {
	fighter := func(skill string, points int, class string) string {
		return fmt.Sprintf(`{"traits":{"Strong":1},"skills":{%q:{"points":%d,"kind":"weapon"}},"hp":20,"weapons":[{"name":"arm","class":%q}]}`, skill, points, class)
	}
	sit := func(options string) (evening, string, []string, string) {
		e := open(t, options)
		lone := e.person("Lone", fighter("Sword", 3, "medium"))
		foes := []string{e.person("A", fighter("Knife", 1, "small")), e.person("B", fighter("Sword", 2, "medium")), e.person("C", fighter("Club", 0, "small"))}
		return e, lone, foes, fmt.Sprintf(`{"target":%q,"against":{"skills":["Sword"]},"attackers":[
			{"character":%q,"skills":["Knife"]},{"character":%q,"skills":["Sword"]},{"character":%q,"skills":["Club"]}]}`, lone, foes[0], foes[1], foes[2])
	}
	check := func(e evening, ids []string, want ...int) {
		t.Helper()
		for i, id := range ids {
			if e.body(id).HP != want[i] {
				t.Errorf("%s: %d hit points, want %d", e.State.Options.Values()["perp.gang_mode"], e.body(id).HP, want[i])
			}
		}
	}
	dice := []int{5, 5, 9, 2, 4, 4}

	e, lone, foes, cmd := sit(`{"perp.gang_mode":"cinematic"}`)
	e.Must("gm", "perp.gang", cmd, dice...)
	check(e, append(foes, lone), 16, 20, 15, 12)

	e, lone, foes, cmd = sit(`{"perp.gang_mode":"cinematic","perp.gang_lone_damage":"one"}`)
	e.Must("gm", "perp.gang", strings.Replace(cmd, `{"target"`, fmt.Sprintf(`{"strikes":%q,"target"`, foes[2]), 1), dice...)
	check(e, append(foes, lone), 20, 20, 15, 12)

	e, lone, foes, cmd = sit("")
	e.Must("gm", "perp.gang", cmd, dice...)
	check(e, append(foes, lone), 20, 20, 20, 7)

	e, lone, foes, cmd = sit(`{"perp.gang_penalty_from":4}`)
	e.Must("gm", "perp.gang", cmd, dice...)
	check(e, append(foes, lone), 16, 20, 15, 12)

	e, lone, foes, cmd = sit(`{"perp.gang_mode":"brutal"}`)
	e.Must("gm", "perp.gang", cmd, 2, 3, 4, 5)
	check(e, append(foes, lone), 20, 20, 20, 16)
	if r := e.roll(); r.Total != 11 || r.Expression != "3d10" || r.Also[0].Total != 8 {
		t.Errorf("brutal: %s is %d against %d", r.Expression, r.Total, r.Also[0].Total)
	}

	// Traits of the group count only where the campaign says so.
	e, _, _, cmd = sit(`{"perp.gang_mode":"brutal"}`)
	traits := strings.Replace(cmd, `"skills":["Knife"]`, `"skills":["Knife"],"traits":["Strong"]`, 1)
	e.refused("group_counts_dice_and_best_skill", "perp.gang", "%s", traits)
	e, lone, _, cmd = sit(`{"perp.gang_mode":"brutal","perp.brutal_group_traits":true}`)
	traits = fmt.Sprintf(`{"target":%q,`, lone) + strings.SplitN(strings.Replace(cmd, `"skills":["Knife"]`, `"skills":["Knife"],"traits":["Strong"]`, 1), ",", 2)[1]
	e.Must("gm", "perp.gang", traits, 2, 3, 4, 5)
	if r := e.roll(); r.Total != 12 || e.body(lone).HP != 15 {
		t.Errorf("group with a trait: %d, leaves %d", r.Total, e.body(lone).HP)
	}
}

// What counts by the brutal rules beside dice, skill and weapon.
func TestBrutally(t *testing.T) {
	const fighter = `{"traits":{"Strong":2,"Frail":-1},"skills":{"Swords":{"points":2,"kind":"weapon"},"Anatomy":{"points":1,"kind":"damage"}},
		"hp":20,"armour":%q,"shield":true,"weapons":[{"name":"arm","class":"medium"}]}`
	const traits = `,"perp.brutal_group_traits":true`
	for _, c := range []struct {
		name, options, lone, first string
		faces                      []int
		group, alone, hp           int
	}{
		{"only the lone fighter has a shield", ``, `{}`, ``, []int{2, 3, 4}, 5, 5, 20},
		{"armour stops a group's blow", ``, `{"shield":false}`, ``, []int{2, 5, 4}, 7, 4, 20 - (3 + 2 - 1)},
		{"a parry takes off weapon and skill", ``, `{"shield":false,"skills":["Swords"],"parry":true}`, ``, []int{8, 9, 4}, 17, 6, 20 - (11 + 2 - 2 - 2 - 1)},
		{"the situation of each attacker", ``, `{"shield":false}`, `,"modifiers":[{"label":"from behind","value":3}]`, []int{2, 3, 4}, 8, 4, 20 - (4 + 2 - 1)},
		{"traits for damage", traits, `{"shield":false}`, `,"damage_traits":["Strong"]`, []int{2, 3, 4}, 5, 4, 20 - (1 + 2 + 2 - 1)},
	} {
		e := open(t, `{"perp.gang_mode":"brutal"`+c.options+`}`)
		lone, a, b := e.person("Lone", fmt.Sprintf(fighter, "leather")), e.person("A", fmt.Sprintf(fighter, "none")), e.person("B", fmt.Sprintf(fighter, "none"))
		gang := `{"target":%q,"against":%s,"attackers":[{"character":%q%s},{"character":%q}]}`
		e.Must("gm", "perp.gang", fmt.Sprintf(gang, lone, c.lone, a, c.first, b), c.faces...)
		if r := e.roll(); r.Total != c.group || r.Also[0].Total != c.alone || e.body(lone).HP != c.hp {
			t.Errorf("%s: %d against %d leaves %d, want %d, %d, %d", c.name, r.Total, r.Also[0].Total, e.body(lone).HP, c.group, c.alone, c.hp)
		}
		e.advance("3s")
		e.refused("group_counts_dice_and_best_skill", "perp.gang", gang, lone, `{}`, a, `,"damage_skills":["Anatomy"]`, b)
		// Nothing is taken off a share of nothing, and nothing added to it.
		e.Must("gm", "perp.gang", fmt.Sprintf(gang, lone, `{"shield":false}`, a, ``, b), 1, 2, 8)
		e.Must("gm", "perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":0},{"character":%q,"points":7}]}`, lone, a, b))
		e.stands(b, 13, "hurt")
	}
	e := open(t, `{"perp.gang_mode":"brutal"}`)
	lone, a, b := e.person("Lone", fmt.Sprintf(fighter, "none")), e.person("A", fmt.Sprintf(fighter, "none")), e.person("B", fmt.Sprintf(fighter, "none"))
	e.Must("gm", "perp.gang", fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q,"soak_traits":["Frail"]},{"character":%q,"soak_traits":["Frail"]}]}`, lone, a, b), 1, 2, 8)
	e.Must("gm", "perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":0},{"character":%q,"points":8}]}`, lone, a, b))
	e.stands(a, 20, "well")
	e.stands(b, 11, "hurt") // 8, and 1 for being frail
}

// The lone winner of a brutal fight shares out the damage afterwards; armour
// takes off each share.
func TestShareOut(t *testing.T) {
	e := open(t, `{"perp.gang_mode":"brutal","perp.combat_rounds":"free"}`)
	lone := e.person("Lone", `{"traits":{},"skills":{"Sword":{"points":5}},"hp":20,"weapons":[{"name":"sword","class":"medium"}]}`)
	a := e.person("A", `{"traits":{"Tough":2},"skills":{},"hp":9,"armour":"leather"}`)
	b := e.person("B", `{"traits":{},"skills":{},"hp":9}`)
	cmd := fmt.Sprintf(`{"target":%q,"against":{"skills":["Sword"]},"attackers":[{"character":%q,"soak_traits":["Tough"]},{"character":%q}]}`, lone, a, b)
	e.refused("nothing_to_share", "perp.share", `{"character":%q,"shares":[{"character":%q,"points":8}]}`, lone, a)
	e.Must("gm", "perp.gang", cmd, 1, 2, 4) // 3 against 9: 6 and 2 for the sword
	if s := e.body(lone).Share; s == nil || s.Points != 8 {
		t.Fatalf("to share out: %+v", s)
	}
	e.refused("share_first", "attack", `{"attacker":%q,"target":%q}`, lone, a)
	for _, shares := range []string{
		`[{"character":%q,"points":7}]`, `[{"character":%q,"points":9}]`, `[{"character":%[1]q,"points":4},{"character":%[1]q,"points":4}]`,
	} {
		e.refused("bad_split", "perp.share", `{"character":%q,"shares":%s}`, lone, fmt.Sprintf(shares, a))
	}
	e.refused("not_beaten", "perp.share", `{"character":%q,"shares":[{"character":%q,"points":8}]}`, lone, lone)
	e.Must("gm", "perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":6},{"character":%q,"points":2}]}`, lone, a, b))
	e.stands(a, 6, "hurt") // 6, less 2 for toughness, less 1 for leather
	e.stands(b, 7, "hurt")
	e.refused("nothing_to_share", "perp.share", `{"character":%q,"shares":[{"character":%q,"points":8}]}`, lone, a)

	// What was won has to be shared out before the next fight can take its place.
	e.Must("gm", "perp.gang", cmd, 1, 2, 4)
	if no := e.refused("share_first", "perp.gang", "%s", cmd); no.Field != "target" {
		t.Errorf("%+v", no)
	}
	if s := e.body(lone).Share; s == nil || s.Points != 8 {
		t.Fatalf("to share out: %+v", s)
	}
	e.Must("gm", "perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":0},{"character":%q,"points":8}]}`, lone, a, b))
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":8,"cause":"a potion"}`, b))

	// A parrier who beats the group has nothing to share out.
	e.Must("gm", "perp.gang", strings.Replace(cmd, `"against":{`, `"against":{"parry":true,`, 1), 1, 2, 4)
	if s := e.body(lone).Share; s != nil {
		t.Errorf("a parrier shares out %+v", s)
	}

	// When nobody is left to take a share the fight goes on.
	c := e.person("C", plain)
	e.Must("gm", "perp.gang", cmd, 1, 2, 4)
	for _, id := range []string{a, b} {
		e.Must("gm", "character.retire", fmt.Sprintf(`{"character":%q,"reason":"gone"}`, id))
	}
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, lone, c), 5, 5)
}

// "Must take a -3 penalty to each shot" at three targets, none at one.
func TestVolley(t *testing.T) {
	e := open(t, `{"perp.combat_rounds":"free"}`)
	gun := e.person("Gunner", `{"traits":{},"skills":{"Guns":{"points":2}},"hp":12,"weapons":[{"name":"Uzi","class":"small gun","rate_of_fire":3}]}`)
	var ids []string
	for range 3 {
		ids = append(ids, e.person("Foe", `{"traits":{},"skills":{},"hp":20}`))
	}
	fire := func(targets []string, shots ...string) string {
		var listed []string
		for _, id := range targets {
			listed = append(listed, fmt.Sprintf(`{"character":%q}`, id))
		}
		return fmt.Sprintf(`{"attacker":%q,"with":{"skills":["Guns"]},"targets":[%s],"shots":["%s"]}`, gun, strings.Join(listed, ","), strings.Join(shots, `","`))
	}
	e.Must("gm", "perp.volley", fire(ids, ids...), 8, 5, 8, 5, 4, 5)
	for i, want := range []int{16, 16, 20} {
		if e.body(ids[i]).HP != want {
			t.Errorf("target %d has %d, want %d", i, e.body(ids[i]).HP, want)
		}
	}
	e.Must("gm", "perp.volley", fire(ids[2:], ids[2], ids[2], ids[2]), 8, 5, 8, 7, 4, 8)
	e.stands(ids[2], 4, "hurt") // 5 times 2, 3 times 2, missed
	e.refused("over_rate_of_fire", "perp.volley", "%s", fire(ids[:1], ids[0], ids[0], ids[0], ids[0]))
	e.refused("target_not_declared", "perp.volley", "%s", fire(ids[:1], ids[1]))
	e.refused("target_without_a_shot", "perp.volley", "%s", fire(ids, ids[1]))
	e.refused("target_twice", "perp.volley", "%s", fire([]string{ids[0], ids[0]}, ids[0]))
	// Cover is a target's own, and so is what is wrong with one.
	covered := strings.Replace(fire(ids[:2], ids[:2]...), `{"character":"`+ids[1]+`"}`, `{"character":"`+ids[1]+`",%s}`, 1)
	for _, c := range []struct{ code, field, rest string }{
		{"fully_behind_hard_cover", "targets.1.cover.hard_quarters", `"cover":{"hard_quarters":4}`},
		{"no_parry_against_missiles", "targets.1.against.parry", `"against":{"parry":true}`},
	} {
		if no := e.refused(c.code, "perp.volley", covered, c.rest); no.Field != c.field {
			t.Errorf("%s is about %s, want %s", c.code, no.Field, c.field)
		}
	}
	parrying := strings.Replace(fire(ids[:1], ids[0]), `"skills"`, `"parry":true,"skills"`, 1)
	if no := e.refused("no_parry_against_missiles", "perp.volley", "%s", parrying); no.Field != "with.parry" {
		t.Errorf("%+v", no)
	}
	e.Must("gm", "perp.volley", fmt.Sprintf(covered, `"cover":{"hard_quarters":3}`), 1, 1, 8, 5) // 8 and 2, less 2 targets and 3 quarters
	e.stands(ids[1], 16, "hurt")
	// Who falls at the first shot is rolled for at the next all the same.
	e.Must("gm", "perp.volley", fire(ids[2:], ids[2], ids[2]), 10, 5, 10, 5)
	e.stands(ids[2], -24, "dead")

	once := open(t, `{"perp.volley_defence":"once"}`)
	gun = once.person("Gunner", `{"traits":{},"skills":{"Guns":{"points":2}},"hp":12,"weapons":[{"name":"Uzi","class":"small gun","rate_of_fire":3}]}`)
	foe := once.person("Foe", `{"traits":{},"skills":{},"hp":20}`)
	once.Must("gm", "perp.volley", fire([]string{foe}, foe, foe), 8, 5, 4)
	once.stands(foe, 8, "hurt") // 5 times 2 and 1 times 2
	if r := once.roll(); len(r.Also) != 2 || r.Also[0].Against.Value != 10 || r.Also[1].Against.Value != 5 {
		t.Errorf("%+v", r.Also)
	}
}

// Missiles: only the target can be hurt, firearms multiply, cover hinders.
func TestMissiles(t *testing.T) {
	e := open(t, `{"perp.combat_rounds":"free"}`)
	finnin := e.person("Finnin", courtier)
	foe := e.person("Foe", `{"traits":{"Quick":1,"Tough":1},"skills":{"Dodge":{"points":2,"kind":"dodge"},"Axe":{"points":3,"kind":"weapon"},"Shield use":{"points":1,"kind":"shield"},"First aid":{"points":1,"kind":"medical"},"Anatomy":{"points":1,"kind":"damage"},"Running":{"points":1}},"hp":20,"shield":true,"weapons":[{"name":"axe","class":"battle axe"}]}`)
	shoot := func(rest string, faces ...int) {
		t.Helper()
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,%s}`, finnin, foe, rest), faces...)
	}
	shoot(`"with":{"skills":["Archery"],"weapon":"long bow"},"against":{"skills":["Dodge"],"traits":["Quick"]}`, 8, 2)
	e.stands(foe, 13, "hurt") // 9 against 5: 4 and 3
	shoot(`"with":{"weapon":"dart"},"against":{"soak_traits":["Tough"]}`, 5, 2)
	e.stands(foe, 10, "hurt") // 3 and 1, less 1 for toughness
	e.Must("gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":3,"cause":"a potion"}`, foe))
	shoot(`"with":{"weapon":"dart"}`, 2, 9)
	e.stands(finnin, 12, "well") // the target can do no damage
	shoot(`"with":{"weapon":"machine gun"},"cover":{"soft":"half","hard_quarters":1}`, 8, 5)
	e.stands(foe, 9, "hurt") // 6 against 5, times 4
	// A sling stone is in both lists; a thrown one is a missile.
	shoot(`"with":{"weapon":"sling stone"},"missile":true,"against":{"skills":["Dodge"]}`, 5, 4)
	if r := e.roll(); r.Also[0].Purpose != "dodge" {
		t.Errorf("a thrown sling stone is met by %s", r.Also[0].Purpose)
	}
	shoot(`"with":{"weapon":"sling stone"},"against":{"skills":["Axe"],"shield":false}`, 8, 4)
	if r := e.roll(); r.Also[0].Purpose != "defence" {
		t.Errorf("a sling stone in the hand is met by %s", r.Also[0].Purpose)
	}
	for code, rest := range map[string]string{
		"weapon_skill_cannot_dodge": `"with":{"weapon":"dart"},"against":{"skills":["Axe"]}`,
		"not_a_dodging_skill":       `"with":{"weapon":"dart"},"against":{"skills":["Shield use"]}`,
		"no_parry_against_missiles": `"with":{"weapon":"dart"},"against":{"parry":true}`,
		"fully_behind_hard_cover":   `"with":{"weapon":"dart"},"cover":{"hard_quarters":4}`,
		"target_not_known":          `"with":{"weapon":"dart"},"cover":{"soft":"full"}`,
		"no_cover_hand_to_hand":     `"cover":{"soft":"half"}`,
		"not_a_missile":             `"with":{"weapon":"mace"},"missile":true`,
		"not_a_hand_weapon":         `"against":{"weapon":"long bow"}`,
		"unknown_weapon":            `"with":{"weapon":"ray gun"}`,
	} {
		e.refused(code, "attack", `{"attacker":%q,"target":%q,%s}`, finnin, foe, rest)
	}
	for _, skill := range []string{"First aid", "Anatomy"} {
		e.refused("not_a_dodging_skill", "attack", `{"attacker":%q,"target":%q,"with":{"weapon":"dart"},"against":{"skills":[%q]}}`, finnin, foe, skill)
	}
	shoot(`"with":{"weapon":"dart"},"against":{"skills":["Running"]}`, 1, 4)
	// A shield helps against missiles only where the campaign says so.
	for _, c := range []struct {
		options string
		total   int
	}{{"", 5}, {`{"perp.shield_vs_missile":true}`, 6}} {
		e := open(t, c.options)
		a, b := e.person("A", plain), e.person("B", `{"traits":{},"skills":{},"hp":12,"shield":true}`)
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon":"dart"}}`, a, b), 5, 5)
		if got := e.roll().Also[0].Total; got != c.total {
			t.Errorf("%s: dodges with %d, want %d", c.options, got, c.total)
		}
	}
}

// D18: ties. Combat is a draw whatever the campaign says of other contests.
func TestTies(t *testing.T) {
	for _, c := range []struct{ options, outcome string }{{"", "draw"}, {`{"perp.opposed_tie":"defender"}`, "loses"}} {
		e := open(t, c.options)
		a, b := e.person("A", plain), e.person("B", plain)
		e.Must("gm", "contest", fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q}]}`, a, b), 7, 7)
		if r := e.roll(); r.Outcome != c.outcome || *r.Margin != 0 {
			t.Errorf("%s: %s by %d", c.options, r.Outcome, *r.Margin)
		}
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, a, b), 7, 7)
		e.Must("gm", "clock.advance", `{"seconds":3}`)
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon":"big gun"}}`, a, b), 7, 7)
		e.stands(a, 12, "well")
		e.stands(b, 12, "well")
	}
}

// Armour hinders what is nimble; powered armour is an aid or a prison.
func TestArmour(t *testing.T) {
	for _, c := range []struct {
		options string
		want    map[string]int
	}{
		{"", map[string]int{"none": 0, "leather": -1, "chainmail": -1, "platemail": -3, "powered": -12}},
		{`{"perp.armour_penalty":"per_word"}`, map[string]int{"none": 0, "leather": -1, "chainmail": -3, "platemail": -4, "powered": -12}},
	} {
		e := open(t, c.options)
		for _, armour := range []string{"none", "leather", "chainmail", "platemail", "powered"} {
			id := e.person("Wearer", fmt.Sprintf(`{"traits":{},"skills":{},"hp":12,"armour":%q}`, armour))
			e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"about":["agility","quickness"]}`, id), 5)
			if got := e.roll().Total - 5; got != c.want[armour] {
				t.Errorf("%s %s: %d, want %d", c.options, armour, got, c.want[armour])
			}
			e.Must("gm", "check", fmt.Sprintf(`{"character":%q}`, id), 5)
			if got := e.roll().Total; got != 5 {
				t.Errorf("%s counts on a roll that is about nothing: %d", armour, got)
			}
		}
	}
	e := open(t, `{"perp.combat_rounds":"free"}`)
	id, foe := e.person("Suit", `{"traits":{},"skills":{},"hp":12,"armour":"powered"}`), e.person("Foe", `{"traits":{},"skills":{},"hp":20}`)
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"about":["agility","strength"]}`, id), 5)
	if got := e.roll().Total; got != -7 {
		t.Errorf("immobile counts once: %d", got)
	}
	e.Must("gm", "perp.power", fmt.Sprintf(`{"character":%q,"on":true}`, id))
	for about, want := range map[string]int{"strength": 8, "seeing": 7, "agility": 5} {
		e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"about":[%q]}`, id, about), 5)
		if got := e.roll().Total; got != want {
			t.Errorf("powered, %s: %d, want %d", about, got, want)
		}
	}
	// Its strength can go into the damage, but not into the roll as well.
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"damage_traits":["servomotor strength"]}}`, id, foe), 6, 5)
	e.stands(foe, 16, "hurt")
	e.refused("trait_in_roll_and_damage", "attack", `{"attacker":%q,"target":%q,"with":{"about":["strength"],"damage_traits":["servomotor strength"]}}`, id, foe)
	// It protects on or off, and never heals: margin 3, medium weapon, 12 off.
	e.Must("gm", "perp.power", fmt.Sprintf(`{"character":%q,"on":false}`, id))
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon":"mace"}}`, foe, id), 8, 5)
	e.stands(id, 12, "well")
	e.refused("no_change", "perp.power", `{"character":%q,"on":false}`, id)
	e.refused("no_powered_armour", "perp.power", `{"character":%q,"on":true}`, foe)
	e.Must("gm", "perp.wear", fmt.Sprintf(`{"character":%q,"armour":"leather"}`, id))
	e.refused("no_change", "perp.wear", `{"character":%q,"armour":"leather"}`, id)
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"traits":["Hot"],"about":["agility"]}`, id), 5)
	if got := e.roll().Total; got != 4 {
		t.Errorf("hot counts once, however it is named: %d", got)
	}
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon":"mace"}}`, foe, id), 8, 5)
	e.stands(id, 8, "hurt")
	if w := lastWound(e); w.Absorbed != 1 || w.Points != 4 || w.Weapon != "mace" {
		t.Errorf("%+v", w)
	}
}

// What armour does is no trait of the sheet, though it may be called the same: both
// count, and the one is not the other in the damage.
func TestTraitCalledAsArmour(t *testing.T) {
	e := open(t, `{"perp.combat_rounds":"free"}`)
	hot := e.person("Hot", `{"traits":{"Hot":2},"skills":{},"hp":20,"armour":"leather"}`)
	foe := e.person("Foe", `{"traits":{},"skills":{},"hp":20}`)
	for data, want := range map[string]int{
		`{"character":%q,"about":["agility"]}`:                  4,
		`{"character":%q,"traits":["hot"]}`:                     7,
		`{"character":%q,"about":["agility"],"traits":["Hot"]}`: 6,
	} {
		e.Must("gm", "check", fmt.Sprintf(data, hot), 5)
		if got := e.roll().Total; got != want {
			t.Errorf(data+": %d, want %d", hot, got, want)
		}
	}
	e.refused("trait_twice", "check", `{"character":%q,"traits":["Hot","hot"]}`, hot)
	// Margin 6 - (5 - 1), less the leather's 1 and the trait's 2: nothing is left.
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"against":{"about":["agility"],"soak_traits":["Hot"]}}`, foe, hot), 6, 5)
	e.stands(hot, 20, "well")
	e.refused("trait_in_roll_and_damage", "attack", `{"attacker":%q,"target":%q,"against":{"traits":["Hot"],"soak_traits":["Hot"]}}`, foe, hot)
}

func lastWound(e evening) *events.WoundInflicted {
	for i := len(e.Records) - 1; i >= 0; i-- {
		if e.Records[i].Type == "wound.inflicted" {
			return decode[*events.WoundInflicted](e, e.Records[i])
		}
	}
	return nil
}

// Shields and the shield skill, damage traits and skills, toughness, and a
// parry that is rolled with the shield skill.
func TestHandToHand(t *testing.T) {
	const a = `{"traits":{"Strong":2,"Weak":-1},"skills":{"Shield use":{"points":3,"kind":"shield"},"Swords":{"points":1,"kind":"weapon"},"Clumsy":{"points":-2},"Acrobatics":{"points":4,"kind":"dodge"},"Anatomy":{"points":2,"kind":"damage"}},
		"hp":20,"shield":true,"weapons":[{"name":"claymore","class":"large"}]}`
	const b = `{"traits":{"Tough":1,"Frail":-1},"skills":{},"hp":20}`
	for _, c := range []struct {
		name, with, against string
		faces               []int
		a, b                int
	}{
		{"shield skill wins, the weapon counts", `{"skills":["Shield use"]}`, `{}`, []int{5, 5}, 20, 13},
		{"with the shield that is on the sheet", `{"skills":["Shield use"],"shield":true}`, `{}`, []int{5, 5}, 20, 13},
		{"without the shield", `{"skills":["Shield use"],"shield":false}`, `{}`, []int{5, 5}, 20, 14},
		{"strong adds to damage", `{"damage_traits":["Strong"]}`, `{}`, []int{5, 5}, 20, 14},
		{"a skill for damage", `{"damage_skills":["Anatomy"]}`, `{}`, []int{5, 5}, 20, 14},
		{"toughness", `{}`, `{"soak_traits":["Tough"]}`, []int{5, 5}, 20, 17},
		{"frailty hurts more", `{}`, `{"soak_traits":["Frail"]}`, []int{5, 5}, 20, 15},
		{"the defender wins, the attacker is hurt", `{}`, `{"weapon":"club"}`, []int{2, 8}, 14, 20},
		{"both parry", `{"parry":true}`, `{"parry":true}`, []int{10, 1}, 20, 20},
		{"the attacker parries and wins", `{"parry":true}`, `{}`, []int{10, 1}, 20, 20},
		{"a parry with the shield skill takes off the weapon skill", `{"skills":["Shield use"],"parry":true,"weapon_skill":"Swords"}`, `{"weapon":"claymore"}`, []int{1, 10}, 20 - (5 + 3 - 3 - 1), 20},
		{"the shield skill itself is not taken off", `{"skills":["Shield use"],"parry":true}`, `{"weapon":"claymore"}`, []int{1, 10}, 20 - (5 + 3 - 3), 20},
		{"a skill that is for something else is not taken off", `{"skills":["Acrobatics"],"shield":false,"parry":true}`, `{"weapon":"claymore"}`, []int{1, 10}, 20 - (5 + 3 - 3), 20},
		{"the weapon skill is, where it is named beside that", `{"skills":["Acrobatics"],"shield":false,"parry":true,"weapon_skill":"Swords"}`, `{"weapon":"claymore"}`, []int{1, 10}, 20 - (5 + 3 - 3 - 1), 20},
		{"a negative skill is not forced on a parrier", `{"skills":["Clumsy"],"shield":false,"parry":true,"weapon":"unarmed"}`, `{"weapon":"claymore"}`, []int{5, 5}, 20 - (2 + 3), 20},
		{"what would make it worse is not forced on a parrier", `{"parry":true,"parry_traits":["Weak"],"weapon":"unarmed"}`, `{"weapon":"claymore"}`, []int{1, 4}, 20 - (2 + 3), 20},
	} {
		e := open(t, "")
		ida, idb := e.person("A", a), e.person("B", b)
		e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":%s,"against":%s}`, ida, idb, c.with, c.against), c.faces...)
		if e.body(ida).HP != c.a || e.body(idb).HP != c.b {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, e.body(ida).HP, e.body(idb).HP, c.a, c.b)
		}
	}
	e := open(t, "")
	ida, idb := e.person("A", a), e.person("B", b)
	e.refused("one_skill_only", "attack", `{"attacker":%q,"target":%q,"with":{"skills":["Shield use","Swords"]}}`, ida, idb)
	for code, with := range map[string]string{
		"weapon_skill_is_for_shields": `{"skills":["Swords"],"parry":true,"weapon_skill":"Shield use"}`,
		"not_a_weapon_skill":          `{"skills":["Shield use"],"parry":true,"weapon_skill":"Anatomy"}`,
	} {
		if no := e.refused(code, "attack", `{"attacker":%q,"target":%q,"with":%s}`, ida, idb, with); no.Field != "with.weapon_skill" {
			t.Errorf("%+v", no)
		}
	}
	e.refused("weapon_skill_is_for_shields", "attack", `{"attacker":%q,"target":%q,"with":{"parry":true,"weapon_skill":"Swords"}}`, ida, idb)
	if no := e.refused("no_shield", "attack", `{"attacker":%q,"target":%q,"against":{"shield":true}}`, ida, idb); no.Field != "against.shield" {
		t.Errorf("%+v", no)
	}
	e.refused("no_damage_skill", "attack", `{"attacker":%q,"target":%q,"with":{"damage_skills":["Swords"]}}`, ida, idb)
	e.refused("skill_in_roll_and_damage", "attack", `{"attacker":%q,"target":%q,"with":{"skills":["Anatomy"],"damage_skills":["Anatomy"]}}`, ida, idb)
	e.refused("trait_twice", "check", `{"character":%q,"traits":["Strong","strong"]}`, ida)
	e.refused("unknown_trait", "check", `{"character":%q,"traits":["Quick"]}`, ida)
	e.refused("unknown_skill", "check", `{"character":%q,"skills":["Cooking"]}`, ida)
	e.refused("same_character", "attack", `{"attacker":%q,"target":%q}`, ida, ida)
	e.refused("same_character", "contest", `{"sides":[{"character":%q},{"character":%q}]}`, ida, ida)
	e.refused("not_a_gang", "perp.gang", `{"target":%q,"attackers":[{"character":%q}]}`, ida, idb)
	e.refused("attacker_twice", "perp.gang", `{"target":%q,"attackers":[{"character":%[2]q},{"character":%[2]q}]}`, ida, idb)
	e.refused("not_an_attacker", "perp.gang", `{"target":%q,"strikes":%[1]q,"attackers":[{"character":%q},{"character":%q}]}`, ida, idb, e.person("C", plain))
}

// "Each character can make one attack during a round."
func TestOneAttackARound(t *testing.T) {
	e := open(t, "")
	a, b := e.person("A", plain), e.person("B", plain)
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q}`, a, b)
	e.Must("gm", "attack", attack, 5, 5)
	e.refused("one_attack_a_round", "attack", "%s", attack)
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, b, a), 5, 5)
	e.Must("gm", "clock.advance", `{"seconds":2}`)
	e.refused("one_attack_a_round", "attack", "%s", attack)
	e.Must("gm", "clock.advance", `{"seconds":1}`)
	e.Must("gm", "attack", attack, 5, 5)

	e = open(t, `{"perp.combat_rounds":"free"}`)
	a, b = e.person("A", plain), e.person("B", plain)
	attack = fmt.Sprintf(`{"attacker":%q,"target":%q}`, a, b)
	e.Must("gm", "attack", attack, 5, 5)
	e.Must("gm", "attack", attack, 5, 5)
}

// What a campaign defines itself: its list of skills, prescribed zero-level
// skills, weapons with their rate of fire.
func TestSetting(t *testing.T) {
	e := open(t, "")
	e.Must("gm", "setting.define", `{"reason":"a city of thieves","setting":{"skills":["Swords","Lore"],"zero_level":["Street wise"],"weapons":[{"name":"Pepperbox","class":"small gun","rate_of_fire":4}]}}`)
	create := func(skills string) string {
		return `{"name":"X","kind":"pc","creation":"book","sheet":{"traits":{"Vain":-2},"skills":{` + skills + `},"hp":12}}`
	}
	e.refused("zero_level_prescribed", "character.create", "%s", create(`"Swords":{"points":1}`))
	e.refused("zero_level_prescribed", "character.create", "%s", create(`"Street wise":{"points":-1}`))
	e.refused("skill_not_listed", "character.create", "%s", create(`"Street wise":{"points":0},"Cooking":{"points":1}`))
	id := e.Must("gm", "character.create", create(`"Street wise":{"points":0},"Swords":{"points":0},"lore":{"points":2}`))
	foe := e.person("Foe", `{"traits":{},"skills":{},"hp":20}`)
	e.Must("gm", "perp.volley", fmt.Sprintf(`{"attacker":%q,"with":{"weapon":"pepperbox"},"targets":[{"character":%q}],"shots":[%[2]q,%[2]q,%[2]q,%[2]q]}`, id, foe), 6, 5, 5, 5, 5, 6, 5, 5)
	e.stands(foe, 18, "hurt")
	own := e.Must("gm", "character.create", `{"name":"Y","kind":"pc","creation":"free","sheet":{"traits":{},"skills":{},"hp":12,"weapons":[{"name":"Pepperbox","class":"big gun"}]}}`)
	e.Must("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q}`, own, foe), 6, 5)
	e.stands(foe, 14, "hurt") // the weapon on the sheet goes before that of the campaign
	e.Must("gm", "setting.define", `{"reason":"the streets","setting":{"zero_level":["Street wise"]}}`)
	e.Must("gm", "character.create", create(`"Street wise":{"points":0},"A":{"points":0},"B":{"points":0},"C":{"points":0}`))
	e.refused("too_many_zero_level", "character.create", "%s", create(`"Street wise":{"points":0},"A":{"points":0},"B":{"points":0},"C":{"points":0},"D":{"points":0}`))
	e.Must("gm", "setting.define", `{"reason":"schooling","setting":{"zero_level":["Street wise"],"zero_level_instead":true}}`)
	e.refused("too_many_zero_level", "character.create", "%s", create(`"Street wise":{"points":0},"Swords":{"points":0}`))
	e.Must("gm", "character.create", create(`"Street wise":{"points":0}`))
	for field, setting := range map[string]string{
		"setting.skills":          `{"skills":["Swords","swords"]}`,
		"setting.zero_level.0":    `{"zero_level":[" "]}`,
		"setting.weapons.0.class": `{"weapons":[{"name":"x","class":"enormous"}]}`,
	} {
		err := e.Refused("gm", "setting.define", `{"reason":"x","setting":`+setting+`}`)
		var bad *rules.Invalid
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// What no sheet may hold, whoever makes it.
func TestSheetsNobodyMayHave(t *testing.T) {
	e := open(t, "")
	for field, sheet := range map[string]string{
		"sheet.traits.Strong":          `{"traits":{"Strong":0},"skills":{},"hp":5}`,
		"sheet.traits":                 `{"traits":{"Strong":1,"strong":1},"skills":{},"hp":5}`,
		"sheet.skills":                 `{"traits":{},"skills":{"Swords":{"points":1},"SWORDS":{"points":0}},"hp":5}`,
		"sheet.hp":                     `{"traits":{},"skills":{},"hp":0}`,
		"sheet.healing":                `{"traits":{},"skills":{},"hp":5,"healing":["Tough"]}`,
		"sheet.weapons.0.class":        `{"traits":{},"skills":{},"hp":5,"weapons":[{"name":"x","class":"y"}]}`,
		"sheet.weapons":                `{"traits":{},"skills":{},"hp":5,"weapons":[{"name":"x","class":"small"},{"name":"X","class":"small"}]}`,
		"sheet.armour":                 `{"traits":{},"skills":{},"hp":5,"armour":"mithril"}`,
		"sheet.skills.Swords":          `{"traits":{},"skills":{"Swords":{"points":1,"specializations":[" "]}},"hp":5}`,
		"sheet.skills.Swords.points":   `{"traits":{},"skills":{"Swords":{}},"hp":5}`,
		"sheet.skills.Swords.kind":     `{"traits":{},"skills":{"Swords":{"points":1,"kind":"magic"}},"hp":5}`,
		"sheet.weapons.0.rate_of_fire": `{"traits":{},"skills":{},"hp":5,"weapons":[{"name":"x","class":"small gun","rate_of_fire":0}]}`,
	} {
		err := e.Refused("gm", "character.create", `{"name":"X","kind":"pc","creation":"free","sheet":`+sheet+`}`)
		var bad *rules.Invalid
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Advice is given and nothing is forbidden.
func TestWarnings(t *testing.T) {
	e := open(t, "")
	e.Must("gm", "character.create", `{"name":"Sage","kind":"pc","creation":"book","sheet":{"traits":{"Wise":3,"Old":-2},"skills":{"Lore":{"points":8}},"hp":18}}`)
	w := decode[*events.CharacterCreated](e, e.Records[len(e.Records)-1]).Warnings
	if len(w) != 3 || !strings.Contains(w[2], "obese or massively built") {
		t.Errorf("warnings %q", w)
	}
}

// Budgets that are a campaign's choice, in both readings.
func TestBudgets(t *testing.T) {
	const sheet = `{"traits":{"Wise":3,"Old":-2},"skills":{"Lore":{"points":11,"specializations":["a","b","c"],"exclusions":["d","e","f"]},"A":{"points":0},"B":{"points":0},"C":{"points":0},"D":{"points":0}},"hp":12}`
	create := `{"name":"X","kind":"pc","creation":"book","sheet":` + sheet + `}`
	e := open(t, "")
	no := e.refused("skill_points_over", "character.create", "%s", create)
	for _, part := range []string{"zero-level", "specializations"} {
		if !strings.Contains(no.Reason, part) {
			t.Errorf("%s is not named in %s", part, no.Reason)
		}
	}
	const generous = `"perp.skill_points":12,"perp.specializations_per_skill":3,"perp.zero_level_skills":4`
	open(t, `{`+generous+`}`).Must("gm", "character.create", create)
	open(t, `{"perp.positive_traits_exact":true,`+generous+`}`).refused("positive_traits", "character.create", "%s", create)
}

// A hidden number stays out of the ledger until it is opened, and is judged
// like an open one.
func TestJudge(t *testing.T) {
	var judge rules.Judging = book.System.(rules.Judging)
	for _, c := range []struct {
		tie     string
		total   int
		outcome string
		margin  int
	}{{"fail", 7, "failure", 0}, {"fail", 8, "success", 1}, {"succeed", 7, "success", 0}, {"fail", 3, "failure", -4}} {
		e := open(t, fmt.Sprintf(`{"perp.target_tie":%q}`, c.tie))
		outcome, margin := judge.Judge(e.State.Options, c.total, 7)
		if outcome != c.outcome || margin != c.margin {
			t.Errorf("%s: %d against 7 is a %s by %d", c.tie, c.total, outcome, margin)
		}
	}
}

// What people write is checked, and the field is named.
func TestTexts(t *testing.T) {
	e := open(t, "")
	id, foe := e.person("Mara", plain), e.person("Foe", plain)
	e.wound(foe, 5)
	hidden := `"a\u202eb"`
	for _, c := range []struct{ field, typ, data string }{
		{"purpose", "check", fmt.Sprintf(`{"character":%q,"purpose":%s}`, id, hidden)},
		{"purpose", "contest", fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q}],"purpose":%s}`, id, foe, hidden)},
		{"modifiers.0.label", "check", fmt.Sprintf(`{"character":%q,"modifiers":[{"label":%s,"value":1}]}`, id, hidden)},
		{"sides.1.modifiers.0.label", "contest", fmt.Sprintf(`{"sides":[{"character":%q},{"character":%q,"modifiers":[{"label":%s,"value":1}]}]}`, id, foe, hidden)},
		{"against.modifiers.0.label", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"against":{"modifiers":[{"label":%s,"value":1}]}}`, id, foe, hidden)},
		{"modifiers.0.label", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":1,"tools":true,"modifiers":[{"label":%s,"value":1}]}`, foe, hidden)},
		{"cause", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":1,"cause":%s}`, foe, hidden)},
		{"cause", "heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":%s}`, foe, hidden)},
		{"hand_skill", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"hand_skill":1,"tools":true}`, foe, id)},
		{"by", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":1,"skills":["Herbs"],"tools":true}`, foe)},
		{"by", "wound.treat", fmt.Sprintf(`{"character":%q,"hand_skill":1,"traits":["Calm"],"tools":true}`, foe)},
		{"sheet.skills.A.description", "character.create", fmt.Sprintf(`{"name":"X","kind":"pc","creation":"free","sheet":{"traits":{},"skills":{"A":{"points":1,"description":%s}},"hp":5}}`, hidden)},
	} {
		var bad *rules.Invalid
		if err := e.Refused("gm", c.typ, c.data); !errors.As(err, &bad) || bad.Field != c.field {
			t.Errorf("%s %s: %v", c.typ, c.field, err)
		}
	}
	e.Must("gm", "check", fmt.Sprintf(`{"character":%q,"purpose":"climb the fence","difficulty":4,"modifiers":[{"label":"rain","value":-1}]}`, id), 5)
	if r := e.roll(); r.Purpose != "climb the fence" || r.Total != 4 || r.Outcome != "failure" {
		t.Errorf("%+v", r.Throw)
	}
}

// Codes of refusals stay what they are: programs rely on them.
func TestFieldsOfRefusals(t *testing.T) {
	e := open(t, "")
	id, foe := e.person("Mara", courtier), e.person("Foe", plain)
	for _, c := range []struct{ code, field, typ, data string }{
		{"unknown_trait", "against.parry_traits", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"against":{"parry_traits":["Tough"]}}`, id, foe)},
		{"unknown_skill", "with.weapon_skill", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"weapon_skill":"Flails"}}`, id, foe)},
		{"unknown_skill", "with.damage_skills", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"damage_skills":["Flails"]}}`, id, foe)},
		{"one_skill_only", "sides.0.skills", "contest", fmt.Sprintf(`{"sides":[{"character":%q,"skills":["Swords","Archery"]},{"character":%q}]}`, id, foe)},
		{"unknown_character", "target", "attack", fmt.Sprintf(`{"attacker":%q,"target":"nobody"}`, id)},
		{"trait_twice", "patient_traits", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%[1]q,"skills":["History"],"patient_traits":["Vain","vain"],"tools":true}`, id)},
		{"trait_twice", "with", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"damage_traits":["Vain"],"soak_traits":["Vain"]}}`, id, foe)},
	} {
		if c.typ == "wound.treat" {
			e.wound(id, 5)
		}
		if no := e.refused(c.code, c.typ, "%s", c.data); no.Field != c.field {
			t.Errorf("%s: field %s, want %s", c.code, no.Field, c.field)
		}
	}
	brutal := open(t, `{"perp.gang_mode":"brutal"}`)
	id, foe = brutal.person("Mara", courtier), brutal.person("Foe", plain)
	third := brutal.person("Third", plain)
	no := brutal.refused("group_cannot_parry", "perp.gang", `{"target":%q,"attackers":[{"character":%q},{"character":%q,"parry":true}]}`, id, foe, third)
	if no.Field != "attackers.1.parry" {
		t.Errorf("%+v", no)
	}
}

// Every rule is listed once, and every option names one of them and says what
// each of its values means.
func TestDescription(t *testing.T) {
	d := book.Describe()
	var ids []string
	for i, r := range d.Rules {
		if want := fmt.Sprintf("PERP-%d", i+1); r.ID != want || r.Title == "" {
			t.Errorf("rule %d is %+v", i, r)
		}
		ids = append(ids, r.ID)
	}
	if len(ids) != 55 {
		t.Errorf("%d rules", len(ids))
	}
	for _, o := range d.Options {
		if !slices.Contains(ids, o.Rule) || len(o.Values) > 0 && o.Default != o.Values[0] {
			t.Errorf("%+v", o)
		}
		for _, v := range o.Values {
			if !strings.Contains(o.Doc, v+":") {
				t.Errorf("%s does not say what %s means", o.Name, v)
			}
		}
	}
}

// Armour put on and off in play, and damage that waits to be shared out, are in
// the state of a body.
func TestStateOfABody(t *testing.T) {
	e := open(t, `{"perp.gang_mode":"brutal"}`)
	plainly, clad := e.person("Lone", `{"traits":{},"skills":{},"hp":20}`), e.person("Clad", `{"traits":{},"skills":{},"hp":9,"armour":"leather"}`)
	says := func(id, want string) {
		t.Helper()
		if got := string(e.vitals(id).State); got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	}
	says(plainly, "")
	says(clad, `{"armour":"leather"}`)
	e.Must("gm", "perp.wear", fmt.Sprintf(`{"character":%q,"armour":"none"}`, clad))
	says(clad, `{"armour":"none"}`) // which is not what the sheet says
	e.Must("gm", "perp.wear", fmt.Sprintf(`{"character":%q,"armour":"powered"}`, clad))
	says(clad, `{"armour":"powered"}`)
	e.Must("gm", "perp.power", fmt.Sprintf(`{"character":%q,"on":true}`, clad))
	says(clad, `{"armour":"powered","powered":true}`)
	foe := e.person("Foe", plain)
	e.Must("gm", "perp.gang", fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q},{"character":%q}]}`, plainly, clad, foe), 1, 2, 8)
	says(plainly, fmt.Sprintf(`{"share":{"points":5,"weapon":"unarmed","targets":[{"character":%q},{"character":%q}]}}`, clad, foe))
	e.Must("gm", "perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":5}]}`, plainly, foe))
	says(plainly, "")
}

// Who asks why is told the rule of each thing that happened, and a blow with
// everything its damage is made of.
func TestWhy(t *testing.T) {
	e := open(t, `{"perp.gang_mode":"brutal","perp.combat_rounds":"free"}`)
	const fencer = `{"traits":{},"skills":{"Fencing":{"points":2}},"hp":12,"weapons":[{"name":"blade","class":"medium"}]}`
	a, b, c := e.person("A", fencer), e.person("B", fencer), e.person("C", fencer)
	gang := fmt.Sprintf(`{"target":%q,"attackers":[{"character":%q},{"character":%q}]}`, a, b, c)
	for _, step := range []struct {
		typ, data string
		faces     []int
		rules     string
	}{
		{"attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":{"skills":["Fencing"]},"against":{"skills":["Fencing"],"parry":true}}`, a, b), []int{8, 4}, "PERP-20 PERP-41"},
		{"perp.gang", gang, []int{3, 4, 5}, "PERP-20 PERP-20 PERP-31"},
		{"perp.gang", gang, []int{1, 2, 4}, "PERP-20 PERP-20 PERP-32"},
		{"perp.share", fmt.Sprintf(`{"character":%q,"shares":[{"character":%q,"points":3}]}`, a, c), nil, "PERP-41 PERP-32"},
		{"perp.wear", fmt.Sprintf(`{"character":%q,"armour":"leather"}`, a), nil, "PERP-45"},
		{"perp.wear", fmt.Sprintf(`{"character":%q,"armour":"powered"}`, a), nil, "PERP-47"},
		{"heal.grant", fmt.Sprintf(`{"character":%q,"points":1,"cause":"a potion"}`, a), nil, "PERP-53"},
		{"wound.inflict", fmt.Sprintf(`{"character":%q,"points":1,"cause":"a fall"}`, a), nil, "PERP-12"},
	} {
		n := len(e.Records)
		e.Must("gm", step.typ, step.data, step.faces...)
		var cited []string
		for _, rec := range e.Records[n:] {
			if rec.Type != "roll.made" {
				cited = append(cited, rules.RuleOf(book.System, decode[events.Event](e, rec)))
			}
		}
		if got := strings.Join(cited, " "); got != step.rules {
			t.Errorf("%s is told by %s, want %s", step.typ, got, step.rules)
		}
		if step.typ != "attack" {
			continue
		}
		const want = "rolled 8 + 2 against 6: wins by 4, +4 margin +2 blade, medium weapon -2 parry with blade, medium weapon -2 Fencing = 2 points"
		throws := e.roll().Throws()
		blow, lost := throws[0], throws[1]
		if got := rules.Narrate(book.System, e.State.Options, blow, nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		fencing := events.Modifier{Label: "Fencing", Value: -2, Rule: "PERP-26"}
		if blows := rules.DamageOf(book.System, blow); len(blows) != 1 || len(blows[0].Made) != 2 || !slices.Contains(blows[0].Stopped, fencing) {
			t.Errorf("the damage is made of %v", blows)
		}
		if got := rules.Narrate(book.System, e.State.Options, lost, nil); got != "rolled 4 + 2 against 10: loses by 4" || rules.DamageOf(book.System, lost) != nil {
			t.Errorf("who lost is told: %s", got)
		}
	}
}

// Tending takes a medical skill, or one without a kind that the table takes for
// one (PERP-52).
func TestTendingTakesAMedicalSkill(t *testing.T) {
	e := open(t, "")
	doc := e.person("Doc", `{"traits":{},"skills":{"First aid":{"points":1,"kind":"medical"},"Herbs":{"points":1},"Swords":{"points":1,"kind":"weapon"},"Shield use":{"points":1,"kind":"shield"},"Dodge":{"points":1,"kind":"dodge"},"Anatomy":{"points":1,"kind":"damage"}},"hp":9}`)
	hurt := e.person("Hurt", plain)
	e.wound(hurt, 5)
	for _, skill := range []string{"Swords", "Shield use", "Dodge", "Anatomy"} {
		e.refused("closed_no_skill", "wound.treat", `{"character":%q,"by":%q,"skills":[%q],"tools":true}`, hurt, doc, skill)
	}
	e.Must("gm", "wound.treat", fmt.Sprintf(`{"character":%q,"by":%q,"skills":["Herbs"],"tools":true}`, hurt, doc), 5)
}

// A skill that no points were spent on has no bonus to give up elsewhere and
// cannot be specialised by the book; and a refusal names each rule once.
func TestSpecialisedWithoutPoints(t *testing.T) {
	e := open(t, "")
	const create = `{"name":"X","kind":"pc","creation":%q,"sheet":{"traits":{"A":4,"B":-2},"skills":{"Lore":{"points":%d,"specializations":["Elves","Elves"],"exclusions":["Orcs","Trolls"]}},"hp":9}}`
	e.Must("gm", "character.create", fmt.Sprintf(create, "book", 1))
	e.Must("gm", "character.create", fmt.Sprintf(create, "free", 0))
	for _, points := range []int{0, -1} {
		no := e.refused("specialized_without_points", "character.create", create, "book", points)
		if no.Rule != "PERP-10" || strings.Count(no.Error(), "PERP-10") != 1 {
			t.Errorf("%d: %s", points, no)
		}
	}
	no := e.refused("negative_traits", "character.create", "%s", `{"name":"X","kind":"pc","creation":"book","sheet":{"traits":{"A":4,"B":-1},"skills":{},"hp":30}}`)
	if got := no.Error(); strings.Count(got, "PERP-3") != 1 || strings.Count(got, "PERP-12") != 1 {
		t.Errorf("%s", got)
	}
}
