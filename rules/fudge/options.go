package fudge

import "tallystick/rules"

// Names of the options.
const (
	optDamage     = "fudge.damage"
	optCap        = "fudge.cap_rolled_degree"
	optMargin     = "fudge.critical_margin"
	optSkip       = "fudge.skip_certain_rolls"
	optPropelled  = "fudge.propelled_penalty"
	optMatch      = "fudge.match_hit"
	optTrack      = "fudge.hp_track"
	optScratches  = "fudge.scratches_to_hurt"
	optThirdCard  = "fudge.third_card"
	optConscious  = "fudge.conscious_penalty"
	optDying      = "fudge.near_death_minutes"
	optHeal       = "fudge.heal_reading"
	optTreated    = "fudge.treated_days"
	objective     = "objective"
	subjective    = "subjective"
	byState       = "by_state"
	perWound      = "per_wound"
	shift         = "shift"
	incapacitates = "incapacitates"
	modifiers     = "modifiers"
)

// choices are the options of a campaign: rulings on what the text leaves open
// and the choices it offers.
var choices = []rules.Option{
	{Name: optDamage, Rule: "FUDGE-38", Values: []string{objective, subjective}, Default: objective,
		Doc: "The book offers two damage systems. objective: attacks count damage and wounds add up on the hit point track. subjective: attacks only roll, and the game master announces how hurt the loser is (wound.inflict with a level)."},
	{Name: optCap, Rule: "FUDGE-10", Values: []string{"true", "false"}, Default: "true",
		Doc: "Rolled degrees from Terrible-4 to Superb+4 are called possible; whether modifiers carry a roll beyond is not said. true: the result stops there. false: it goes on, as Superb+5."},
	{Name: optMargin, Rule: "FUDGE-15", Values: []string{"false", "true"}, Default: "false",
		Doc: "The optional criticals: true makes four levels above the task or the opponent a critical success, four below a critical failure (for the opposed side the book implies the mirror image)."},
	{Name: optSkip, Rule: "FUDGE-6", Values: []string{"false", "true"}, Default: "false",
		Doc: "Certain actions need no roll. false: only tasks of Terrible or lower are decided without one. true: also those that every face would pass, and those that none would."},
	{Name: optPropelled, Rule: "FUDGE-31", Min: 1, Max: 2, Default: "1",
		Doc: "Against bows, guns and beams the defender's trait is lowered by one level or even two. The number of levels, unless an attack says otherwise."},
	{Name: optMatch, Rule: "FUDGE-29", Values: []string{"none", modifiers}, Default: "none",
		Doc: "A shot at an unaware target that just matches the task hits by 0 levels; how damage counts then is not said. none: no damage, as for all results of 0. modifiers: weapon, strength and armour count from 0."},
	{Name: optTrack, Rule: "FUDGE-49", Values: []string{shift, "same"}, Default: shift,
		Doc: "The table of hit points stands in a section that is not on board; only Fair follows from the examples. shift: each level above Fair takes one point more to every stage, each below one less. same: every level has the track of Fair. The setting may define the track of Fair, and of any other level."},
	{Name: optScratches, Rule: "FUDGE-40", Min: 0, Max: 100, Default: "0",
		Doc: "In the subjective system a number of scratches may equal Hurt, at the game master's choice. The number; 0: they never add up."},
	{Name: optThirdCard, Rule: "FUDGE-41", Values: []string{incapacitates, "penalty"}, Default: incapacitates,
		Doc: "The third card, of wounds and fatigue together, represents near incapacitation. incapacitates: who holds three acts no more than somebody Disabled. penalty: each card is only another -1."},
	{Name: optConscious, Rule: "FUDGE-51", Min: 0, Max: 4, Default: "0",
		Doc: "The roll to stay conscious when Disabled: whether the wound itself weighs on it is not said. The number of levels it does."},
	{Name: optDying, Rule: "FUDGE-52", Min: 1, Max: 1_440, Default: "5",
		Doc: "Somebody Near Death dies within a few minutes if left untended; how many is the game master's. The number of minutes."},
	{Name: optHeal, Rule: "FUDGE-55", Values: []string{byState, perWound}, Default: byState,
		Doc: "A medical result heals all wounds of a kind. by_state: the kind is how the character stands, and a result that is good enough heals all wounds. per_wound: each wound is judged by itself."},
	{Name: optTreated, Rule: "FUDGE-57", Min: 0, Max: 365, Default: "3",
		Doc: "How long a treated wound takes is the game master's; the book calls a day each extremely fast, and untreated it is a week. Days for each point; 0: at once."},
}

// book lists every rule of section B.
var book = []rules.Rule{
	{ID: "FUDGE-1", Title: "Seven levels from Terrible to Superb"},
	{ID: "FUDGE-2", Title: "Two six-sided dice for every roll"},
	{ID: "FUDGE-3", Title: "Results beyond Superb, tasks as well"},
	{ID: "FUDGE-4", Title: "Results below Terrible; Terrible tasks succeed without a roll"},
	{ID: "FUDGE-5", Title: "No trait beyond the seven levels"},
	{ID: "FUDGE-6", Title: "Certain and hopeless actions need no roll"},
	{ID: "FUDGE-7", Title: "The game master picks trait and task; tasks are usually Fair"},
	{ID: "FUDGE-8", Title: "Modifiers shift a trait for one roll"},
	{ID: "FUDGE-9", Title: "A second trait helps by one level, or is rolled instead"},
	{ID: "FUDGE-10", Title: "Conditions give one level; two are extreme"},
	{ID: "FUDGE-11", Title: "The table that reads two dice"},
	{ID: "FUDGE-12", Title: "The same table as a formula"},
	{ID: "FUDGE-13", Title: "Success rates"},
	{ID: "FUDGE-14", Title: "+4 is a critical success, -4 a critical failure"},
	{ID: "FUDGE-15", Title: "Optional: critical by four levels of difference"},
	{ID: "FUDGE-16", Title: "Unopposed: match or surpass the task"},
	{ID: "FUDGE-17", Title: "Untrained skills are Poor"},
	{ID: "FUDGE-18", Title: "Opposed: both sides roll"},
	{ID: "FUDGE-19", Title: "Relative degree is the difference in levels"},
	{ID: "FUDGE-20", Title: "A tie keeps the status quo"},
	{ID: "FUDGE-21", Title: "Combat is opposed; a tie is a stand-off"},
	{ID: "FUDGE-22", Title: "The game master sets the length of a round"},
	{ID: "FUDGE-23", Title: "The winner may hurt the loser"},
	{ID: "FUDGE-24", Title: "All-out offence: +1, but a tie is lost by two"},
	{ID: "FUDGE-25", Title: "All-out defence: +1, but the foe is safe unless he fumbles"},
	{ID: "FUDGE-26", Title: "A melee round is simultaneous and hurts one side only"},
	{ID: "FUDGE-27", Title: "Shots fall together or in turn"},
	{ID: "FUDGE-28", Title: "The weapon decides the trait"},
	{ID: "FUDGE-29", Title: "An unaware target: a task that holds range, light and cover"},
	{ID: "FUDGE-30", Title: "An aware target defends"},
	{ID: "FUDGE-31", Title: "Propelled weapons are harder to avoid than thrown ones"},
	{ID: "FUDGE-32", Title: "The outnumbered fighter loses a level for each further foe"},
	{ID: "FUDGE-33", Title: "The lone fighter rolls once against each foe in turn"},
	{ID: "FUDGE-34", Title: "One roll for all non-player characters"},
	{ID: "FUDGE-35", Title: "Low doubles of that roll: all of them hit"},
	{ID: "FUDGE-36", Title: "What automatic hits do is the game master's"},
	{ID: "FUDGE-37", Title: "Only so many foes reach one fighter"},
	{ID: "FUDGE-38", Title: "What damage depends on; two damage systems"},
	{ID: "FUDGE-39", Title: "Stages of being hurt and their penalties"},
	{ID: "FUDGE-40", Title: "Scratches may add up to Hurt"},
	{ID: "FUDGE-41", Title: "Wound and fatigue cards"},
	{ID: "FUDGE-42", Title: "Objective damage starts at the relative degree"},
	{ID: "FUDGE-43", Title: "Armour takes off damage"},
	{ID: "FUDGE-44", Title: "A good shield takes off one more"},
	{ID: "FUDGE-45", Title: "Muscle-powered weapons by size and edge"},
	{ID: "FUDGE-46", Title: "The attacker's Strength"},
	{ID: "FUDGE-47", Title: "Weapons with a Strength of their own"},
	{ID: "FUDGE-48", Title: "Wounds add up"},
	{ID: "FUDGE-49", Title: "The hit point track"},
	{ID: "FUDGE-50", Title: "Penalties at Hurt and Very Hurt"},
	{ID: "FUDGE-51", Title: "Disabled: stay conscious or not, but fight no more"},
	{ID: "FUDGE-52", Title: "Near Death: unconscious, and dead within minutes"},
	{ID: "FUDGE-53", Title: "Two more points at Near Death are death"},
	{ID: "FUDGE-54", Title: "A helpless victim can be killed without a roll"},
	{ID: "FUDGE-55", Title: "What medical results heal"},
	{ID: "FUDGE-56", Title: "One wound heals in a week of rest"},
	{ID: "FUDGE-57", Title: "Treated wounds take the time the game master sets"},
	{ID: "FUDGE-58", Title: "Scales other than the human one"},
	{ID: "FUDGE-59", Title: "A scale's average is Fair"},
	{ID: "FUDGE-60", Title: "Scales of strength that overlap"},
	{ID: "FUDGE-61", Title: "Hit points worth more or fewer human ones"},
	{ID: "FUDGE-62", Title: "Damage and armour on the lesser being's scale"},
	{ID: "FUDGE-63", Title: "Fractions of a point are kept"},
	{ID: "FUDGE-64", Title: "Equals in size: the rules as written"},
	{ID: "FUDGE-65", Title: "Other attributes on other scales"},
}
