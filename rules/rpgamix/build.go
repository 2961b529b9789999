package rpgamix

import (
	"fmt"
	"slices"
	"strings"

	"tallystick/rules"
)

// objection is something the rules of creation do not allow.
type objection struct {
	code   string
	about  string // the name it is about, if any
	rule   string
	field  string
	reason string
}

// key is the objection in one word: total_over, not_permitted:Surgery.
func (x objection) key() string {
	if x.about == "" {
		return x.code
	}
	return x.code + ":" + x.about
}

// refuse puts all objections into one rejection, which has the code of the
// first.
func refuse(all []objection) error {
	if len(all) == 0 {
		return nil
	}
	var each []rules.Rejection
	var reasons []string
	for i, x := range all {
		each = append(each, rules.Rejection{Code: x.code, Rule: x.rule, Field: x.field, Reason: x.reason})
		if i > 0 {
			x.reason = x.rule + ": " + x.reason
		}
		reasons = append(reasons, x.reason)
	}
	no := each[0]
	if len(each) > 1 {
		no.Reason, no.Each = strings.Join(reasons, "; "), each
	}
	return &no
}

// statBudget is "the total cost of these Stats" (RPGX-54).
const statBudget = 2

// pointsPerStat is what a point of a stat is worth in skill points (RPGX-57).
const pointsPerStat = 5

// judgeStats holds eight stats against the budget and the bounds. With
// exchange a sum other than 2 is paid for in skill points, or gives some.
func judgeStats(o rules.Options, s Stats, exchange bool) (total, skillPoints int, all []objection) {
	for _, st := range statNames {
		total += s.of(st.key)
	}
	switch {
	case exchange:
		skillPoints = pointsPerStat * (total - statBudget)
	case total > statBudget:
		all = append(all, objection{code: "total_over", rule: "RPGX-54", field: "sheet.stats", reason: fmt.Sprintf("the stats sum to %d, which is %d over %d", total, total-statBudget, statBudget)})
	case total < statBudget:
		all = append(all, objection{code: "total_under", rule: "RPGX-54", field: "sheet.stats", reason: fmt.Sprintf("the stats sum to %d, which is %d under %d", total, statBudget-total, statBudget)})
	}
	for _, st := range statNames {
		n := s.of(st.key)
		switch {
		case n > 5 && !(exchange && o.On("rpgamix.stat_cap_by_points")):
			all = append(all, objection{code: "stat_over_5", rule: "RPGX-55", field: "sheet.stats." + st.key, reason: fmt.Sprintf("%s is %d: no stat is above 5 at this stage", st.label, n)})
		case n < -5:
			all = append(all, lowStat(st.key, n))
		}
	}
	return total, skillPoints, all
}

func lowStat(key string, n int) objection {
	return objection{code: "stat_under_-5", rule: "RPGX-55", field: "sheet.stats." + key, reason: fmt.Sprintf("%s is %d: no stat is below -5", statLabel(key), n)}
}

// reckoning is what a character costs.
type reckoning struct {
	spent, left int
	objections  []objection
}

func (r *reckoning) object(code, about, rule, field, format string, a ...any) {
	r.objections = append(r.objections, objection{code: code, about: about, rule: rule, field: field, reason: fmt.Sprintf(format, a...)})
}

// judge holds a whole sheet against the rules of creation (RPGX-54 to RPGX-65).
func judge(o rules.Options, s *Sheet) reckoning {
	_, extra, objections := judgeStats(o, s.Stats, s.Exchange)
	r := judgePoints(o, s, extra)
	r.objections = append(objections, r.objections...)
	return r
}

// judgePoints adds up what is bought with the pool of points: skills,
// disciplines, backgrounds, and stats beyond their own budget.
func judgePoints(o rules.Options, s *Sheet, extra int) reckoning {
	r := reckoning{spent: extra}
	budget := o.Int("rpgamix.creation_points")
	switch {
	case budget == 0:
		budget = s.Points
	case s.Points != 0 && s.Points != budget:
		r.object("points_fixed", "", "RPGX-58", "sheet.points", "characters of this campaign are built with %d points, not %d", budget, s.Points)
	}
	r.disciplines(o, s)
	r.skills(o, s)
	r.backgrounds(o, s)
	for _, name := range sorted(s.Pools) {
		r.object("pool_not_bought", name, "RPGX-62", "sheet.pools", "no discipline sets the variable %s: it cannot be bought", name)
	}
	r.left = budget - r.spent
	if r.left < 0 {
		r.object("points_over", "", "RPGX-58", "sheet.points", "%d points are spent, and there are %d", r.spent, budget)
	}
	return r
}

func (r *reckoning) disciplines(o rules.Options, s *Sheet) {
	for _, l := range s.Disciplines {
		d, ok := discipline(o, l.Name)
		if !ok {
			r.object("unknown_discipline", l.Name, "RPGX-59", "sheet.disciplines", "nothing is known of a discipline %s: the campaign's setting has to describe it", l.Name)
			continue
		}
		cost, bad := d.cost(l)
		r.objections = append(r.objections, bad...)
		r.spent += cost + l.PoolPoints
		if l.PoolPoints > 0 && d.Pool == nil {
			r.object("no_pool", l.Name, "RPGX-62", "sheet.disciplines", "the discipline %s has no pool to put points into", l.Name)
		}
		for _, needed := range s.missing(o, d) {
			r.object("missing_prerequisite", l.Name, "RPGX-60", "sheet.disciplines", "%s takes %s first", l.Name, needed)
		}
	}
}

// missing are the disciplines that have to be learned before another (RPGX-60):
// all that it requires, or any one that permits it.
func (s *Sheet) missing(o rules.Options, d Discipline) []string {
	var permitting, missing []string
	for other := range library(o) {
		if !contains(other.Disciplines, d.Name) {
			continue
		}
		if s.learned(other.Name) {
			return nil
		}
		permitting = append(permitting, other.Name)
	}
	for _, needed := range d.Requires {
		if !s.learned(needed) {
			missing = append(missing, needed)
		}
	}
	if len(d.Requires) == 0 && len(permitting) > 0 {
		return []string{strings.Join(permitting, " or ")}
	}
	return missing
}

// cost is the price of a discipline as bought (RPGX-59).
func (d Discipline) cost(l Learned) (int, []objection) {
	switch {
	case l.Cost == nil && len(d.Costs) == 1:
		return d.Costs[0], nil
	case l.Cost == nil:
		return 0, []objection{{code: "discipline_cost_unknown", about: l.Name, rule: "RPGX-59", field: "sheet.disciplines", reason: fmt.Sprintf("the price of %s is not fixed: it has to be given", l.Name)}}
	case len(d.Costs) > 0 && !slices.Contains(d.Costs, *l.Cost):
		return *l.Cost, []objection{{code: "discipline_cost", about: l.Name, rule: "RPGX-59", field: "sheet.disciplines", reason: fmt.Sprintf("%s does not cost %d", l.Name, *l.Cost)}}
	}
	return *l.Cost, nil
}

func (r *reckoning) skills(o rules.Options, s *Sheet) {
	for _, name := range sorted(s.Skills) {
		r.spent += s.Skills[name]
		if s.Skills[name] > 0 && s.restricted(o, name, Discipline.skillsPermitted) {
			r.object("not_permitted", name, "RPGX-59", "sheet.skills", "the skill %s takes a discipline that permits it", name)
		}
	}
}

func (r *reckoning) backgrounds(o rules.Options, s *Sheet) {
	for _, name := range sorted(s.Backgrounds) {
		price := s.Backgrounds[name]
		r.spent += price
		switch fixed, ok := fixedPrice(o, name); {
		case fold(name) == fold(mentor) && len(s.Disciplines) == 0,
			s.restricted(o, name, Discipline.backgroundsPermitted):
			r.object("not_permitted", name, "RPGX-65", "sheet.backgrounds", "the background %s takes a discipline that brings it", name)
		case ok && price != fixed:
			r.object("background_cost", name, "RPGX-64", "sheet.backgrounds", "the background %s costs %d, not %d", name, fixed, price)
		case price != 0 && s.comesFree(o, name):
			r.object("background_cost", name, "RPGX-89", "sheet.backgrounds", "the background %s comes free with its discipline", name)
		}
	}
}

func loreOf(discipline string) string { return "Lore: " + discipline }

func (d Discipline) skillsPermitted() []string {
	return append(slices.Clone(d.Permits), loreOf(d.Name))
}

func (d Discipline) backgroundsPermitted() []string {
	return append(slices.Clone(d.Backgrounds), d.Free...)
}

func (s *Sheet) learned(name string) bool {
	return slices.ContainsFunc(s.Disciplines, func(l Learned) bool { return fold(l.Name) == fold(name) })
}

func (s *Sheet) comesFree(o rules.Options, name string) bool {
	return slices.ContainsFunc(s.Disciplines, func(l Learned) bool {
		d, _ := discipline(o, l.Name)
		return contains(d.Free, name)
	})
}

func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return fold(x) == fold(name) })
}

// restricted reports whether a skill or background belongs to disciplines, and
// the character has learned none of them (RPGX-59, RPGX-65, RPGX-90).
func (s *Sheet) restricted(o rules.Options, name string, permitted func(Discipline) []string) bool {
	belongs := false
	for d := range library(o) {
		if !contains(permitted(d), name) {
			continue
		}
		if s.learned(d.Name) {
			return false
		}
		belongs = true
	}
	return belongs
}

// loreGranted by every discipline (RPGX-61).
const loreGranted = 2

// value is a skill: the points bought and what disciplines bring.
func (s *Sheet) value(o rules.Options, name string) int {
	sum := 0
	for _, skill := range sorted(s.Skills) {
		if fold(skill) == fold(name) {
			sum += s.Skills[skill]
		}
	}
	for _, l := range s.Disciplines {
		d, ok := discipline(o, l.Name)
		if !ok {
			continue
		}
		for _, skill := range sorted(d.Grants) {
			if fold(skill) == fold(name) {
				sum += d.Grants[skill]
			}
		}
		if fold(loreOf(d.Name)) == fold(name) {
			sum += loreGranted
		}
	}
	return sum
}

// skill is the value of a skill for a roll. One that was never learned counts
// 0, unless it can only be learned in a discipline (RPGX-59).
func (b *Body) skill(o rules.Options, c *rules.Character, field, name string) (int, error) {
	if err := rules.CheckName(name); err != nil {
		return 0, &rules.Invalid{Field: field, Reason: err.Error()}
	}
	value := b.Sheet.value(o, name)
	if value == 0 && b.Sheet.restricted(o, name, Discipline.skillsPermitted) {
		return 0, rules.Reject("skill_not_learned", "RPGX-59", "%s has not learned %s, which takes a discipline", c.Name, name).On(field)
	}
	return value, nil
}

// technique finds what a skill of a fighting discipline does for a character.
// Several disciplines may have the same skill (RPGX-90): one that was learned
// goes before one that was not, and among those one that serves the purpose.
func (s *Sheet) technique(o rules.Options, skill string, serves func(Technique) bool) (Technique, bool) {
	best, found, rank := Technique{}, false, -1
	for d := range library(o) {
		for _, x := range d.Techniques {
			if fold(x.Skill) != fold(skill) {
				continue
			}
			n := 0
			if s.learned(d.Name) {
				n += 2
			}
			if serves(x) {
				n++
			}
			if n > rank {
				best, found, rank = x, true, n
			}
		}
	}
	return best, found
}

// filled is a pool of a character: how much it can hold, and what is in it at
// first.
type filled struct {
	Pool
	max, first int
}

// with is the pool with what a discipline brings to it.
func (p filled) with(x Pool, points int) filled {
	p.max += points
	if !x.Empty {
		p.first += points
	}
	p.Empty = p.Empty && x.Empty
	p.Night, p.Diet = max(p.Night, x.Night), max(p.Diet, x.Diet)
	return p
}

// set is the pool with a greatest level that the sheet says.
func (p filled) set(level int) filled {
	p.max, p.first = level, level
	if p.Empty {
		p.first = 0
	}
	return p
}

// slept is what is in the pool after nights of deep sleep (RPGX-76).
func (p filled) slept(have, nights int, diet bool) int {
	each := p.Night
	if diet {
		each = max(p.Night, p.Diet)
	}
	return max(have, min(p.max, have+each*nights))
}

// pools of a character: those of disciplines, then those on the sheet.
// Disciplines that call their pool by the same name share one (RPGX-62): what
// they bring adds up, and a night gives as much as the best of them.
func (b *Body) pools(o rules.Options) []filled {
	var out []filled
	at := func(p Pool) *filled {
		i := slices.IndexFunc(out, func(had filled) bool { return fold(had.Name) == fold(p.Name) })
		if i < 0 {
			out, i = append(out, filled{Pool: p}), len(out)
		}
		return &out[i]
	}
	for _, l := range b.Sheet.Disciplines {
		d, _ := discipline(o, l.Name)
		if d.Pool != nil {
			p := at(*d.Pool)
			*p = p.with(*d.Pool, d.Pool.Start+b.Sheet.invested(o, d, l)/d.Pool.Price)
		}
	}
	for _, name := range sorted(b.Sheet.Pools) {
		p := at(Pool{Name: name, Price: 1})
		*p = p.set(b.Sheet.Pools[name])
	}
	return out
}

// invested are the points that raise a discipline's pool (RPGX-75).
func (s *Sheet) invested(o rules.Options, d Discipline, l Learned) int {
	if d.Name != pyromancy || o.Is("rpgamix.fire_pool_from", "pool_points") {
		return l.PoolPoints
	}
	cost, _ := d.cost(l)
	sum := l.PoolPoints + cost
	for _, name := range sorted(s.Skills) {
		if contains(d.Permits, name) {
			sum += s.Skills[name]
		}
	}
	return sum
}

func (b *Body) pool(o rules.Options, name string) (filled, bool) {
	for _, p := range b.pools(o) {
		if fold(p.Name) == fold(name) {
			return p, true
		}
	}
	return filled{}, false
}

// afford refuses to spend more than is in a pool; it returns the pool's name.
func (b *Body) afford(o rules.Options, c *rules.Character, name string, points int, rule, field string) (string, error) {
	p, ok := b.pool(o, name)
	switch {
	case points == 0:
		return p.Name, nil
	case !ok:
		return "", rules.Reject("no_such_pool", rule, "%s has no pool to spend points from", c.Name).On(field)
	}
	return p.Name, enough(b.Pools[p.Name], points, p.Name, rule, field)
}

func enough(have, points int, pool, rule, field string) error {
	if points > have {
		return rules.Reject("pool_too_small", rule, "%d points of %s cannot be spent: there are %d", points, pool, have).On(field)
	}
	return nil
}
