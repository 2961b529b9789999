package rpgamix

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// Conform works out a case of the vectors with the functions that decide
// commands.
func (system) Conform(o rules.Options, kind string, given jsontext.Value, dice *rules.Faces) (any, error) {
	work, ok := cases[kind]
	if !ok {
		return nil, fmt.Errorf("rpgamix knows no cases of the kind %q", kind)
	}
	return work(o, given, dice)
}

type worker func(o rules.Options, given jsontext.Value, d *rules.Faces) (any, error)

type object = map[string]any

var cases = map[string]worker{
	"stats": on(caseStats), "points": on(casePoints), "test": on(caseTest), "opposed": on(caseOpposed),
	"attack": on(caseAttack), "range": on(caseRange), "choke": on(caseChoke), "stun": on(caseStun),
	"passout": on(casePassout), "rank": on(caseRank), "exertion": on(caseExertion), "tick": on(caseTick),
	"advance": on(caseAdvance), "strategic": on(caseStrategic), "cast": on(caseCast), "pool": on(casePool),
	"prob": on(caseProb),
}

// on reads what is given before a case is worked out.
func on[T any](work func(o rules.Options, g T, d *rules.Faces) (any, error)) worker {
	return func(o rules.Options, given jsontext.Value, d *rules.Faces) (any, error) {
		var g T
		if err := json.Unmarshal(given, &g, json.RejectUnknownMembers(true)); err != nil {
			return nil, err
		}
		return work(o, g, d)
	}
}

func keys(all []objection) []string {
	return append([]string{}, named(all, objection.key)...)
}

type statsGiven struct {
	Stats    map[string]int `json:"stats"`
	Exchange bool           `json:"exchange"`
}

func (g statsGiven) stats() Stats {
	v := g.Stats
	return Stats{Str: v["STR"], Con: v["CON"], Dex: v["DEX"], Per: v["PER"], Int: v["INT"], Wits: v["WIT"], Cha: v["CHA"], App: v["APP"]}
}

func caseStats(o rules.Options, g statsGiven, _ *rules.Faces) (any, error) {
	total, points, objections := judgeStats(o, g.stats(), g.Exchange)
	return object{"total": total, "skill_points_for_total": points, "valid": len(objections) == 0, "errors": keys(objections)}, nil
}

type pointsGiven struct {
	Points      int            `json:"points"`
	StatTotal   *int           `json:"stat_total"`
	Skills      map[string]int `json:"skills"`
	Backgrounds map[string]int `json:"backgrounds"`
	Disciplines []Learned      `json:"disciplines"`
	FirePool    int            `json:"fire_pool_points"`
	ShowSkills  bool           `json:"show_skills"`
}

func casePoints(o rules.Options, g pointsGiven, _ *rules.Faces) (any, error) {
	s := &Sheet{Points: g.Points, Skills: g.Skills, Backgrounds: g.Backgrounds, Disciplines: g.Disciplines}
	for i := range s.Disciplines {
		if s.Disciplines[i].Name == pyromancy {
			s.Disciplines[i].PoolPoints = g.FirePool
		}
	}
	extra := 0
	if g.StatTotal != nil {
		extra = pointsPerStat * (*g.StatTotal - statBudget)
	}
	r := judgePoints(o, s, extra)
	out := object{"spent": r.spent, "left": r.left, "valid": len(r.objections) == 0, "errors": keys(r.objections)}
	if fire, ok := (&Body{Sheet: s}).pool(o, firePool); ok {
		out["fire_pool_max"] = fire.max
	}
	skills, lore := map[string]int{}, map[string]int{}
	for _, l := range s.Disciplines {
		d, _ := discipline(o, l.Name)
		lore[d.Name] = s.value(o, loreOf(d.Name))
		for _, name := range sorted(d.Grants) {
			skills[name] = s.value(o, name)
		}
	}
	out["skills"], out["lore"] = skills, lore
	return out, nil
}

type testGiven struct {
	Stat       int    `json:"stat"`
	Skill      int    `json:"skill"`
	Rank       string `json:"rank"`
	Difficulty int    `json:"difficulty"`
	Die        int    `json:"die"`
}

func (g testGiven) sum() sum {
	s := sum{sides: 10}
	if g.Die != 0 {
		s.sides = g.Die
	}
	s.plus("Stat", g.Stat, "RPGX-3")
	s.plus("Skill", g.Skill, "RPGX-3")
	if g.Rank != "" {
		s.rank(g.Rank)
	}
	return s
}

func caseTest(o rules.Options, g testGiven, d *rules.Faces) (any, error) {
	total := g.sum().roll(d)
	made := reached(o, Trial{}.tie(), total, g.Difficulty)
	return object{"total": total, "success": made, "success_factor_points": max(1, total-g.Difficulty)}, nil
}

type opposedGiven struct {
	A testGiven `json:"a"`
	B testGiven `json:"b"`
}

func caseOpposed(_ rules.Options, g opposedGiven, d *rules.Faces) (any, error) {
	a := g.A.sum().roll(d)
	b := g.B.sum().roll(d)
	var winner any
	switch verdict(a - b) {
	case "wins":
		winner = "a"
	case "loses":
		winner = "b"
	}
	return object{"a": a, "b": b, "winner": winner, "margin": max(a-b, b-a)}, nil
}

// armed is a weapon in a case: a name of the table, or its numbers.
type armed struct{ jsontext.Value }

func (a *armed) UnmarshalJSON(b []byte) error {
	a.Value = slices.Clone(b)
	return nil
}

func (a armed) weapon(o rules.Options) (Weapon, error) {
	var name string
	if a.Value == nil {
		return Weapon{Name: "weapon"}, nil
	}
	if json.Unmarshal(a.Value, &name) == nil {
		w, ok := printedWeapon(o, name)
		if !ok {
			return w, fmt.Errorf("no weapon is called %q", name)
		}
		return w, nil
	}
	var custom struct {
		Pot   int              `json:"pot"`
		ToHit []jsontext.Value `json:"to_hit"`
	}
	if err := json.Unmarshal(a.Value, &custom, json.RejectUnknownMembers(true)); err != nil {
		return Weapon{}, err
	}
	w := Weapon{Name: "weapon", Potential: custom.Pot}
	if len(custom.ToHit) == 2 {
		return w, json.Unmarshal(custom.ToHit[1], &w.PerMetres)
	}
	return w, nil
}

type attackGiven struct {
	Attacker struct {
		Stat       int    `json:"stat"`
		Skill      int    `json:"skill"`
		Str        int    `json:"str"`
		Weapon     armed  `json:"weapon"`
		Potential  *int   `json:"potential"`
		Rank       string `json:"rank"`
		Aggravated int    `json:"aggravated"`
		Times      int    `json:"aggravated_times"`
	} `json:"attacker"`
	Defender struct {
		Stat        int    `json:"stat"`
		Skill       int    `json:"skill"`
		Weapon      armed  `json:"weapon"`
		Rank        string `json:"rank"`
		Armour      int    `json:"armour"`
		Difficulty  *int   `json:"difficulty"`
		Living      *bool  `json:"living"`
		Unconscious bool   `json:"unconscious"`
	} `json:"defender"`
	Distance *int `json:"distance_cm"`
}

func caseAttack(o rules.Options, g attackGiven, d *rules.Faces) (any, error) {
	a, err := g.onslaught(o)
	if err != nil {
		return nil, err
	}
	guard, err := g.guard(o)
	if err != nil {
		return nil, err
	}
	p, err := a.prepare(o)
	if err != nil {
		return nil, err
	}
	defence, err := guard.prepare(o)
	if err != nil {
		return nil, err
	}
	total := p.roll(d)
	blow := strike(o, total, guard.total(defence, func() dice { return d }), p, guard)
	return struct {
		Blow
		StunRoll bool `json:"stun_roll"`
	}{blow, blow.Hit && guard.living && !guard.helpless}, nil
}

func (g attackGiven) onslaught(o rules.Options) (onslaught, error) {
	x := g.Attacker
	w, err := x.Weapon.weapon(o)
	a := onslaught{
		stat: modifier("Stat", x.Stat, ""), skill: modifier("Skill", x.Skill, ""), strength: x.Str,
		weapon: w, potential: x.Potential, distance: g.Distance, aggravated: x.Aggravated, times: max(1, x.Times),
	}
	if x.Rank != "" {
		a.more.rank(x.Rank)
	}
	return a, err
}

func (g attackGiven) guard(o rules.Options) (guard, error) {
	x := g.Defender
	d := guard{
		helpless: x.Unconscious, difficulty: x.Difficulty, stat: modifier("Stat", x.Stat, ""), skill: modifier("Skill", x.Skill, ""),
		living: x.Living == nil || *x.Living, armour: x.Armour,
	}
	if x.Rank != "" && o.On("rpgamix.health_penalty_on_defence") {
		d.more.rank(x.Rank)
	}
	if x.Weapon.Value == nil {
		return d, nil
	}
	w, err := x.Weapon.weapon(o)
	d.parry = &w
	return d, err
}

type rangeGiven struct {
	Weapon   armed  `json:"weapon"`
	Str      int    `json:"str"`
	Distance *int   `json:"distance_cm"`
	Choked   bool   `json:"choked"`
	To       string `json:"to"` // of a change of grip
}

func caseRange(o rules.Options, g rangeGiven, _ *rules.Faces) (any, error) {
	w, err := g.Weapon.weapon(o)
	if err != nil {
		return nil, err
	}
	if err := w.within(o, g.Str, g.Choked, g.Distance); err != nil {
		return nil, err
	}
	fixed, far := w.toHit(o, g.Distance)
	least, most := w.reach(g.Str, g.Choked)
	return object{"to_hit": fixed + far, "min_cm": least, "max_cm": most, "strength_penalty": w.strengthPenalty(g.Str)}, nil
}

func caseChoke(o rules.Options, g rangeGiven, _ *rules.Faces) (any, error) {
	w, err := g.Weapon.weapon(o)
	if err != nil {
		return nil, err
	}
	if g.To == "" {
		g.To = "choked"
	}
	rounds, least := gripOf(w, g.To)
	return object{"rounds": rounds, "min_cm": least}, nil
}

type bodyGiven struct {
	Con           int    `json:"con"`
	Wits          int    `json:"wits"`
	Damage        int    `json:"damage"`
	DamageInRound int    `json:"damage_in_round"`
	HP            int    `json:"hp"`
	Stabilised    bool   `json:"stabilised"`
	Interval      string `json:"interval"`
	Entry         bool   `json:"entry"`
	Earlier       int    `json:"earlier"`
	Seconds       int64  `json:"seconds"`
	EnteredAgo    int64  `json:"entered_ago"`
}

func (g bodyGiven) body() *Body {
	b := &Body{
		Sheet:  &Sheet{Stats: Stats{Con: g.Con, Wits: g.Wits}, Skills: map[string]int{}, Nature: living},
		Points: g.HP, Stabilised: g.Stabilised,
	}
	b.enter(0)
	b.Since = -g.EnteredAgo
	return b
}

func caseStun(o rules.Options, g bodyGiven, d *rules.Faces) (any, error) {
	total, out := isStunned(o, g.Con, g.Wits, g.Damage, d)
	return object{"total": total, "stunned": out}, nil
}

func casePassout(o rules.Options, g bodyGiven, d *rules.Faces) (any, error) {
	rolled, out := passesOut(o, g.Con, 0, g.DamageInRound, func() dice { return d })
	return object{"roll_needed": rolled, "threshold": passOutThreshold(g.Con), "passed_out": out}, nil
}

func caseRank(_ rules.Options, g bodyGiven, _ *rules.Faces) (any, error) {
	rank := rankOf(g.Con, g.HP)
	out := object{"rank": rank, "penalty": penalties[rank].value, "max": maxPoints(g.Con), "rank_size": rankSize(g.Con)}
	if rank == dead {
		out["penalty"] = nil
	}
	return out, nil
}

func caseExertion(o rules.Options, g bodyGiven, d *rules.Faces) (any, error) {
	difficulty := conDifficulty
	if !g.Entry {
		rolled := g.Earlier
		if o.On("rpgamix.exertion_counts_entry") {
			rolled++
		}
		difficulty = exertionDifficulty(rolled)
	}
	return object{"difficulty": difficulty, "conscious": stayAwake(o, g.Con, difficulty, d)}, nil
}

func caseTick(o rules.Options, g bodyGiven, d *rules.Faces) (any, error) {
	b := g.body()
	if b.rank() == dead {
		return nil, rules.Reject(dead, "RPGX-37", "the dead neither heal nor worsen")
	}
	for l := range lines(o, b.rank(), b.Stabilised) {
		if l.interval != g.Interval {
			continue
		}
		change, _, _, rolled := l.apply(o, g.Con, b.max()-b.Points, d)
		return object{"hp": g.HP + change, "rank": rankOf(g.Con, g.HP+change), "rolled": rolled}, nil
	}
	return nil, rules.Reject("no_such_interval", "RPGX-38", "%s health has no check of the %s", b.rank(), g.Interval)
}

// caseAdvance lets time pass over the health table alone: nobody falls
// unconscious in it.
func caseAdvance(o rules.Options, g bodyGiven, d *rules.Faces) (any, error) {
	b, changes := g.body(), [][]any{}
	for {
		tick, ok := system{}.NextTick(o, b)
		if !ok || tick.Due > g.Seconds {
			break
		}
		change, _, _, rolled := b.line(o, tick.Kind).apply(o, g.Con, b.max()-b.Points, d)
		b = system{}.Evolve(o, b, tick.Due, &events.TickProcessed{Kind: tick.Kind, Due: tick.Due, Rolled: rolled, Change: change}).(*Body)
		if change != 0 {
			changes = append(changes, []any{tick.Due, tick.Kind, change, b.Points})
		}
	}
	state := b.rank()
	if !b.hurt() {
		state = "recovered"
	}
	return object{"hp": b.Points, "state": state, "changes": changes}, nil
}

type strategicGiven struct {
	Attack        int    `json:"attack"`
	Defence       int    `json:"defence"`
	Use           string `json:"use"`
	Split         [2]int `json:"split"`
	AttackerRange int    `json:"attacker_range_cm"`
	DefenderRange int    `json:"defender_range_cm"`
	MoveNeeded    int    `json:"move_needed"`
	DefenderMove  int    `json:"defender_move_left"`
	AttackerMove  int    `json:"attacker_move_left"`
}

func caseStrategic(_ rules.Options, g strategicGiven, _ *rules.Faces) (any, error) {
	won := excess(g.Attack, g.Defence)
	out := object{"warded": won > 0, "excess": won, "next_attack": 0, "next_defence": 0}
	if g.Use == "slip_inside" {
		out["attacker_blocked_until"] = "attacker's next turn"
		return out, slip(g.DefenderRange, g.AttackerRange, Movement{Needed: g.MoveNeeded, Defender: g.DefenderMove, Attacker: g.AttackerMove})
	}
	attack, defence, err := share(g.Use, won, g.Split)
	out["next_attack"], out["next_defence"] = attack, defence
	return out, err
}

type castGiven struct {
	Spell       string         `json:"spell"`
	Size        jsontext.Value `json:"size"` // "match", or metres
	Material    string         `json:"material"`
	Skill       int            `json:"skill"`
	Stat        int            `json:"stat"`
	Spend       int            `json:"spend"`
	Pool        int            `json:"pool"`
	LineOfSight *bool          `json:"line_of_sight"`
}

func caseCast(o rules.Options, g castGiven, d *rules.Faces) (any, error) {
	c := Cast{Material: g.Material, LineOfSight: g.LineOfSight}
	c.Spell, c.Aim, _ = strings.Cut(strings.TrimSuffix(g.Spell, ")"), " (")
	if c.Match = string(g.Size) == `"match"`; !c.Match {
		metres, ok := new(big.Rat).SetString(string(g.Size))
		if !ok {
			return nil, fmt.Errorf("size %s is no number", g.Size)
		}
		cm := metres.Mul(metres, big.NewRat(100, 1))
		if !cm.IsInt() {
			return nil, fmt.Errorf("size %s is no whole number of centimetres", g.Size)
		}
		c.Diameter = int(cm.Num().Int64())
	}
	_, difficulty, err := c.difficulty()
	if err != nil {
		return nil, err
	}
	if err := enough(g.Pool, g.Spend, firePool, "RPGX-77", "spend"); err != nil {
		return nil, err
	}
	total, made := kindle(o, testGiven{Stat: g.Stat, Skill: g.Skill}.sum(), g.Spend, difficulty, d)
	out := object{"difficulty": difficulty.num, "total": total, "success": made, "pool": g.Pool - g.Spend}
	if exact := difficulty.exact(); exact != "" {
		out["difficulty"] = exact
	}
	return out, nil
}

type poolGiven struct {
	Pool   int  `json:"pool"`
	Max    int  `json:"max"`
	Nights int  `json:"nights"`
	Diet   bool `json:"meat_and_liquor"`
}

func casePool(o rules.Options, g poolGiven, _ *rules.Faces) (any, error) {
	d, _ := discipline(o, pyromancy)
	return object{"pool": filled{Pool: *d.Pool, max: g.Max}.slept(g.Pool, g.Nights, g.Diet)}, nil
}

type probGiven struct {
	Difference int `json:"difference"`
}

// caseProb counts all pairs of faces of attacker and defender (RPGX-92).
func caseProb(o rules.Options, g probGiven, _ *rules.Faces) (any, error) {
	count := map[string]int{}
	for a := range 10 {
		for b := range 10 {
			count[strike(o, a+g.Difference, b, prepared{}, guard{}).outcome()]++
		}
	}
	return object{"damage_of100": count["hit"], "touch_of100": count["touch"], "no_hit_of100": count["miss"]}, nil
}
