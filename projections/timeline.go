package projections

import (
	"sort"

	"tallystick/events"
)

// Timeline is what happened to one character, in order.
type Timeline struct {
	Character string `json:"character"`
	Page[TimelineItem]
	Wounds []Wound `json:"wounds" doc:"all wounds of the character, also those of other pages"`
	AsOf   int64   `json:"as_of" doc:"the last record in this view"`
}

// TimelineItem is one event about a character.
type TimelineItem struct {
	Moment
	Date      string `json:"date,omitzero" doc:"what the campaign's calendar calls the game time"`
	Type      string `json:"type" doc:"event type"`
	Change    int    `json:"change" doc:"points gained or lost by it"`
	Points    int    `json:"points" doc:"points after it"`
	Rank      string `json:"rank" doc:"health rank after it"`
	WasRank   string `json:"was_rank,omitzero" doc:"health rank before it, when that was another"`
	Condition string `json:"condition,omitzero" doc:"that began or ended"`
	Cause     string `json:"cause,omitzero"`
	Kind      string `json:"kind,omitzero" doc:"of the check, in the words of the rules"`
	Due       *int64 `json:"due,omitzero" doc:"when the check was due, game seconds"`
	Outcome   string `json:"outcome,omitzero" doc:"of a treatment, in the words of the rules"`
	Rule      string `json:"rule,omitzero" doc:"that made it so"`
	Roll      int64  `json:"roll,omitzero" doc:"record of the roll it follows from"`
	Marks
}

// Wound is one wound of a character.
type Wound struct {
	Wound  int    `json:"wound" doc:"ordinal in the character's life, from 1"`
	Points int    `json:"points" doc:"lost by it"`
	Level  string `json:"level,omitzero" doc:"in rules that name wounds"`
	Cause  string `json:"cause"`
	N      int64  `json:"n" doc:"record in the campaign"`
	Clock  int64  `json:"clock" doc:"game seconds"`
	Marks
}

// Timeline returns up to limit events about a character from record from on; a
// limit of 0 or less means all. It is false when there is no such character.
func (v *Views) Timeline(id string, from int64, limit int) (Timeline, bool) {
	c := v.characters[id]
	if c == nil {
		return Timeline{}, false
	}
	i := sort.Search(len(c.items), func(i int) bool { return c.items[i].N >= from })
	items := c.items[i:]
	var next *int64
	if limit > 0 && limit < len(items) {
		n := items[limit].N
		items, next = items[:limit], &n
	}
	items, wounds := items[:len(items):len(items)], append([]Wound{}, c.wounds...)
	if !v.table.quiet() || v.campaign.Calendar != nil {
		items = append([]TimelineItem{}, items...)
		for i := range items {
			items[i].Marks, items[i].Date = v.table.marks(items[i].N), v.Date(items[i].Clock)
		}
		for i := range wounds {
			wounds[i].Marks = v.table.marks(wounds[i].N)
		}
	}
	return Timeline{
		Character: id,
		Page:      Page[TimelineItem]{Items: items, Next: next},
		Wounds:    wounds,
		AsOf:      v.next - 1,
	}, true
}

// chronicle adds an event to a character's timeline, before the character
// itself changes.
func (v *Views) chronicle(c *character, rec events.Record, e events.CharacterEvent) {
	item := TimelineItem{Moment: v.moment(rec), Type: v.word(rec.Type), Points: c.Health.Points, Rank: c.Health.Rank}
	v.describe(c, &item, e)
	if after := e.Of().After; after != nil {
		item.Points, item.Rank = after.Health.Points, v.word(after.Health.Rank)
	}
	if _, first := e.(*events.CharacterCreated); !first {
		item.Change = item.Points - c.Health.Points
		if item.Rank != c.Health.Rank {
			item.WasRank = c.Health.Rank
		}
		item.Roll = v.command.rollFor(e, rec)
	}
	c.items = append(c.items, item)
}

// describe copies what an event says beyond how the character stands.
func (v *Views) describe(c *character, item *TimelineItem, e events.CharacterEvent) {
	switch e := e.(type) {
	case *events.CharacterAmended:
		item.Cause = e.Reason
	case *events.CharacterRetired:
		item.Cause = e.Reason
	case *events.CharacterRestored:
		item.Cause = e.Why
	case *events.CharacterDied:
		item.Cause, item.Rule = v.word(e.Cause), v.word(e.Rule)
	case *events.WoundInflicted:
		item.Cause = v.word(e.Cause)
		c.wounds = append(c.wounds, Wound{Wound: e.Wound, Points: e.Points, Level: v.word(e.Level), Cause: item.Cause, N: item.N, Clock: item.Clock})
	case *events.WoundTreated:
		item.Outcome, item.Rule = v.word(e.Outcome), v.word(e.Rule)
	case *events.HealGranted:
		item.Cause = v.word(e.Cause)
	case *events.TickProcessed:
		due := e.Due // a copy, or the item would keep the whole event
		item.Kind, item.Due, item.Rule = v.word(e.Kind), &due, v.word(e.Rule)
	case *events.TempoWarned:
		due := e.Due
		item.Kind, item.Due = v.word(e.Kind), &due
	case *events.TempoHeld:
		due := e.Due
		item.Kind, item.Due = v.word(e.Kind), &due
	case *events.ConditionGained:
		item.Condition, item.Rule = v.word(e.Condition), v.word(e.Rule)
	case *events.ConditionEnded:
		item.Condition, item.Rule = v.word(e.Condition), v.word(e.Rule)
	}
}
