package fudge

import (
	"fmt"
	"math/big"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// answer is what a vector is compared with.
type answer map[string]any

// Conform works a vector out with the functions that decide commands.
func (System) Conform(o rules.Options, kind string, given jsontext.Value, dice *rules.Faces) (any, error) {
	work, known := vectorKinds[kind]
	if !known {
		return nil, fmt.Errorf("fudge knows no vector of kind %q", kind)
	}
	return work(o, given, dice)
}

var vectorKinds = map[string]func(rules.Options, jsontext.Value, roller) (any, error){
	"read": vector(vectorRead), "test": vector(vectorTest), "opposed": vector(vectorOpposed), "melee": vector(vectorMelee),
	"ranged": vector(vectorRanged), "lone": vector(vectorLone), "group": vector(vectorGroup), "damage": vector(vectorDamage),
	"wound": vector(vectorWound), "conscious": vector(vectorConscious), "heal": vector(vectorHeal), "rest": vector(vectorRest),
	"scale": vector(vectorScale), "scalemap": vector(vectorScaleMap), "prob": vector(vectorProb), "oprob": vector(vectorOpposedProb),
}

// vector reads what is given, strictly.
func vector[T any](work func(rules.Options, T, roller) (any, error)) func(rules.Options, jsontext.Value, roller) (any, error) {
	return func(o rules.Options, given jsontext.Value, dice roller) (any, error) {
		var g T
		if err := json.Unmarshal(given, &g, json.RejectUnknownMembers(true)); err != nil {
			return nil, err
		}
		return work(o, g, dice)
	}
}

// person is one side of a vector.
type person struct {
	Trait  string `json:"trait"`
	Mod    int    `json:"mod"`
	Stance string `json:"stance"`
}

func (p person) effort() (effort, error) {
	level, err := traitLevel("trait", p.Trait, untrained)
	e := effort{level: level}
	e.add("as given", p.Mod, "FUDGE-8")
	if size := max(p.Mod, -p.Mod); size >= extremeBy {
		e.warnings = []string{fmt.Sprintf("%+d is extreme", p.Mod)}
	}
	takeStance(&e, p.Stance)
	return e, err
}

// or is a word, or null when there is none.
func or(word string) any {
	if word == "" {
		return nil
	}
	return word
}

func vectorRead(_ rules.Options, _ struct{}, d roller) (any, error) {
	dice := takePair(d)
	return answer{"sum": dice.sum(), "levels": dice.levels(), "critical": or(dice.natural())}, nil
}

type givenTest struct {
	person
	Task      string `json:"task"`
	Secondary string `json:"secondary"`
	Instead   bool   `json:"use_secondary_instead"`
}

func vectorTest(o rules.Options, g givenTest, d roller) (any, error) {
	e, err := g.effort()
	if err != nil {
		return nil, err
	}
	if g.Secondary != "" {
		level, err := traitLevel("secondary", g.Secondary, untrained)
		if err != nil {
			return nil, err
		}
		if err := (secondary{level, "second trait", g.Instead}).count(&e, "use_secondary_instead"); err != nil {
			return nil, err
		}
	}
	level, err := levelOf("task", g.Task, usualTask)
	if err != nil {
		return nil, err
	}
	job, err := judge(o, "task", e, level)
	if err != nil {
		return nil, err
	}
	if job.automatic {
		return answer{"automatic": true, "success": job.success}, nil
	}
	r := rolled(o, e, takePair(d))
	success, margin, critical := unopposed(o, r, level)
	return answer{
		"automatic": false, "effective": r.effective(), "levels": r.dice.levels(), "degree": r.degree,
		"success": success, "margin": margin, "critical": or(critical), "warnings": r.warnings,
	}, nil
}

type givenPair struct {
	A person `json:"a"`
	B person `json:"b"`
}

// roll has both sides of a vector roll, a first.
func (g givenPair) roll(o rules.Options, d roller) (a, b result, err error) {
	ea, err := g.A.effort()
	if err != nil {
		return a, b, err
	}
	eb, err := g.B.effort()
	if err != nil {
		return a, b, err
	}
	a = rolled(o, ea, takePair(d))
	return a, rolled(o, eb, takePair(d)), nil
}

// side names the first or second of a pair; 0 is nobody.
func side(k int) any { return or([]string{"", "a", "b"}[k]) }

func vectorOpposed(o rules.Options, g givenPair, d roller) (any, error) {
	a, b, err := g.roll(o, d)
	if err != nil {
		return nil, err
	}
	relative := opposed(a, b)
	winner := 3 - exchange{relative: relative}.loser()
	if relative == 0 {
		winner = 0
	}
	return answer{
		"a": a.degree, "b": b.degree, "relative": relative, "winner": side(winner),
		"a_critical": or(critically(o, a, relative)), "b_critical": or(critically(o, b, -relative)),
	}, nil
}

func vectorMelee(o rules.Options, g givenPair, d roller) (any, error) {
	a, b, err := g.roll(o, d)
	if err != nil {
		return nil, err
	}
	x := meet(o, a, b, g.A.Stance, g.B.Stance)
	winner := 0
	if x.loser() != 0 {
		winner = 3 - x.loser()
	}
	return answer{"a": a.degree, "b": b.degree, "relative": x.relative, "winner": side(winner), "can_be_hurt": side(x.hurt())}, nil
}

type givenRanged struct {
	Attacker  person  `json:"attacker"`
	Defender  *person `json:"defender"`
	Aware     bool    `json:"aware"`
	Task      string  `json:"task"`
	RangeMod  int     `json:"range_mod"`
	Kind      string  `json:"weapon_kind"`
	Propelled int     `json:"propelled_penalty"`
}

func vectorRanged(o rules.Options, g givenRanged, d roller) (any, error) {
	if g.Aware {
		return g.aware(o, d)
	}
	if g.RangeMod != 0 {
		if err := inTask("attacker", []Modifier{{Value: g.RangeMod, About: "range"}}); err != nil {
			return nil, err
		}
	}
	e, err := g.Attacker.effort()
	if err != nil {
		return nil, err
	}
	level, err := levelOf("task", g.Task, usualTask)
	if err != nil {
		return nil, err
	}
	job, err := judge(o, "task", e, level)
	if err != nil {
		return nil, err
	}
	if job.hopeless() {
		return answer{"automatic": true, "hit": false}, nil
	}
	r := rolled(o, e, takePair(d))
	hit, relative, critical := job.shot(o, r)
	return answer{"degree": r.degree, "hit": hit, "relative": relative, "critical": or(critical)}, nil
}

func (g givenRanged) aware(o rules.Options, d roller) (any, error) {
	ea, err := g.Attacker.effort()
	if err != nil {
		return nil, err
	}
	if g.Defender == nil {
		g.Defender = &person{}
	}
	eb, err := g.Defender.effort()
	if err != nil {
		return nil, err
	}
	avoid(o, &eb, g.Kind, g.Propelled)
	a := rolled(o, ea, takePair(d))
	b := rolled(o, eb, takePair(d))
	relative := opposed(a, b)
	return answer{"degree": a.degree, "defence": b.effective(), "hit": relative > 0, "relative": relative}, nil
}

type givenMob struct {
	Lone    person   `json:"lone"`
	Foes    []person `json:"foes"`
	MaxFoes int      `json:"max_foes"`
}

func (g givenMob) efforts() (lone effort, foes []effort, err error) {
	if err := reach(len(g.Foes), g.MaxFoes); err != nil {
		return lone, nil, err
	}
	if lone, err = g.Lone.effort(); err != nil {
		return lone, nil, err
	}
	for _, p := range g.Foes {
		e, err := p.effort()
		if err != nil {
			return lone, nil, err
		}
		foes = append(foes, e)
	}
	return lone, foes, nil
}

func vectorLone(o rules.Options, g givenMob, d roller) (any, error) {
	lone, foes, err := g.efforts()
	if err != nil {
		return nil, err
	}
	outnumber(&lone, len(foes))
	a := rolled(o, lone, takePair(d))
	against := []answer{}
	for i, e := range foes {
		b := rolled(o, e, takePair(d))
		x := meet(o, a, b, g.Lone.Stance, g.Foes[i].Stance)
		against = append(against, answer{"foe": b.degree, "relative": x.relative})
	}
	return answer{"lone": a.degree, "effective": a.effective(), "against": against}, nil
}

func vectorGroup(o rules.Options, g givenMob, d roller) (any, error) {
	lone, foes, err := g.efforts()
	if err != nil {
		return nil, err
	}
	group := takePair(d)
	a := rolled(o, lone, takePair(d))
	var results []result
	degrees, relatives := []Level{}, []int{}
	for i, e := range foes {
		b := rolled(o, e, group)
		results = append(results, b)
		degrees = append(degrees, b.degree)
		relatives = append(relatives, meet(o, a, b, g.Lone.Stance, g.Foes[i].Stance).relative)
	}
	doubles := lowDoubles(group, len(foes))
	avoided := doubles && avoids(o, a, results)
	hits := 0
	if doubles && !avoided {
		hits = len(foes)
	}
	return answer{
		"group_levels": group.levels(), "lone": a.degree, "foes": degrees, "relative": relatives,
		"automatic_hits": hits, "avoided": avoided,
	}, nil
}

// anArmour is armour in a vector: a kind, or a value with more.
type anArmour struct{ Armour }

// UnmarshalJSON reads "light" like {"kind":"light"}.
func (a *anArmour) UnmarshalJSON(b []byte) error {
	if jsontext.Value(b).Kind() == '"' {
		return json.Unmarshal(b, &a.Kind)
	}
	return json.Unmarshal(b, &a.Armour, json.RejectUnknownMembers(true))
}

type aWeapon struct {
	Weapon
	MartialArt string `json:"martial_art"`
}

type givenBlow struct {
	Relative int       `json:"relative"`
	Strength string    `json:"strength"`
	Weapon   *aWeapon  `json:"weapon"`
	Armour   *anArmour `json:"armour"`
}

func (g givenBlow) blow() (blow, error) {
	strength, err := traitLevel("strength", g.Strength, Fair)
	b := blow{relative: g.Relative, strength: strength, attacker: big.NewRat(1, 1), target: big.NewRat(1, 1)}
	if g.Weapon != nil {
		b.weapon, b.art = &g.Weapon.Weapon, g.Weapon.MartialArt
	}
	if g.Armour != nil {
		b.armour = &g.Armour.Armour
	}
	return b, err
}

func vectorDamage(o rules.Options, g givenBlow, _ roller) (any, error) {
	b, err := g.blow()
	if err != nil {
		return nil, err
	}
	_, _, points, err := b.through()
	if err != nil {
		return nil, err
	}
	if !b.counts(o, true) {
		return answer{"damage": 0}, nil
	}
	return answer{"damage": number(points)}, nil
}

type givenWound struct {
	HP     string `json:"hp"`
	Points int    `json:"points"`
	Wounds []int  `json:"wounds"`
}

func vectorWound(o rules.Options, g givenWound, _ roller) (any, error) {
	b, err := bodyWith(o, g.HP, g.Points)
	if err != nil {
		return nil, err
	}
	for _, points := range g.Wounds {
		b = wounded(o, b, points)
	}
	row := stageTable[b.stage(o)]
	return answer{"points": b.points(), "stage": row.name, "penalty": row.penalty, "can_act": row.acts}, nil
}

// bodyWith is a body with hit points of a level and points lost.
func bodyWith(o rules.Options, hp string, points int) (*Body, error) {
	level, err := traitLevel("hp", hp, Fair)
	if err != nil {
		return nil, err
	}
	s := &Sheet{HitPoints: level.String()}
	b, _, err := System{}.Create(o, s, false, 0)
	if err != nil {
		return nil, err
	}
	return wounded(o, b.(*Body), points), nil
}

func wounded(o rules.Options, b *Body, points int) *Body {
	e := &events.WoundInflicted{Wound: b.LastWound + 1, Points: points, Level: stageTable[b.track(o).stage(points)].name}
	return System{}.Evolve(o, b, 0, e).(*Body)
}

func vectorConscious(o rules.Options, g struct {
	Constitution string `json:"constitution"`
	Mod          int    `json:"mod"`
}, d roller) (any, error) {
	level, err := traitLevel("constitution", g.Constitution, Fair)
	if err != nil {
		return nil, err
	}
	e := constitution(o, nil, level)
	e.add("as given", g.Mod, "FUDGE-8")
	r := rolled(o, e, takePair(d))
	success, margin, _ := unopposed(o, r, consciousTask)
	return answer{"degree": r.degree, "conscious": success, "margin": margin, "can_fight": stageTable[Disabled].acts}, nil
}

func vectorHeal(o rules.Options, g struct {
	Stage string `json:"stage"`
	Medic person `json:"medic"`
}, d roller) (any, error) {
	stage, known := stageNamed(g.Stage)
	if !known {
		return nil, &rules.Invalid{Field: "stage", Reason: "is no stage: " + g.Stage}
	}
	if stage == Dead {
		return nil, rules.Reject("dead", "FUDGE-53", "the dead are beyond care")
	}
	e, err := g.Medic.effort()
	if err != nil {
		return nil, err
	}
	b, err := bodyWith(o, "", row(o, Fair)[stage])
	if err != nil {
		return nil, err
	}
	r := rolled(o, e, takePair(d))
	c := cared(r.degree, stage)
	return answer{"degree": r.degree, "heals": len(c.wounds(o, b, stage)) > 0, "stops_dying": c.saves}, nil
}

func vectorRest(o rules.Options, g struct {
	HP     string `json:"hp"`
	Points int    `json:"points"`
	Weeks  int64  `json:"weeks"`
	Stage  string `json:"stage"`
}, _ roller) (any, error) {
	b, err := bodyWith(o, g.HP, g.Points)
	if err != nil {
		return nil, err
	}
	for {
		tick, due := System{}.NextTick(o, b)
		if !due || tick.Due > g.Weeks*week {
			break
		}
		b = System{}.Evolve(o, b, tick.Due, decideTick(&rules.Character{Body: b}, tick)).(*Body)
	}
	return answer{"points": b.points(), "stage": stageTable[b.stage(o)].name}, nil
}

// exact is a fraction in a vector: "8/5", or a whole number.
type exact struct{ *big.Rat }

// UnmarshalJSON reads a JSON string or number.
func (e *exact) UnmarshalJSON(b []byte) error {
	text := string(b)
	if jsontext.Value(b).Kind() == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return fmt.Errorf("%s is no fraction", text)
	}
	e.Rat = r
	return nil
}

// number is a fraction as vectors write it.
func number(r *big.Rat) any {
	if r.IsInt() {
		return whole(r)
	}
	return r.RatString()
}

type givenScale struct {
	givenBlow
	ArmourScale string `json:"armour_scale"`
	Attacker    exact  `json:"attacker_unit"`
	Target      exact  `json:"target_unit"`
	Running     exact  `json:"running"`
	HP          string `json:"hp"`
}

func vectorScale(o rules.Options, g givenScale, _ roller) (any, error) {
	b, err := g.blow()
	if err != nil {
		return nil, err
	}
	b.attacker, b.target = g.Attacker.Rat, g.Target.Rat
	if b.armour != nil && g.ArmourScale != "" {
		b.armour.Scale = g.ArmourScale
	}
	_, lesser, points, err := b.through()
	if err != nil {
		return nil, err
	}
	running := new(big.Rat)
	if g.Running.Rat != nil {
		running.Set(g.Running.Rat)
	}
	running.Add(running, points)
	body, err := bodyWith(o, g.HP, int(whole(running)))
	if err != nil {
		return nil, err
	}
	return answer{"damage_lesser": number(lesser), "running": number(running), "points": body.points(), "stage": stageTable[body.stage(o)].name}, nil
}

func vectorScaleMap(_ rules.Options, g struct {
	Own     string `json:"own_level"`
	Human   string `json:"human_level"`
	Convert string `json:"convert"`
}, _ roller) (any, error) {
	var levels [3]Level
	for i, name := range []string{g.Own, g.Human, g.Convert} {
		l, err := levelOf("level", name, Fair)
		if err != nil {
			return nil, err
		}
		levels[i] = l
	}
	offset := scaleOffset(levels[0], levels[1])
	return answer{"offset": offset, "human": int(levels[2]) + offset}, nil
}

// every calls f for all 36 ways two dice fall.
func every(f func(pair)) {
	for first := 1; first <= 6; first++ {
		for second := 1; second <= 6; second++ {
			f(pair{first, second})
		}
	}
}

func vectorProb(o rules.Options, g givenTest, _ roller) (any, error) {
	e, err := g.effort()
	if err != nil {
		return nil, err
	}
	level, err := levelOf("task", g.Task, usualTask)
	if err != nil {
		return nil, err
	}
	n := 0
	every(func(p pair) {
		if success, _, _ := unopposed(o, rolled(o, e, p), level); success {
			n++
		}
	})
	return answer{"of36": n}, nil
}

func vectorOpposedProb(_ rules.Options, g struct {
	Difference int `json:"difference"`
}, _ roller) (any, error) {
	// A difference does not say where on the scale it lies, so no result is
	// beyond it.
	var win, tie, lose int
	every(func(p pair) {
		every(func(q pair) {
			switch relative := g.Difference + p.levels() - q.levels(); {
			case relative > 0:
				win++
			case relative < 0:
				lose++
			default:
				tie++
			}
		})
	})
	return answer{"win_of1296": win, "tie_of1296": tie, "lose_of1296": lose}, nil
}
