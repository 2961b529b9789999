package replay

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules"
)

// from finds the records that a modifier comes from: the command itself, a
// condition, the wounds that brought a rank about, what the same roll did, or
// what the character's sheet and the campaign's setting say. It goes by the
// label, which names its source in every system. Where it names none, the
// number is that of a table of the book for what the command and the sheets
// say.
func (a *Auditor) from(m events.Modifier, character string) []AuditEffect {
	label := strings.ToLower(m.Label)
	asked := a.audit.Cause.Data
	if said(asked, m) {
		return []AuditEffect{a.command("said with the command")}
	}
	if found := a.ofEvent(m, character); found != nil {
		return found
	}
	if found := a.ofPerson(m, label, character); found != nil {
		return found
	}
	if found := a.ofRoll(label); found != nil {
		return found
	}
	if a.setting != nil && a.setting.says(label) {
		return []AuditEffect{a.setting.effect}
	}
	named := origin{effect: a.command("named with the command"), text: strings.ToLower(string(asked))}
	if named.says(label) {
		return []AuditEffect{named.effect}
	}
	if found := a.ofOthers(m, label, character); found != nil {
		return found
	}
	return a.byTheBook(character)
}

// command is the command as a source; of a declared roll where it was declared.
func (a *Auditor) command(text string) AuditEffect {
	c := a.audit.Cause
	if len(c.Declared) > 0 {
		return AuditEffect{N: c.Declared[0].N, Clock: c.Declared[0].Clock, Type: c.Type, Text: text}
	}
	return AuditEffect{N: c.N, Clock: a.audit.Clock, Type: c.Type, Text: text}
}

// ofEvent is the character's newest event of the type that the system names as
// the source.
func (a *Auditor) ofEvent(m events.Modifier, character string) []AuditEffect {
	p := a.people[character]
	if p == nil || a.book == nil {
		return nil
	}
	typ := rules.SourceOf(a.book.System, m)
	for _, o := range p.origins {
		if o.effect.Type == typ {
			return []AuditEffect{o.effect}
		}
	}
	return nil
}

// ofPerson is what a character has that a label names.
func (a *Auditor) ofPerson(m events.Modifier, label, character string) []AuditEffect {
	p := a.people[character]
	if p == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.conditions)) {
		if strings.Contains(label, name) {
			return []AuditEffect{p.conditions[name]}
		}
	}
	if p.rank != "" && strings.Contains(label, strings.ToLower(p.rank)) && (len(p.wounds) > 0 || m.Value < 0) && !p.names(label) {
		return p.due()
	}
	for _, o := range slices.Backward(p.origins) {
		if o.says(label) {
			return []AuditEffect{o.effect}
		}
	}
	return nil
}

// ofRoll is what comes from the roll itself: its margin, or the wound it made.
func (a *Auditor) ofRoll(label string) []AuditEffect {
	for _, e := range a.audit.Caused {
		if strings.Contains(label, "damage taken") && e.Type == "wound.inflicted" {
			return []AuditEffect{e}
		}
	}
	for _, word := range []string{"margin", "relative degree", "per cent", "beyond the scale"} {
		if strings.Contains(label, word) {
			return []AuditEffect{{N: a.audit.N, Clock: a.audit.Clock, Type: a.audit.Type, Text: "the roll itself"}}
		}
	}
	return nil
}

// ofOthers is what somebody has that the roll hurt, or whom its command names.
func (a *Auditor) ofOthers(m events.Modifier, label, character string) []AuditEffect {
	for _, id := range a.named(character) {
		if found := a.ofPerson(m, label, id); found != nil {
			return found
		}
	}
	return nil
}

// named are the characters that the command names, but for one.
func (a *Auditor) named(but string) []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(a.people)) {
		if id != but && bytes.Contains(a.audit.Cause.Data, []byte(`"`+id+`"`)) {
			all = append(all, id)
		}
	}
	return all
}

// struck is whom a blow was for: who was hurt, or who else is named.
func (a *Auditor) struck(by string, followed []events.Event) string {
	for _, e := range followed {
		if w, ok := e.(*events.WoundInflicted); ok && w.Character != by {
			return w.Character
		}
	}
	if others := a.named(by); len(others) > 0 {
		return others[0]
	}
	return ""
}

// byTheBook is where a number of a table comes from that no record names: what
// the command asked for, and the sheet that it was asked of; or the campaign's
// options, when there is neither.
func (a *Auditor) byTheBook(character string) []AuditEffect {
	all := []AuditEffect{a.command("asked for with the command")}
	if p := a.people[character]; p != nil {
		for _, o := range slices.Backward(p.origins) {
			if o.sheet {
				return append(all, o.effect)
			}
		}
	}
	return append(all, a.opened)
}

// names reports whether the sheet has something of just this name.
func (p *person) names(label string) bool {
	return slices.ContainsFunc(p.origins, func(o origin) bool { return strings.Contains(o.text, `"`+label+`"`) })
}

// says reports whether a record holds what a label names: as a whole, without
// the words before or behind it, or by its abbreviation as rule books have it.
func (o origin) says(label string) bool {
	words := strings.Fields(strings.TrimSuffix(label, " weapon"))
	for i := range words {
		if strings.Contains(o.text, `"`+strings.Join(words[i:], " ")+`"`) {
			return true
		}
	}
	if len(words) == 1 && len(label) > 3 && strings.Contains(o.text, `"`+label[:3]+`"`) {
		return true
	}
	if i := strings.IndexAny(label, ",("); i > 0 && strings.Contains(o.text, `"`+strings.TrimSpace(label[:i])+`"`) {
		return true
	}
	return strings.Contains(label, "armour") && strings.Contains(o.text, "armour")
}

// said reports whether a command's data holds a modifier, wherever in it.
func said(data jsontext.Value, m events.Modifier) bool {
	label, err := json.Marshal(m.Label)
	return err == nil && data != nil && bytes.Contains(data, slices.Concat([]byte(`"label":`), label, fmt.Appendf(nil, `,"value":%d`, m.Value)))
}
