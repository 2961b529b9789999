package rpgamix

import (
	"iter"
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

// conDifficulty of every roll on the health table, of passing out and of
// falling to Awful: "Con vs. difficulty 5".
const conDifficulty = 5

// void reports whether a line does nothing at all: no die is drawn for it.
func (l line) void() bool { return l.gain == gainNothing && l.loss == 0 }

// outcome is what a line does to so many points below the maximum with a Con
// roll that came out like this (RPGX-38, RPGX-49, RPGX-50).
func (l line) outcome(margin int, made bool, missing int) int {
	if !made {
		return -l.loss
	}
	switch l.gain {
	case gainOne:
		return min(1, missing)
	case gainSuccess:
		return min(max(1, margin), missing)
	case gainAll:
		return missing
	}
	return 0
}

// apply rolls for a line and returns the change of points.
func (l line) apply(o rules.Options, con, missing int, d dice) (change, margin int, made, rolled bool) {
	if l.automatic || l.void() {
		return -l.loss, 0, false, false
	}
	margin, made = conRoll(o, con, conDifficulty, d)
	return l.outcome(margin, made, missing), margin, made, true
}

// certain reports whether no face of the die would change the points. The
// lowest and the highest face tell: what they leave alone, the others do too.
func (l line) certain(o rules.Options, con, missing int) bool {
	for _, face := range [2]int{1, 10} {
		total := face + con
		if l.outcome(total-conDifficulty, reached(o, "rpgamix.con_tie", total, conDifficulty), missing) != 0 {
			return false
		}
	}
	return true
}

// lines of the health table that hold for the body and are checked at all.
func (b *Body) lines(o rules.Options) iter.Seq[line] {
	return func(yield func(line) bool) {
		if !b.hurt() || !b.isLiving() {
			return
		}
		for l := range lines(o, b.rank(), b.Stabilised) {
			idle := l.void() || !l.automatic && o.On("rpgamix.skip_certain_rolls") && l.certain(o, b.con(), b.max()-b.Points)
			if !idle && !yield(l) {
				return
			}
		}
	}
}

// line finds one of them by its interval.
func (b *Body) line(o rules.Options, interval string) line {
	for l := range b.lines(o) {
		if l.interval == interval {
			return l
		}
	}
	panic("rpgamix: no check of the " + interval + " is due")
}

// next is when an interval falls due next: the first of its multiples behind
// the check that was last (RPGX-52).
func (b *Body) next(o rules.Options, interval string) rules.Tick {
	var begin int64
	if o.Is("rpgamix.clock", "row_entry") {
		begin = b.Since
	}
	span, order := seconds(o, interval), slices.Index(intervals, interval)
	due := b.Ticked - (b.Ticked-begin)%span
	if due < b.Ticked || order <= b.Order {
		due += span
	}
	return rules.Tick{Due: due, Ordinal: order, Kind: interval}
}

// NextTick is the next check of the health table or the end of a condition.
func (system) NextTick(o rules.Options, body rules.Body) (rules.Tick, bool) {
	b := body.(*Body)
	var first rules.Tick
	found := false
	consider := func(t rules.Tick) {
		if !found || t.Due < first.Due || t.Due == first.Due && t.Ordinal < first.Ordinal {
			first, found = t, true
		}
	}
	for l := range b.lines(o) {
		consider(b.next(o, l.interval))
	}
	for i, c := range b.Conditions {
		if c.Until > 0 {
			consider(rules.Tick{Due: c.Until, Ordinal: len(intervals) + i, Kind: ends(c.Name)})
		}
	}
	return first, found
}

func ends(condition string) string { return condition + " ends" }

// DecideTick decides a check of the health table, or ends a condition.
func (system) DecideTick(t *rules.Turn, c *rules.Character, tick rules.Tick) {
	b := c.Body.(*Body)
	if !slices.Contains(intervals, tick.Kind) {
		i := slices.IndexFunc(b.Conditions, func(l Lasting) bool { return ends(l.Name) == tick.Kind && l.Until == tick.Due })
		t.Emit(&events.ConditionEnded{Subject: of(c), Condition: b.Conditions[i].Name, Rule: b.Conditions[i].Rule})
		return
	}
	healthCheck(t, c, b, b.line(t.Options(), tick.Kind), tick)
}

func of(c *rules.Character) events.Subject { return events.Subject{Character: c.ID} }

// healthCheck rolls for a line and says what follows from it.
func healthCheck(t *rules.Turn, c *rules.Character, b *Body, l line, tick rules.Tick) {
	change := -l.loss
	if !l.automatic {
		th := t.Throw(l.purpose, c)
		var margin int
		var made bool
		change, margin, made, _ = l.apply(t.Options(), b.con(), b.max()-b.Points, th)
		result(th, conDifficulty, margin, made, outcomeOf(change), outcomeOf(change))
	}
	t.Emit(&events.TickProcessed{Subject: of(c), Kind: l.interval, Due: tick.Due, Rolled: !l.automatic, Change: change, Rule: l.rule})
	consequences(t, c, b, "untreated wounds")
	recovery(t, c, change)
}

func outcomeOf(change int) string {
	switch {
	case change > 0:
		return "heals"
	case change < 0:
		return "worsens"
	}
	return "unchanged"
}

// consequences of points that were lost: death (RPGX-37), and the Con roll on
// falling to Awful (RPGX-34) of somebody who is awake.
func consequences(t *rules.Turn, c *rules.Character, before *Body, cause string) {
	after := bodyOf(t.Again(c))
	rank := after.rank()
	if rank == dead {
		t.Emit(&events.CharacterDied{Subject: of(c), Cause: cause, Rule: "RPGX-37"})
		return
	}
	_, out := after.out()
	fell := rank == awful && slices.Index(ranks, before.rank()) < slices.Index(ranks, awful)
	if !fell || out || !after.isLiving() {
		return
	}
	th := t.Throw("Con roll on falling to Awful health", c)
	awake := stayAwake(t.Options(), after.con(), conDifficulty, th)
	t.Emit(&ConsciousnessChecked{Subject: of(c), Entry: true, Difficulty: conDifficulty, Awake: awake})
	if !awake {
		t.Emit(&events.ConditionGained{Subject: of(c), Condition: unconscious, Rule: "RPGX-34"})
	}
}

// stayAwake is a Con roll against falling unconscious.
func stayAwake(o rules.Options, con, difficulty int, d dice) bool {
	margin, made := conRoll(o, con, difficulty, d)
	if th, ok := d.(*rules.Throw); ok {
		result(th, difficulty, margin, made, "awake", "unconscious")
	}
	return made
}

// recovery wakes the unconscious who won back points, if the campaign says so.
func recovery(t *rules.Turn, c *rules.Character, change int) {
	b := bodyOf(t.Again(c))
	if change > 0 && b.rank() != incapacitated && b.has(unconscious) && t.Options().Is("rpgamix.waking", "healing") {
		t.Emit(&events.ConditionEnded{Subject: of(c), Condition: unconscious, Rule: "RPGX-27"})
	}
}

func bodyOf(c *rules.Character) *Body { return c.Body.(*Body) }

// passOutThreshold is the damage in one round that makes a character roll not
// to pass out (RPGX-27).
func passOutThreshold(con int) int { return rankSize(con) }

// passesOut is the roll of RPGX-27. It is asked for once in a round: by the
// damage that reaches the threshold.
func passesOut(o rules.Options, con, before, after int, d func() dice) (rolled, out bool) {
	if before >= passOutThreshold(con) || after < passOutThreshold(con) {
		return false, false
	}
	return true, !stayAwake(o, con, conDifficulty, d())
}

// isStunned is the roll of RPGX-26: Con + Wits - damage against 10.
func isStunned(o rules.Options, con, wits, damage int, d dice) (total int, stunned bool) {
	const difficulty = 10
	s := d10()
	s.plus("Constitution", con, "RPGX-26")
	s.plus("Wits", wits, "RPGX-26")
	s.plus("Damage taken", -damage, "RPGX-26")
	total = s.roll(d)
	safe := total > difficulty || total == difficulty && o.Is("rpgamix.stun_tie", "safe")
	if th, ok := d.(*rules.Throw); ok {
		result(th, difficulty, total-difficulty, safe, "not stunned", "stunned")
	}
	return total, !safe
}

// harm takes points from a character and asks for every roll that follows:
// stun (of a strike), passing out, falling to Awful. Who is unconscious
// already is asked for none: no face could change anything.
func harm(t *rules.Turn, c *rules.Character, w events.WoundInflicted, strike bool) {
	before := bodyOf(t.Again(c))
	if w.Points > 0 {
		w.Subject = of(c)
		t.Emit(&w)
	}
	after := bodyOf(t.Again(c))
	if strike {
		stunRoll(t, c, after, w.Points)
	}
	if w.Points > 0 {
		passOutRoll(t, c, before)
		consequences(t, c, before, w.Cause)
	}
}

// feels reports whether somebody is alive and conscious, so that a roll could
// change it.
func (b *Body) feels() bool {
	_, out := b.out()
	return b.isLiving() && !out && b.rank() != dead
}

func stunRoll(t *rules.Turn, c *rules.Character, b *Body, damage int) {
	if !b.feels() {
		return
	}
	th := t.Throw("roll not to be stunned", c)
	if _, stun := isStunned(t.Options(), b.con(), b.Sheet.Stats.Wits, damage, th); stun {
		t.Emit(&events.ConditionGained{Subject: of(c), Condition: stunned, Until: nextRoundEnds(t), Rule: "RPGX-26"})
	}
}

// nextRoundEnds is when the round after this one is over.
func nextRoundEnds(t *rules.Turn) int64 {
	return (roundOf(t.Options(), t.Clock()) + 2) * seconds(t.Options(), "round")
}

func passOutRoll(t *rules.Turn, c *rules.Character, before *Body) {
	b := bodyOf(t.Again(c))
	if !b.feels() {
		return
	}
	earlier := 0
	if before.Round == b.Round {
		earlier = before.Taken
	}
	throw := func() dice { return t.Throw("Con roll not to pass out", c) }
	if _, out := passesOut(t.Options(), b.con(), earlier, b.Taken, throw); out {
		t.Emit(&events.ConditionGained{Subject: of(c), Condition: unconscious, Rule: "RPGX-27"})
	}
}
