package replay

import (
	"fmt"
	"strings"

	"tallystick/projections"
)

// Text writes the audit for a terminal, the sentence first.
func (a *Audit) Text() string { return a.write(plainPage) }

// Markdown writes the audit as Markdown. What people wrote in it is text and
// no markup.
func (a *Audit) Markdown() string { return a.write(markdownPage) }

// page is how the parts of an audit are written.
type page struct {
	sentence func(string) string
	heading  func(string) string
	item     func(depth int, text string) string
	escape   func(string) string
}

var plainPage = page{
	sentence: func(s string) string { return s + "\n" },
	heading:  func(s string) string { return "\n" + s + "\n" },
	item:     func(depth int, s string) string { return strings.Repeat("  ", depth+1) + s + "\n" },
	escape:   projections.Printable,
}

var markdownPage = page{
	sentence: func(s string) string { return "**" + s + "**\n" },
	heading:  func(s string) string { return "\n## " + s + "\n\n" },
	item:     func(depth int, s string) string { return strings.Repeat("  ", depth) + "- " + s + "\n" },
	escape:   func(s string) string { return projections.EscapeMarkdown(projections.Printable(s)) },
}

func (a *Audit) write(p page) string {
	var b strings.Builder
	b.WriteString(p.sentence(p.escape(a.Sentence)))
	for _, th := range a.Throws {
		th.write(&b, p)
	}
	effects := func(title string, all []AuditEffect) {
		if len(all) == 0 {
			return
		}
		b.WriteString(p.heading(title))
		for _, e := range all {
			b.WriteString(p.item(0, p.escape(e.String())))
		}
	}
	b.WriteString(p.heading("What it came of"))
	if a.Rule != "" {
		b.WriteString(p.item(0, p.escape("rule: "+ruled(a.Rule, a.Title))))
	}
	b.WriteString(p.item(0, p.escape(fmt.Sprintf("record %d: %s, by %s at %s, game time %s", a.Cause.N, a.Cause.Type, a.Cause.By, a.At, strings.TrimSpace(projections.GameTime(a.Clock))))))
	for _, e := range a.Cause.Declared {
		b.WriteString(p.item(0, p.escape("declared before its dice could be known: "+e.String())))
	}
	if a.Cause.Witness != "" {
		b.WriteString(p.item(0, p.escape("made with the element of "+a.Cause.Witness+", who witnessed it")))
	}
	for _, e := range a.Cause.Due {
		b.WriteString(p.item(0, p.escape("due because of "+e.String())))
	}
	effects("What it caused", a.Caused)
	effects("What was said of it later", a.Later)
	b.WriteString(p.heading("How provable it is"))
	b.WriteString(p.item(0, p.escape(a.Proof.Sentence)))
	if s := a.Seed; s != nil {
		s.write(&b, p)
	}
	if a.Missing != "" {
		b.WriteString(p.item(0, p.escape("the rules ("+a.Missing+") are not on board: whether they were kept is not known here")))
	} else {
		b.WriteString(p.item(0, p.escape("rules: "+a.Rules)))
	}
	return b.String()
}

func (th AuditThrow) write(b *strings.Builder, p page) {
	title := th.Purpose
	if title == "" {
		title = th.Expression
	}
	if th.Name != "" {
		title = th.Name + ", " + title
	}
	b.WriteString(p.heading(p.escape(title)))
	b.WriteString(p.item(0, p.escape(th.Sentence)))
	for i, d := range th.Dice {
		b.WriteString(p.item(0, p.escape(fmt.Sprintf("die %d: %s", i+1, d))))
	}
	for _, m := range th.Modifiers {
		m.write(b, p, "")
	}
	b.WriteString(p.item(0, p.escape(total(th))))
	for _, m := range th.Damage {
		m.write(b, p, "damage: ")
	}
}

func (m AuditModifier) write(b *strings.Builder, p page, of string) {
	b.WriteString(p.item(0, p.escape(fmt.Sprintf("%s%+d %s (%s)", of, m.Value, m.Label, ruled(m.Rule, m.Title)))))
	for _, from := range m.From {
		b.WriteString(p.item(1, p.escape("from "+from.String())))
	}
}

// ruled is a rule with its title.
func ruled(rule, title string) string { return strings.TrimSpace(rule + " " + title) }

func total(th AuditThrow) string {
	text := fmt.Sprintf("total %d", th.Total)
	if th.Against != nil {
		value := fmt.Sprint(th.Against.Value)
		if th.Against.Exact != "" {
			value = th.Against.Exact
		}
		text += fmt.Sprintf(" against %s %s", th.Against.Kind, value)
	}
	if th.Outcome != "" {
		text += ": " + th.Outcome
	}
	return text
}

// String tells a die and the word it was made of.
func (d AuditDie) String() string {
	text := fmt.Sprintf("%d of a d%d", d.Face, d.Sides)
	switch {
	case d.Block == nil:
		return text + ", typed in"
	case d.Sides == 1:
		return text
	case !d.Agrees:
		return text + ", but the seeds give another face"
	}
	text += fmt.Sprintf(", of block %d word %d: %d mod %d + 1", *d.Block, d.Word, d.Value, d.Sides)
	if d.Passed > 0 {
		text += fmt.Sprintf(" (%d words passed over)", d.Passed)
	}
	return text
}

// String tells a record and where it stands.
func (e AuditEffect) String() string {
	text := fmt.Sprintf("record %d: %s", e.N, e.Text)
	switch {
	case e.Rule == "" || e.Title == "":
		return text
	case strings.Contains(e.Text, e.Rule):
		return strings.Replace(text, e.Rule, ruled(e.Rule, e.Title), 1)
	}
	return fmt.Sprintf("%s (%s)", text, ruled(e.Rule, e.Title))
}

func (s *AuditSeed) write(b *strings.Builder, p page) {
	leads := fmt.Sprintf("SHA-256 applied %d times to s gives the anchor s0 that stood in the ledger before the first roll", s.I)
	if !s.Leads {
		leads = "s does not lead back to the anchor s0"
	}
	for _, text := range []string{
		fmt.Sprintf("roll %d of the lane %s; a block is HMAC-SHA256 under s of the lines dice/v1, joint, lane, roll, c, w, block", s.I, s.Lane),
		"s " + s.S, "s0 " + s.S0, leads, "joint " + s.Joint, "c " + s.C + ", w " + s.W,
	} {
		b.WriteString(p.item(0, p.escape(text)))
	}
}
