package rpgamix

import (
	"tallystick/events"
	"tallystick/rules"
)

// worksWith reports whether a technique works with a weapon, or nil for none.
func (x Technique) worksWith(w *Weapon) bool {
	return len(x.Weapons) == 0 || w != nil && contains(x.Weapons, w.Name)
}

// suits refuses a weapon that a technique does not work with (RPGX-74).
func (x Technique) suits(w Weapon, field string) error {
	if x.worksWith(&w) {
		return nil
	}
	return rules.Reject("wrong_weapon", "RPGX-74", "%s does not work with a %s", x.Skill, w.Name).On(field)
}

// Choke is the data of rpgamix.choke.
type Choke struct {
	Character string `json:"character"`
	Weapon    string `json:"weapon" minLength:"1" maxLength:"200"`
	Grip      string `json:"grip" enum:"choked,full"`
}

// Actors names who acts.
func (d *Choke) Actors() []string { return actors(d.Character) }

// choke changes the grip on a spear (RPGX-21). It takes a round.
func choke(t *rules.Turn, d *Choke) error {
	c, err := able(t, "character", d.Character, "change their grip")
	if err != nil {
		return err
	}
	b := bodyOf(c)
	w, ok := b.weapon(t.Options(), d.Weapon)
	if !ok {
		return rules.Reject("unknown_weapon", "RPGX-13", "no weapon is called %q: it is neither on the sheet nor in the table", d.Weapon).On("weapon")
	}
	if w.Choked == 0 {
		return rules.Reject("cannot_choke", "RPGX-21", "nobody can choke up on a %s", w.Name).On("weapon")
	}
	choked := b.Grip != nil && b.Grip.Choked && fold(b.Grip.Weapon) == fold(w.Name)
	if choked == (d.Grip == "choked") {
		return rules.Reject("same_grip", "RPGX-21", "%s has that grip on the %s already", c.Name, w.Name).On("grip")
	}
	rounds, _ := gripOf(w, d.Grip)
	t.Emit(&GripChanged{Subject: of(c), Weapon: w.Name, Choked: d.Grip == "choked", Ready: t.Clock() + int64(rounds)*seconds(t.Options(), "round")})
	return nil
}

// gripOf is how many rounds a grip takes and how close the weapon then serves.
func gripOf(w Weapon, grip string) (rounds, least int) {
	least, _ = w.reach(0, grip == "choked")
	return 1, least
}

// excess is by how much a strategic defence was higher; nothing on a tie
// (RPGX-69).
func excess(attack, defence int) int { return max(0, defence-attack) }

// share is how an excess is used: for the next attack, the next defence, or
// both (RPGX-70 to RPGX-72).
func share(use string, excess int, split [2]int) (attack, defence int, err error) {
	switch use {
	case "attack":
		return excess, 0, nil
	case "defence":
		return 0, excess, nil
	}
	if split[0] < 0 || split[1] < 0 || split[0]+split[1] != excess {
		return 0, 0, rules.Reject("bad_share", "RPGX-72", "%d and %d do not make the excess of %d", split[0], split[1], excess).On("attack")
	}
	return split[0], split[1], nil
}

// Movement is what is left of both movements in this turn, for slipping
// inside; any unit of length will do, the same for all three.
type Movement struct {
	Needed   int `json:"needed" minimum:"0" maximum:"1000000" doc:"to get inside"`
	Defender int `json:"defender" minimum:"0" maximum:"1000000" doc:"left to the defender, who slips inside"`
	Attacker int `json:"attacker" minimum:"0" maximum:"1000000" doc:"left to the attacker"`
}

// slip refuses a defender who cannot get inside and stay there (RPGX-73): the
// weapon has to be shorter, and after moving in there has to be more movement
// left than the attacker has.
func slip(defenderReach, attackerReach int, m Movement) error {
	switch {
	case defenderReach >= attackerReach:
		return rules.Reject("weapon_not_shorter", "RPGX-73", "slipping inside takes a shorter weapon: %d cm against %d cm", defenderReach, attackerReach).On("weapon")
	case m.Defender-m.Needed <= m.Attacker:
		return rules.Reject("not_enough_movement", "RPGX-73", "%d of movement left after moving in is not more than the attacker's %d", m.Defender-m.Needed, m.Attacker).On("movement")
	}
	return nil
}

// Allocation is the data of rpgamix.allocate: what the last strategic defence
// of a character against an opponent is used for.
type Allocation struct {
	Character      string    `json:"character" doc:"who warded the blow off"`
	Opponent       string    `json:"opponent" doc:"whose blow it was"`
	Use            string    `json:"use" enum:"attack,defence,split,slip_inside,hold,throw,stun"`
	Attack         int       `json:"attack,omitzero" minimum:"0" maximum:"1000" doc:"split: points for the next attack"`
	Defence        int       `json:"defence,omitzero" minimum:"0" maximum:"1000" doc:"split: points for the next defence"`
	Weapon         string    `json:"weapon,omitzero" maxLength:"200" doc:"slip_inside: the defender's"`
	OpponentWeapon string    `json:"opponent_weapon,omitzero" maxLength:"200" doc:"slip_inside: the attacker's"`
	Movement       *Movement `json:"movement,omitzero" doc:"slip_inside"`
	Ranks          int       `json:"ranks,omitzero" minimum:"1" maximum:"4" doc:"hold: penalty as if so many health ranks were lost"`
}

// Actors names who acts.
func (d *Allocation) Actors() []string { return actors(d.Character) }

// allocate uses the excess of a warded blow, once and against the same
// opponent (RPGX-69 to RPGX-74).
func allocate(t *rules.Turn, d *Allocation) error {
	c, err := able(t, "character", d.Character, "use the advantage")
	if err != nil {
		return err
	}
	opponent, err := t.Living("opponent", d.Opponent)
	if err != nil {
		return err
	}
	b := bodyOf(c)
	won := b.advantage(opponent.ID)
	if won.Excess == 0 {
		return rules.Reject("nothing_warded", "RPGX-69", "%s has no strategic defence against %s to make use of", c.Name, opponent.Name).On("opponent")
	}
	tech, ok := b.Sheet.technique(t.Options(), won.Skill, func(x Technique) bool { return x.Use == d.Use })
	if !ok {
		tech = Technique{Skill: won.Skill, Use: "strategic"}
	}
	used := &AdvantageUsed{Subject: of(c), Opponent: opponent.ID, In: d.Use, Points: won.Excess}
	switch d.Use {
	case "attack", "defence", "split":
		return d.bank(t, c, won.Excess)
	case "slip_inside":
		return d.slipInside(t, c, opponent, used)
	}
	return d.special(t, c, opponent, tech, used)
}

func (d *Allocation) bank(t *rules.Turn, c *rules.Character, excess int) error {
	attack, defence, err := share(d.Use, excess, [2]int{d.Attack, d.Defence})
	if err != nil {
		return err
	}
	t.Emit(&AdvantageBanked{Subject: of(c), Opponent: d.Opponent, Attack: attack, Defence: defence})
	return nil
}

// slipInside keeps the opponent from attacking until their next turn, which
// is taken to begin with the next round.
func (d *Allocation) slipInside(t *rules.Turn, c, opponent *rules.Character, used *AdvantageUsed) error {
	if d.Movement == nil {
		return &rules.Invalid{Field: "movement", Reason: "is missing: slipping inside takes movement"}
	}
	mine, err := reachOf(t, c, "weapon", d.Weapon)
	if err != nil {
		return err
	}
	theirs, err := reachOf(t, opponent, "opponent_weapon", d.OpponentWeapon)
	if err != nil {
		return err
	}
	if err := slip(mine, theirs, *d.Movement); err != nil {
		return err
	}
	t.Emit(used)
	next := (roundOf(t.Options(), t.Clock()) + 1) * seconds(t.Options(), "round")
	t.Emit(&OpponentEvaded{Subject: of(opponent), Opponent: c.ID, Until: next})
	return nil
}

func reachOf(t *rules.Turn, c *rules.Character, field, name string) (int, error) {
	if name == "" {
		return 0, &rules.Invalid{Field: field, Reason: "is missing: the reach of both weapons is compared"}
	}
	b := bodyOf(c)
	w, ok := b.weapon(t.Options(), name)
	if !ok {
		return 0, rules.Reject("unknown_weapon", "RPGX-13", "no weapon is called %q: it is neither on the sheet nor in the table", name).On(field)
	}
	choked := b.Grip != nil && b.Grip.Choked && fold(b.Grip.Weapon) == fold(w.Name)
	_, most := w.reach(b.Sheet.Stats.Str, choked)
	return most, nil
}

// special is what only a discipline's own defence can do (RPGX-74).
func (d *Allocation) special(t *rules.Turn, c, opponent *rules.Character, tech Technique, used *AdvantageUsed) error {
	if tech.Use != d.Use {
		return rules.Reject("wrong_skill", "RPGX-74", "%s is no skill to %s an attacker with", tech.Skill, d.Use).On("use")
	}
	them := bodyOf(opponent)
	switch {
	case d.Use == "hold" && d.Ranks == 0:
		return &rules.Invalid{Field: "ranks", Reason: "is missing: how many ranks the hold hurts like"}
	case d.Use == "hold" && them.has(held):
		return rules.Reject("already_held", "RPGX-74", "%s is held already", opponent.Name).On("opponent")
	case d.Use == "stun" && !them.isLiving():
		return rules.Reject("not_living", "RPGX-74", "%s is no living being and cannot be stunned", opponent.Name).On("opponent")
	}
	t.Emit(used)
	switch d.Use {
	case "hold":
		t.Emit(&CharacterHeld{Subject: of(opponent), Holder: c.ID, Ranks: d.Ranks})
	case "stun":
		t.Emit(&events.ConditionGained{Subject: of(opponent), Condition: stunned, Until: nextRoundEnds(t), Rule: "RPGX-74"})
	case "throw":
		damage := tech.Potential * used.Points / 10 // the excess is the success factor
		harm(t, opponent, events.WoundInflicted{Points: damage, Cause: "thrown by " + c.Name, By: c.ID, Weapon: tech.Skill}, true)
	}
	return nil
}

// Breakout is the data of rpgamix.break_free.
type Breakout struct {
	Character string `json:"character" doc:"who is held"`
	Trial
	Holder Trial `json:"holder" doc:"what the holder rolls"`
}

// Actors names who acts.
func (d *Breakout) Actors() []string { return actors(d.Character) }

// breakFree is a contest with the holder; a higher total breaks the lock
// (RPGX-74). A holder who cannot act holds nobody.
func breakFree(t *rules.Turn, d *Breakout) error {
	c, err := able(t, "character", d.Character, "break free")
	if err != nil {
		return err
	}
	lock, ok := bodyOf(c).condition(held, "")
	if !ok {
		return rules.Reject("not_held", "RPGX-74", "nobody holds %s", c.Name).On("character")
	}
	free := &events.ConditionEnded{Subject: of(c), Condition: held, Rule: "RPGX-74"}
	holder, err := able(t, "holder", lock.Opponent, "hold")
	if err != nil {
		t.Emit(free)
		return nil
	}
	mine, err := d.checked(t, c)
	if err != nil {
		return err
	}
	theirs, err := d.Holder.checked(t, holder)
	if err != nil {
		return under("holder", err)
	}
	if !mine.exertion(t, c, "breaking free") {
		return nil
	}
	if oppose(t, "breaking free", [2]*rules.Character{c, holder}, [2]sum{mine.sum, theirs.sum}) > 0 {
		t.Emit(free)
	}
	return nil
}
