package replay

import (
	"fmt"
	"slices"
	"strings"

	"tallystick/events"
	"tallystick/projections"
)

// announced are the declaration of a declared roll and the witnesses that were
// passed over, in words.
func (a *Auditor) announced() []AuditEffect {
	var all []AuditEffect
	for _, rec := range a.declared.records {
		all = append(all, a.effect(rec, nil))
	}
	return all
}

// outcome explains what happened to a character in record k of a commit, when
// no die was thrown for it: a wound by the game master's hand, a check that
// the rules decide alone.
func (a *Auditor) outcome(recs []events.Record, k int, e events.CharacterEvent) {
	followed := []string{a.happened(recs[k], e)}
	for i := k + 1; i < len(recs) && headOf(recs, i) == k; i++ {
		next, err := a.decode(recs[i])
		if err != nil || next == nil {
			continue
		}
		a.caused(recs[i], next)
		if text := a.teller.Say(recs[i]); text != "" {
			followed = append(followed, text)
		}
	}
	a.audit.Sentence = strings.Join(followed, "; ") + "."
	a.audit.Rule = a.ruleOf(e)
	a.audit.Title = a.title(a.audit.Rule)
	a.audit.Proof = AuditProof{Kind: ProvedByRules, Choose: []string{}, Foresee: []string{}, Sentence: a.byRules(e)}
	if p := a.people[e.Of().Character]; p != nil && slices.Contains(advances, a.audit.Cause.Type) {
		a.audit.Cause.Due = p.due()
	}
}

// happened tells what happened, for a player.
func (a *Auditor) happened(rec events.Record, e events.Event) string {
	text := a.effect(rec, e).Text
	if tick, ok := e.(*events.TickProcessed); ok {
		return fmt.Sprintf("%s (due %s)", text, strings.TrimSpace(projections.GameTime(tick.Due)))
	}
	return text
}

// byRules says how provable something is for which no die was thrown.
func (a *Auditor) byRules(e events.Event) string {
	if a.book == nil {
		return "No die was thrown. Whether the rules come to this is not known here: they are not on board."
	}
	again := " Whoever has this ledger and these rules can decide it again and come to the same: no server is needed, and no luck was in it."
	if _, due := e.(*events.TickProcessed); due {
		return "No die was thrown: it fell due by game time, and follows from the rules and the records before it." + again
	}
	return fmt.Sprintf("No die was thrown: what was asked for is the word of %s, who gave the command; what came of it follows from the rules and the records before it.%s", a.audit.Cause.By, again)
}
