package fudge

import (
	"math/big"
	"slices"
	"strconv"

	"tallystick/rules"
)

// Brawl is the data of fudge.brawl: a lone fighter against several foes
// (B8.3).
type Brawl struct {
	Lone      Brawler   `json:"lone"`
	Foes      []Brawler `json:"foes" minItems:"1" maxItems:"20"`
	OneRoll   bool      `json:"one_roll,omitzero" doc:"the game master rolls once for all foes, two or more, who are non-player characters"`
	Room      int       `json:"room,omitzero" minimum:"1" maximum:"20" doc:"foes that can reach the lone fighter: 6 when left out, 3 or 4 with swung weapons, 1 or 2 in a doorway"`
	Automatic *Harm     `json:"automatic,omitzero" doc:"what each automatic hit does, with one roll; left out: wound.inflict follows by hand"`
}

// Brawler is one fighter in a brawl.
type Brawler struct {
	Character string `json:"character"`
	Fighter
}

// reach refuses more foes than there is room for (FUDGE-37).
func reach(foes, room int) error {
	if room == 0 {
		room = outOfRoom
	}
	if foes > room {
		return rules.Reject("too_many_foes", "FUDGE-37", "%d foes cannot reach one fighter here: there is room for %d", foes, room).On("foes")
	}
	return nil
}

// outnumber lowers the lone fighter by a level for each foe beyond the first
// (FUDGE-32).
func outnumber(lone *effort, foes int) {
	lone.add("outnumbered", 1-foes, "FUDGE-32")
}

// lowDoubles reports whether the one roll for all foes is an automatic hit by
// each: both dice show the same, no more than there are foes (FUDGE-35).
func lowDoubles(dice pair, foes int) bool {
	return dice.first == dice.second && dice.first <= foes
}

// avoids reports whether the lone fighter's critical success wards off
// automatic hits (FUDGE-35): by the dice, or where margins count by four
// levels over every foe.
func avoids(o rules.Options, lone result, foes []result) bool {
	best := slices.MaxFunc(foes, func(a, b result) int { return int(a.degree - b.degree) })
	return critically(o, lone, opposed(lone, best)) == criticalSuccess
}

// mob is a lone fighter with all foes, ready to roll.
type mob struct {
	o       rules.Options
	data    *Brawl
	people  []armed // the lone fighter first
	efforts []effort
}

func brawl(t *rules.Turn, d *Brawl) error {
	m, err := d.gather(t)
	if err != nil {
		return err
	}
	if d.OneRoll {
		return m.oneRoll(t)
	}
	outnumber(&m.efforts[0], len(d.Foes))
	m.rollEach(t)
	return nil
}

// gather checks everybody before a die is thrown.
func (d *Brawl) gather(t *rules.Turn) (*mob, error) {
	if err := reach(len(d.Foes), d.Room); err != nil {
		return nil, err
	}
	if d.OneRoll && len(d.Foes) < 2 {
		return nil, rules.Reject("one_roll_is_for_several", "FUDGE-34", "one roll is for several foes: a single one rolls for itself").On("one_roll")
	}
	if d.Automatic != nil && !d.OneRoll {
		return nil, &rules.Invalid{Field: "automatic", Reason: "is for one_roll: otherwise nobody hits automatically"}
	}
	m := &mob{o: t.Options(), data: d}
	for i, f := range append([]Brawler{d.Lone}, d.Foes...) {
		path := "lone"
		if i > 0 {
			path = "foes." + strconv.Itoa(i-1)
		}
		if err := m.join(t, path, f, i > 0); err != nil {
			return nil, err
		}
	}
	if d.Automatic != nil {
		if _, err := d.Automatic.of(m.o, "automatic", m.people[0].who.Body.(*Body)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *mob) join(t *rules.Turn, path string, f Brawler, foe bool) error {
	who, err := t.Living(path+".character", f.Character)
	if err != nil {
		return err
	}
	if err := able(t, path+".character", who); err != nil {
		return err
	}
	if slices.ContainsFunc(m.people, func(a armed) bool { return a.who.ID == who.ID }) {
		return &rules.Invalid{Field: path + ".character", Reason: "is in this brawl twice"}
	}
	if m.data.OneRoll && foe != (who.Kind == "npc") {
		return rules.Reject("one_roll_is_for_npcs", "FUDGE-34", "one roll is for non-player characters against a player character: %s is a %s", who.Name, who.Kind).On(path + ".character")
	}
	weapon, err := f.armed(m.o, who, path, melee)
	if err != nil {
		return err
	}
	e, err := f.fighter(t, path, who)
	if err != nil {
		return err
	}
	m.people, m.efforts = append(m.people, weapon), append(m.efforts, e)
	return nil
}

// rollEach is the lone fighter's one roll against each foe's own (FUDGE-33).
func (m *mob) rollEach(t *rules.Turn) {
	lone := throw(t, "brawl: "+m.data.Lone.Trait, m.efforts[0])
	var foes []result
	for i, f := range m.data.Foes {
		foes = append(foes, throw(t, "brawl: "+f.Trait, m.efforts[i+1]))
	}
	exchanges := m.meetAll(lone, foes)
	lone.note.Foes = m.pairings(foes, exchanges, false)
	for i := range foes {
		x := exchanges[i]
		critical := critically(m.o, foes[i], -opposed(lone, foes[i]))
		foes[i].close("opponent", lone.degree, critical, melees(-x.relative), -x.relative)
	}
	m.closeLone(&lone, foes, exchanges)
	m.blows(t, exchanges)
}

// meetAll compares the lone fighter with each foe in turn.
func (m *mob) meetAll(lone result, foes []result) []exchange {
	out := make([]exchange, len(foes))
	for i, foe := range foes {
		out[i] = meet(m.o, lone, foe, m.data.Lone.Stance, m.data.Foes[i].Stance)
	}
	return out
}

// closeLone compares the lone fighter's throw with the best foe's; the others
// are in the detail.
func (m *mob) closeLone(lone *result, foes []result, exchanges []exchange) {
	foremost := worst(exchanges)
	relative := exchanges[foremost].relative
	critical := critically(m.o, *lone, opposed(*lone, foes[foremost]))
	lone.close("best opponent", foes[foremost].degree, critical, melees(relative), relative)
}

// worst is the first of the exchanges that go worst for the lone fighter.
func worst(exchanges []exchange) (at int) {
	for i := range exchanges {
		if exchanges[i].relative < exchanges[at].relative {
			at = i
		}
	}
	return at
}

// pairings are the details of each comparison.
func (m *mob) pairings(foes []result, exchanges []exchange, automatic bool) []Pairing {
	var out []Pairing
	for i, foe := range foes {
		p := Pairing{Character: foe.who.ID, Degree: foe.degree.String(), Relative: exchanges[i].relative, Automatic: automatic}
		if d, won := m.duel(i, exchanges[i]); won && !automatic {
			p.Damage, _ = d.damage(m.o, max(p.Relative, -p.Relative))
		}
		out = append(out, p)
	}
	return out
}

// duel is who strikes whom in the pairing with a foe, if anybody is hurt.
func (m *mob) duel(i int, x exchange) (duel, bool) {
	lone, foe := m.people[0], m.people[i+1]
	switch x.hurt() {
	case 1:
		return duel{by: foe, on: lone.who}, true
	case 2:
		return duel{by: lone, on: foe.who}, true
	}
	return duel{}, false
}

// blows lets the damage of all pairings fall, in the order of the foes.
func (m *mob) blows(t *rules.Turn, exchanges []exchange) {
	var r round
	for i, x := range exchanges {
		d, won := m.duel(i, x)
		if !won {
			continue
		}
		if damage, points := d.damage(m.o, max(x.relative, -x.relative)); damage != nil {
			r.inflict(t, d, points, damage.Stopped)
		}
	}
	r.settle(t)
}

// oneRoll is the game master's one roll for all foes, then the lone fighter's
// (FUDGE-34): nobody is outnumbered in it, and low doubles hit (FUDGE-35).
func (m *mob) oneRoll(t *rules.Turn) error {
	th := t.Throw("one roll for "+strconv.Itoa(len(m.data.Foes))+" foes", nil)
	dice := takePair(th)
	foes := m.read(dice)
	lone := throw(t, "brawl: "+m.data.Lone.Trait, m.efforts[0])
	exchanges := m.meetAll(lone, foes)
	doubles := lowDoubles(dice, len(foes))
	automatic := doubles && !avoids(m.o, lone, foes)
	lone.note.Foes = m.pairings(foes, exchanges, automatic)
	m.closeLone(&lone, foes, exchanges)
	m.closeGroup(th, dice, lone, foes, exchanges, automatic)
	if !automatic {
		m.blows(t, exchanges)
		return nil
	}
	lone.th.Result("is hit by all", *lone.th.Margin)
	m.automatic(t)
	return nil
}

// read applies one pair of dice to the level of each foe.
func (m *mob) read(dice pair) []result {
	var foes []result
	for _, e := range m.efforts[1:] {
		foes = append(foes, rolled(m.o, e, dice))
	}
	return foes
}

// againstLone is what the one roll for all foes is compared with.
const againstLone = "lone fighter"

// closeGroup explains the one roll by the foe who does best.
func (m *mob) closeGroup(th *rules.Throw, dice pair, lone result, foes []result, exchanges []exchange, automatic bool) {
	foremost := worst(exchanges)
	best := foes[foremost]
	best.th = th
	th.Base(dice.levels())
	best.explain()
	hurt := 0
	for _, x := range exchanges {
		if x.hurt() == 1 {
			hurt++
		}
	}
	outcome, critical := strconv.Itoa(hurt)+" of "+strconv.Itoa(len(foes))+" hit", critically(m.o, best, opposed(best, lone))
	if automatic { // "translates ordinarily bad rolls ... into automatic hits": no fumble
		outcome, critical = "low doubles: all hit", ""
	}
	best.close(againstLone, lone.degree, critical, outcome, -exchanges[foremost].relative)
}

// automatic lets each foe hit as the game master said beforehand (FUDGE-36).
func (m *mob) automatic(t *rules.Turn) {
	if m.data.Automatic == nil {
		return
	}
	var r round
	for _, foe := range m.people[1:] {
		d := duel{by: foe, on: m.people[0].who}
		h, err := m.data.Automatic.of(m.o, "automatic", t.Again(d.on).Body.(*Body))
		if err != nil {
			panic("fudge: an automatic hit that " + err.Error()) // judged before the dice
		}
		h.cause, h.by, h.weapon = d.cause(), foe.who.ID, foe.name
		if h.points == nil {
			h.points = new(big.Rat)
		}
		r.harm(t, d, h)
	}
	r.settle(t)
}
