package perp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Conform works out a vector with the functions that decide commands.
func (System) Conform(o rules.Options, kind string, given jsontext.Value, faces *rules.Faces) (any, error) {
	work, known := kinds[kind]
	if !known {
		return nil, fmt.Errorf("perp has no vectors of the kind %q", kind)
	}
	return work(o, given, faces)
}

type conforming func(o rules.Options, given jsontext.Value, faces *rules.Faces) (any, error)

// kinds of vectors.
var kinds = map[string]conforming{
	"chargen":     kind(conformChargen),
	"skill_value": kind(conformSkill),
	"test":        kind(conformTest),
	"opposed":     kind(conformOpposed),
	"melee":       kind(conformMelee),
	"gang":        kind(conformGang),
	"missile":     kind(conformMissile),
	"volley":      kind(conformVolley),
	"armour":      kind(conformArmour),
	"wound":       kind(conformWound),
	"bleed":       kind(conformBleed),
	"heal":        kind(conformHeal),
	"prob":        kind(conformChance),
	"oprob":       kind(conformOdds),
}

func kind[T any](work func(rules.Options, *T, *rules.Faces) (any, error)) conforming {
	return func(o rules.Options, given jsontext.Value, faces *rules.Faces) (any, error) {
		g := new(T)
		if err := json.Unmarshal(given, g, json.RejectUnknownMembers(true)); err != nil {
			return nil, err
		}
		return work(o, g, faces)
	}
}

// shown rolls by the faces of a vector.
type shown struct{ faces *rules.Faces }

func (d shown) roll(_ *fighter, _ string, dice int, mods []events.Modifier) *rolled {
	total := sum(mods)
	for range dice {
		total += d.faces.Die(10)
	}
	return &rolled{total: total}
}

// side is a fighter in a vector.
type side struct {
	Traits       []named `json:"traits"`
	Skills       []named `json:"skills"`
	Mod          int     `json:"mod"`
	Weapon       string  `json:"weapon"`
	Shield       bool    `json:"shield"`
	Parry        bool    `json:"parry"`
	ParryTraits  []named `json:"parry_traits"`
	DamageTraits []named `json:"damage_traits"`
	DamageSkills []named `json:"damage_skills"`
	SoakTraits   []named `json:"soak_traits"`
	Armour       string  `json:"armour"`
}

func (s side) fighter(at reach) (*fighter, error) {
	f := &fighter{
		traits: s.Traits, skills: s.Skills, shield: s.Shield, parry: s.Parry,
		parryTraits: s.ParryTraits, damageTraits: s.DamageTraits, damageSkills: s.DamageSkills, soakTraits: s.SoakTraits,
	}
	if s.Mod != 0 {
		f.mods = []events.Modifier{{Label: "situation", Value: s.Mod, Rule: "PERP-1"}}
	}
	weapon, no := new(Sheet).arms(new(Setting), s.Weapon, at)
	if no != nil && s.Weapon != "" {
		return nil, no
	}
	f.weapon = weapon // none where none is named
	if _, ok := protection[cmp.Or(s.Armour, "none")]; !ok {
		return nil, rules.Reject("unknown_armour", "PERP-45", "%s is no armour that the book names", s.Armour)
	}
	f.armour = (&Body{Armour: cmp.Or(s.Armour, "none")}).armour()
	return f, f.lawful()
}

func pair(a, b side, at reach) (*fighter, *fighter, error) {
	fa, err := a.fighter(at)
	if err != nil {
		return nil, nil, err
	}
	fb, err := b.fighter(anyReach)
	return fa, fb, err
}

type givenChargen struct {
	Positive map[string]int           `json:"positive"`
	Negative map[string]int           `json:"negative"`
	Skills   map[string]skillInVector `json:"skills"`
	Zero     []string                 `json:"zero"`
	Unlearnt map[string]int           `json:"negative_skills"`
	HP       int                      `json:"hp"`
	Budget   struct {
		Skills *int `json:"skills"`
	} `json:"budget"`
}

// skillInVector is a skill, or its points alone.
type skillInVector Skill

func (s *skillInVector) UnmarshalJSON(raw []byte) error {
	if jsontext.Value(raw).Kind() == '0' {
		return json.Unmarshal(raw, &s.Points)
	}
	return json.Unmarshal(raw, (*Skill)(s), json.RejectUnknownMembers(true))
}

func conformChargen(o rules.Options, g *givenChargen, _ *rules.Faces) (any, error) {
	s := &Sheet{Traits: map[string]int{}, Skills: map[string]Skill{}, HitPoints: g.HP}
	maps.Copy(s.Traits, g.Positive)
	maps.Copy(s.Traits, g.Negative)
	for name, k := range g.Skills {
		s.Skills[name] = Skill(k)
	}
	for _, name := range g.Zero {
		s.Skills[name] = Skill{}
	}
	for name, points := range g.Unlearnt {
		s.Skills[name] = Skill{Points: points}
	}
	if g.Budget.Skills != nil {
		var err error
		if o, err = with(o, "perp.skill_points", fmt.Sprint(*g.Budget.Skills)); err != nil {
			return nil, err
		}
	}
	codes := []string{}
	if err := s.check(); err != nil {
		codes = append(codes, "sheet")
	}
	for _, wrong := range s.objections(o) {
		codes = append(codes, wrong.code)
	}
	slices.Sort(codes)
	spent, _ := s.skillPoints()
	return map[string]any{
		"valid": len(codes) == 0, "errors": slices.Compact(codes), "skill_points_spent": spent,
		"specializable_skills": o.Int("perp.skill_points") / pointsPerSpecialist,
	}, nil
}

// with is the options with another value for one of them.
func with(o rules.Options, name, value string) (rules.Options, error) {
	values := o.Values()
	values[name] = value
	asked := map[string]jsontext.Value{}
	for n, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return o, err
		}
		asked[n] = raw
	}
	return rules.Resolve(System{}, asked)
}

type givenSkill struct {
	Skill Skill  `json:"skill"`
	Use   string `json:"use"`
}

func conformSkill(o rules.Options, g *givenSkill, _ *rules.Faces) (any, error) {
	value, _, known := g.Skill.in(o, g.Use)
	return map[string]any{"value": value, "counts_for_closed_test": known}, nil
}

type givenTest struct {
	side
	Target *int     `json:"target"`
	Closed *Closed  `json:"closed"`
	Known  []string `json:"known"`
	Tools  []string `json:"tools"`
}

func conformTest(o rules.Options, g *givenTest, faces *rules.Faces) (any, error) {
	f, err := g.fighter(anyReach)
	if err == nil {
		err = lawfulTest(f, g.Closed, g.Known, g.Tools)
	}
	if err != nil {
		return nil, err
	}
	return test(o, shown{faces}, f, "test", g.Target), nil
}

type givenPair struct {
	A side `json:"a"`
	B side `json:"b"`
}

func conformOpposed(o rules.Options, g *givenPair, faces *rules.Faces) (any, error) {
	a, b, err := pair(g.A, g.B, anyReach)
	if err != nil {
		return nil, err
	}
	ra, rb, winner, margin := opposed(o, shown{faces}, a, b, "opposed test")
	return map[string]any{"a": ra.total, "b": rb.total, "winner": sideOf(winner, "a", "b"), "margin": margin}, nil
}

// sideOf names the side that won, or nobody.
func sideOf(winner int, first, second string) any {
	return map[int]any{1: first, -1: second, 0: nil}[winner]
}

func conformMelee(o rules.Options, g *givenPair, faces *rules.Faces) (any, error) {
	a, b, err := pair(g.A, g.B, handToHand)
	if err != nil {
		return nil, err
	}
	x := melee(o, shown{faces}, a, b, nil)
	return map[string]any{
		"a": x.a, "b": x.b, "winner": sideOf(x.winner, "a", "b"), "margin": x.margin,
		"damage": x.points, "damage_to": x.hurts("a", "b"),
	}, nil
}

// hurts names the side that was hurt, or nobody.
func (x exchange) hurts(a, b string) any {
	if x.points == 0 {
		return nil
	}
	return sideOf(-x.winner, a, b)
}

type givenGang struct {
	Mode      string `json:"mode"`
	Lone      side   `json:"lone"`
	Attackers []side `json:"attackers"`
	Split     []int  `json:"split"`
}

func conformGang(o rules.Options, g *givenGang, faces *rules.Faces) (any, error) {
	if g.Mode != "" {
		var err error
		if o, err = with(o, "perp.gang_mode", g.Mode); err != nil {
			return nil, err
		}
	}
	lone, err := g.Lone.fighter(handToHand)
	if err != nil {
		return nil, err
	}
	group := make([]*fighter, len(g.Attackers))
	for i, a := range g.Attackers {
		if group[i], err = a.fighter(handToHand); err != nil {
			return nil, err
		}
	}
	if err := lawfulGang(o, group, lone); err != nil {
		return nil, err
	}
	if o.Is("perp.gang_mode", "brutal") {
		return conformBrutal(o, g, group, lone, faces)
	}
	total, pairs := 0, []any{}
	for _, x := range pairings(o, shown{faces}, group, lone, 0) {
		pairs = append(pairs, map[string]any{"attacker": x.a, "lone": x.b, "damage": x.points, "to": x.hurts("attacker", "lone")})
		if x.winner == 1 {
			total += x.points
		}
	}
	return map[string]any{"damage_to_lone": total, "pairings": pairs}, nil
}

func conformBrutal(o rules.Options, g *givenGang, group []*fighter, lone *fighter, faces *rules.Faces) (any, error) {
	x := brutal(o, shown{faces}, group, lone)
	out := map[string]any{
		"group": x.group, "lone": x.lone, "winner": sideOf(x.winner, "group", "lone"), "margin": x.margin,
		"weapon_class": x.weapon.name, "damage": x.points,
	}
	if x.winner != -1 || g.Split == nil {
		return out, nil
	}
	if err := lawfulSplit(x.points, g.Split); err != nil {
		return nil, err
	}
	each := make([]int, len(group))
	for i, f := range group[:min(len(group), len(g.Split))] {
		each[i], _ = f.suffer(g.Split[i], -sum(f.toughness()))
	}
	out["each"] = each
	return out, nil
}

type givenMissile struct {
	Attacker side   `json:"attacker"`
	Defender side   `json:"defender"`
	Cover    *Cover `json:"cover"`
}

func conformMissile(o rules.Options, g *givenMissile, faces *rules.Faces) (any, error) {
	a, b, err := pair(g.Attacker, g.Defender, afar)
	if err != nil {
		return nil, err
	}
	mods, err := lawfulShot(a, b, g.Cover)
	if err != nil {
		return nil, err
	}
	s := fire(o, shown{faces}, a, b, mods, nil)
	return map[string]any{"attack": s.attack, "defence": s.defence, "hit": s.hit, "margin": s.margin, "damage": s.points}, nil
}

type givenVolley struct {
	Attacker side            `json:"attacker"`
	Rate     int             `json:"rof"`
	Shots    []string        `json:"shots"`
	Targets  map[string]side `json:"targets"`
}

func conformVolley(o rules.Options, g *givenVolley, faces *rules.Faces) (any, error) {
	a, err := g.Attacker.fighter(afar)
	if err != nil {
		return nil, err
	}
	targets := map[string]aimed{}
	for _, name := range sorted(g.Targets) {
		b, err := g.Targets[name].fighter(anyReach)
		if err != nil {
			return nil, err
		}
		mods, err := lawfulShot(a, b, nil)
		if err != nil {
			return nil, err
		}
		targets[name] = aimed{b, mods}
	}
	shots, penalty, err := aim(max(1, g.Rate), g.Shots, targets)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for i, s := range burst(o, shown{faces}, a, shots, penalty) {
		out = append(out, map[string]any{"target": g.Shots[i], "attack": s.attack, "defence": s.defence, "hit": s.hit, "damage": s.points})
	}
	return map[string]any{"penalty": sum(penalty), "shots": out}, nil
}

type givenArmour struct {
	Armour  string `json:"armour"`
	Powered bool   `json:"powered"`
	Roll    string `json:"roll"`
}

func conformArmour(o rules.Options, g *givenArmour, _ *rules.Faces) (any, error) {
	if _, ok := protection[g.Armour]; !ok {
		return nil, rules.Reject("unknown_armour", "PERP-45", "%s is no armour that the book names", g.Armour)
	}
	b := &Body{Armour: g.Armour, Powered: g.Powered}
	modifier := 0
	for _, t := range b.about(o, []string{g.Roll}) {
		modifier += t.Value
	}
	return map[string]any{"protection": b.armour().Value, "modifier": modifier}, nil
}

// states are the vectors' words for a rank.
func (b *Body) state() string {
	if rank := b.rank(); rank == Unconscious || rank == Dead {
		return rank
	}
	return "awake"
}

// standingAt is a body with so many of its hit points left at the beginning of
// the game.
func standingAt(hp, most int, traits []named) *Body {
	s := &Sheet{Traits: map[string]int{}, HitPoints: max(most, hp)}
	for _, t := range traits {
		s.Traits[t.Name] = t.Value
		s.Healing = append(s.Healing, t.Name)
	}
	b := &Body{Sheet: s, HP: s.HitPoints, Armour: "none"}
	b.settle(hp, 0)
	return b
}

type givenWound struct {
	HP     int `json:"hp"`
	Damage int `json:"damage"`
}

func conformWound(o rules.Options, g *givenWound, _ *rules.Faces) (any, error) {
	if g.Damage < 0 {
		return nil, rules.Reject("negative_damage", "PERP-41", "damage is never below zero")
	}
	var body rules.Body = standingAt(g.HP, g.HP, nil)
	if !body.(*Body).alive() {
		return nil, rules.Reject("dead", "PERP-50", "the dead are past wounds")
	}
	body = New().Evolve(o, body, 0, &events.WoundInflicted{Points: g.Damage})
	return map[string]any{"hp": body.(*Body).HP, "state": body.(*Body).state()}, nil
}

type givenBleed struct {
	HP      int `json:"hp"`
	Minutes int `json:"minutes"`
}

func conformBleed(o rules.Options, g *givenBleed, faces *rules.Faces) (any, error) {
	var body rules.Body = standingAt(g.HP, max(1, g.HP), nil)
	if !body.(*Body).alive() {
		return nil, rules.Reject("dead", "PERP-50", "the dead bleed no more")
	}
	thrown := 0
	for {
		tick, due := New().NextTick(o, body)
		if !due || tick.Kind != bleeding || tick.Due > int64(g.Minutes)*minute {
			break
		}
		lost := bleedOut(faces)
		thrown++
		body = New().Evolve(o, body, tick.Due, &events.TickProcessed{Kind: tick.Kind, Due: tick.Due, Change: -lost})
	}
	return map[string]any{"hp": body.(*Body).HP, "state": body.(*Body).state(), "minutes_rolled": thrown}, nil
}

type givenHeal struct {
	HP     int     `json:"hp"`
	Max    int     `json:"max"`
	Traits []named `json:"traits"`
	Medic  *struct {
		Trained bool    `json:"has_medical_skill"`
		Tools   bool    `json:"tools"`
		Skill   int     `json:"skill"`
		Traits  []named `json:"traits"`
	} `json:"medic"`
}

// conformHeal is one week: natural healing, and tending if there is a medic.
func conformHeal(o rules.Options, g *givenHeal, faces *rules.Faces) (any, error) {
	if g.HP > g.Max {
		return nil, rules.Reject("hp_over_maximum", "PERP-53", "%d hit points of %d", g.HP, g.Max)
	}
	b := standingAt(g.HP, g.Max, g.Traits)
	if !b.alive() {
		return nil, rules.Reject("dead", "PERP-50", "the dead do not heal")
	}
	medic := &fighter{}
	if g.Medic != nil {
		medic.skills = []named{{Name: "medical skill", Value: g.Medic.Skill, Kind: kindMedical}}
		medic.traits = g.Medic.Traits
		if err := lawfulTending(o, medic, g.Medic.Trained, g.Medic.Tools); err != nil {
			return nil, err
		}
	}
	mods := 0
	for _, t := range g.Traits {
		mods += t.Value
	}
	natural, points := naturally(faces, mods), 0
	out := map[string]any{"natural": natural}
	if g.Medic != nil {
		var result int
		result, points = tend(shown{faces}, medic, g.Traits)
		out["medical_result"], out["medical"] = result, points
	}
	out["hp"] = b.HP + b.regain(natural, points)
	return out, nil
}

type givenChance struct {
	Target int `json:"target"`
	Mod    int `json:"mod"`
}

func conformChance(o rules.Options, g *givenChance, _ *rules.Faces) (any, error) {
	n := 0
	for face := 1; face <= 10; face++ {
		if above(o, face+g.Mod, g.Target) {
			n++
		}
	}
	return map[string]any{"of10": n}, nil
}

type givenOdds struct {
	Difference int `json:"difference"`
}

func conformOdds(_ rules.Options, g *givenOdds, _ *rules.Faces) (any, error) {
	count := map[int]int{}
	for a := 1; a <= 10; a++ {
		for b := 1; b <= 10; b++ {
			winner, _ := compare(a+g.Difference, b)
			count[winner]++
		}
	}
	return map[string]any{"a_of100": count[1], "tie_of100": count[0], "b_of100": count[-1]}, nil
}
