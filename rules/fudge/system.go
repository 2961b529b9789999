// Package fudge is the FUDGE rules of 12 December 1992, section B: action
// resolution, combat, damage, healing and scales.
//
// Levels are words from Terrible to Superb, and two six-sided dice are read by
// a table; this edition never throws fudge dice for an action. Tables of the
// book are data in tables.go; what the text leaves open is an option. The
// package is pure: no clock, no random source, no file, no network.
package fudge

import (
	"tallystick/events"
	"tallystick/rules"
)

// System is the rule set. It has no state.
type System struct{}

// New is the system "fudge", edition 1.
func New() rules.System { return System{} }

// Name is "fudge".
func (System) Name() string { return "fudge" }

// Edition is 1.
func (System) Edition() int { return 1 }

// Describe names the book, its rules, and the options of a campaign.
func (System) Describe() rules.Description {
	d := rules.Description{
		Title:   "FUDGE (December 1992)",
		Summary: "Traits in seven words, two six-sided dice read by a table, wounds from a Scratch to Near Death.",
		Credit:  "FUDGE by Steffan O'Sullivan, section B, 12 December 1992",
		Options: choices,
		Rules:   book,
	}
	for _, s := range stageTable {
		d.Ranks = append(d.Ranks, s.name)
	}
	return d
}

// Sheet is a pointer to a zero sheet.
func (System) Sheet() any { return new(Sheet) }

// Events are the types that only FUDGE has.
func (System) Events() map[string]func() events.Event {
	return map[string]func() events.Event{
		"fudge.roll.skipped":    func() events.Event { return new(RollSkipped) },
		"fudge.remainder.kept":  func() events.Event { return new(RemainderKept) },
		"fudge.healing.assured": func() events.Event { return new(HealingAssured) },
		"fudge.strained":        func() events.Event { return new(Strained) },
		"fudge.tired":           func() events.Event { return new(Tired) },
		"fudge.rested":          func() events.Event { return new(Rested) },
	}
}

// Commands are what FUDGE decides.
func (System) Commands() []rules.CommandSpec {
	return []rules.CommandSpec{
		rules.Spec("check", "Check a trait", "An unopposed roll against a degree task.", rules.OwnCharacters, check).InSecret(),
		rules.Spec("contest", "Contest", "An opposed roll of two characters; a tie keeps the status quo.", rules.OwnCharacters, contest).InSecret(),
		rules.Spec("attack", "Attack", "A round of melee, in which either side can be hurt, or a shot.", rules.OwnCharacters, attack),
		rules.Spec("fudge.brawl", "Brawl", "A lone fighter against several foes: one roll against each, or one roll for all of them.", rules.GMOnly, brawl),
		rules.Spec("wound.inflict", "Inflict a wound", "By the game master's hand: a fall, a poison, or how hurt the loser of a fight is.", rules.GMOnly, woundInflict),
		rules.Spec("wound.treat", "Treat wounds", "A medical roll: Good heals who is Hurt or stops the dying, Great who is Very Hurt, Superb who is Disabled.", rules.OwnCharacters, treat),
		rules.Spec("heal.grant", "Grant healing", "By the game master's hand.", rules.GMOnly, healGrant),
		rules.Spec("fudge.kill", "Kill the helpless", "A helpless victim dies without a roll.", rules.GMOnly, kill),
		rules.Spec("fudge.wake", "Wake somebody", "Ends the unconsciousness of somebody Disabled.", rules.GMOnly, wake),
		rules.Spec("fudge.strain", "Break rest", "An effort begins the week of rest anew and may reopen treated wounds.", rules.GMOnly, strain),
		rules.Spec("fudge.tire", "Tire somebody", "Gives cards of fatigue: each is one level less.", rules.GMOnly, tire),
		rules.Spec("fudge.rest", "Rest from fatigue", "Takes cards of fatigue away.", rules.GMOnly, relax),
	}
}

// Create makes a healthy character of a sheet. Section B has no budgets, so a
// character by the book is one whose levels are all in scale, as every
// character must be.
func (System) Create(o rules.Options, sheet any, _ bool, _ int64) (rules.Body, []string, error) {
	s := sheet.(*Sheet)
	if err := s.complete(o); err != nil {
		return nil, nil, err
	}
	return &Body{Sheet: *s, Track: row(o, mustLevel(s.HitPoints))}, nil, nil
}

// Amend puts another sheet on a body. Points lost stay, and may be another
// stage on another track; but a sheet does not disable, kill or wake anybody.
func (System) Amend(o rules.Options, body rules.Body, sheet any, _ int64) (rules.Body, []string, error) {
	s := sheet.(*Sheet)
	if err := s.complete(o); err != nil {
		return nil, nil, err
	}
	b := *body.(*Body)
	before := b.stage(o)
	b.Sheet, b.Track = *s, row(o, mustLevel(s.HitPoints))
	after := b.stage(o)
	if before != after && max(before, after) >= Disabled {
		return nil, nil, rules.Reject("would_change_state", "FUDGE-49", "with this sheet the character would be %s instead of %s: wound or heal first", stageTable[after].name, stageTable[before].name).On("sheet")
	}
	return &b, nil, nil
}
