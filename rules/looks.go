package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/go-json-experiment/json"
)

// Skeleton is what a name looks like: two names that an eye can hardly tell
// apart have the same one. Case, width and ligatures do not count, nor do
// invisible joiners and the number of blanks; letters of other scripts, and
// digits, that look like Latin letters are those letters. It is for comparing
// and for nothing else: it may be no word of any language.
func Skeleton(name string) string {
	folded := fold(name)
	var out strings.Builder
	blank := true
	for _, r := range folded {
		switch {
		case unicode.IsSpace(r), r == '\u2800': // Braille without a dot
			if !blank {
				out.WriteByte(' ')
			}
			blank = true
			continue
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			continue
		}
		blank = false
		if like, ok := lookalikes[r]; ok {
			out.WriteString(like)
			continue
		}
		out.WriteRune(r)
	}
	return norm.NFC.String(strings.TrimSuffix(out.String(), " "))
}

// fold takes case, width and ligatures away, and marks off their letters.
// Folding turns Cherokee's small letters into capitals; they are made small as
// all others are.
func fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name)
	}
	return norm.NFKD.String(strings.ToLower(cases.Fold().String(norm.NFKC.String(name))))
}

// lookalikes are the letters and signs that are commonly taken for others,
// after folding: the part of Unicode's confusables that names are made of.
var lookalikes = func() map[rune]string {
	all := map[rune]string{'0': "o", '1': "l", '|': "l", 'm': "rn", 'ı': "i", 'ɡ': "g", 'ɑ': "a", 'ƽ': "s", 'ß': "ss"}
	for letter, others := range map[string]string{
		"a": "аαꭺꓮ", "b": "ьвβᏼꓐ", "c": "сϲꮯꓚ", "d": "ԁꭰꓓ", "e": "еҽ℮εꭼꓰ", "f": "ϝꓝ", "g": "ցꮐꓖ", "h": "һհнηꮋꓧ", "i": "іιӏіꭵꓲ", "j": "јϳꭻꓙ",
		"k": "кκꮶꓗ", "l": "ⅼꮮꓡ", "n": "ոпꓠ", "o": "оοօഠ০०٥ꓳ", "p": "рρꮲꓑ", "q": "ԛզ", "r": "гᴦꭱꓣ", "s": "ѕꮪꓢ", "t": "тτꭲꓔ",
		"u": "υսцꓴ", "v": "νѵꮩꓦ", "w": "ԝѡωꮃꓪ", "x": "хχꓫ", "y": "уүγყꮍꓬ", "z": "ᴢζꮓꓜ", "rn": "мμꮇꓟ",
		"-": "‐‑‒–—−", "'": "’‘`´ʼʹ′", "\"": "“”″", ".": "․", ",": "‚", "/": "⁄∕", ":": "：׃",
	} {
		for _, other := range others {
			all[other] = letter
		}
	}
	return all
}()

// looks are what a name looks like as it is spelled, and where a capital I among
// small letters is read as an l.
type looks struct{ spelled, misread string }

func looksOf(name string) looks {
	l := looks{spelled: Skeleton(name)}
	l.misread = l.spelled
	if strings.Contains(name, "I") && strings.IndexFunc(name, unicode.IsLower) >= 0 {
		l.misread = Skeleton(strings.ReplaceAll(name, "I", "l"))
	}
	return l
}

// like reports whether an eye can hardly tell two names apart.
func (l looks) like(other looks) bool {
	return l.spelled == other.spelled || l.misread == other.misread
}

// Lookalike refuses a command that would bring a name into the campaign that
// looks like one that is there, or that nobody sees. It is asked for new
// commands alone: ledgers from before it may hold such names, and are decided
// again as they are.
func (c *Campaign) Lookalike(cmd Command) error {
	switch cmd.Type {
	case "character.create":
		var d CharacterCreate
		if json.Unmarshal(cmd.Data, &d) != nil {
			return nil // deciding says what is wrong with it
		}
		look := looksOf(d.Name)
		if look.spelled == "" {
			return unseen(d.Name)
		}
		for _, id := range c.order {
			if ch, _ := c.Character(id); !ch.Retired && look.like(looksOf(ch.Name)) {
				return Reject("looks_like", "", "%q looks like the name of %q, who is there already: choose another, or add a number", d.Name, ch.Name).On("name")
			}
		}
	case "participant.add":
		var d ParticipantAdd
		if json.Unmarshal(cmd.Data, &d) != nil {
			return nil
		}
		return c.likeParticipant(d)
	}
	return nil
}

// likeParticipant holds a handle and a name against those of everybody else:
// nobody may look like somebody else by either.
func (c *Campaign) likeParticipant(d ParticipantAdd) error {
	handle, name := looksOf(d.Handle), looksOf(d.Name)
	if d.Name != "" && name.spelled == "" {
		return unseen(d.Name)
	}
	for _, other := range c.Participants() {
		p, _ := c.Participant(other)
		for _, taken := range []string{p.Handle, p.Name} {
			switch look := looksOf(taken); {
			case taken == "" || p.Handle == d.Handle:
			case handle.like(look):
				return Reject("looks_like", "", "%q looks like %q, who takes part already", d.Handle, taken).On("handle")
			case d.Name != "" && name.like(look):
				return Reject("looks_like", "", "%q looks like %q, who takes part already", d.Name, taken).On("name")
			}
		}
	}
	return nil
}

func unseen(name string) error {
	return Reject("invisible", "", "%q has no sign that anybody sees: choose another", name).On("name")
}
