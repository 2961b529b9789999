package fudge

import (
	"fmt"
	"strconv"
	"strings"

	"tallystick/rules"
)

// Level is how good a trait, a task or a result is, in steps from Fair
// (FUDGE-1). Traits go from Terrible to Superb; results go on as Superb+1 and
// Terrible-1.
type Level int

// The seven levels of traits.
const (
	Terrible Level = iota - 3
	Poor
	Mediocre
	Fair
	Good
	Great
	Superb
)

// Limits of rolled degrees: Superb+4 and Terrible-4 are the last that the
// book calls possible (FUDGE-3, FUDGE-4).
const (
	highest = Superb + 4
	lowest  = Terrible - 4
)

// String is the level's name: Fair, Superb+2, Terrible-1.
func (l Level) String() string {
	switch {
	case l > Superb:
		return fmt.Sprintf("%s+%d", Superb, l-Superb)
	case l < Terrible:
		return fmt.Sprintf("%s-%d", Terrible, Terrible-l)
	}
	return levelNames[l-Terrible]
}

// MarshalText writes the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// ParseLevel reads a level's name. Names beyond the scale, such as Superb+9,
// are read too: whether a level may stand somewhere is for the rules to say.
func ParseLevel(name string) (Level, error) {
	for l := Terrible; l <= Superb; l++ {
		if name == l.String() {
			return l, nil
		}
	}
	for n := Level(1); n < 100; n++ {
		switch name {
		case (Superb + n).String():
			return Superb + n, nil
		case (Terrible - n).String():
			return Terrible - n, nil
		}
	}
	return 0, fmt.Errorf("is %s: must be one of %s, Superb+1 to Superb+4 or Terrible-1 to Terrible-4",
		strconv.Quote(name), strings.Join(levelNames[:], ", "))
}

// levelOf reads a level in a field of a command; without a name it is the one
// given for that case.
func levelOf(field, name string, otherwise Level) (Level, error) {
	if name == "" {
		return otherwise, nil
	}
	l, err := ParseLevel(name)
	if err != nil {
		return 0, &rules.Invalid{Field: field, Reason: err.Error()}
	}
	return l, nil
}

// traitLevel is levelOf for traits, which are one of the seven (FUDGE-5,
// B1 Trans-Superb: no trait may be taken there).
func traitLevel(field, name string, otherwise Level) (Level, error) {
	l, err := levelOf(field, name, otherwise)
	if err == nil && (l < Terrible || l > Superb) {
		return 0, rules.Reject("trait_out_of_scale", "FUDGE-5", "a trait goes from Terrible to Superb, not to %s: only rolled results do", l).On(field)
	}
	return l, err
}

// scaleOffset is the number of levels from a scale of one's own to the human
// one, from one level that is known on both (FUDGE-60). It is what a sheet
// holds as scale.strength.
func scaleOffset(own, human Level) int { return int(human - own) }
