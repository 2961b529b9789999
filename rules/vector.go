package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Vector is a case with the right answer: what is given, the faces of the
// dice in the order the rules ask for them, and what follows.
type Vector struct {
	ID      string                    `json:"id"`
	System  string                    `json:"system"`
	Kind    string                    `json:"kind"`
	RuleIDs []string                  `json:"rule_ids"`
	Given   jsontext.Value            `json:"given"`
	Dice    []int                     `json:"dice"`
	Die     []string                  `json:"die"` // "d10", as many as dice
	Then    map[string]jsontext.Value `json:"then"`
	Source  string                    `json:"source"`
	Note    string                    `json:"note"`
	Options map[string]jsontext.Value `json:"options,omitzero"`
}

// Conforming is a system that can be held against vectors. Conform works a
// case out with the same functions that decide commands; the result marshals
// to an object that has at least the members of Then. A refusal is a
// *Rejection, and its code is what the vector names.
type Conforming interface {
	Conform(o Options, kind string, given jsontext.Value, dice *Faces) (any, error)
}

// Faces are dice whose faces are known beforehand.
type Faces struct {
	faces, sides []int
	err          error
}

// Die is the next face; asking for another kind of die, or for one more than
// there is, fails the case.
func (f *Faces) Die(sides int) int {
	if f.err != nil {
		return 1
	}
	if len(f.faces) == 0 {
		f.err = fmt.Errorf("asks for one more die, a d%d", sides)
		return 1
	}
	if f.sides[0] != sides {
		f.err = fmt.Errorf("asks for a d%d where a d%d lies", sides, f.sides[0])
		return 1
	}
	face := f.faces[0]
	f.faces, f.sides = f.faces[1:], f.sides[1:]
	return face
}

// Run holds the systems against the case; nil when every member of Then is
// equal and all dice were taken. A case without an id, or with nothing in Then,
// fails: it would show nothing.
func (v Vector) Run(l Library) error {
	book, err := l.Find(v.System, 0)
	if err != nil {
		return err
	}
	system, ok := book.System.(Conforming)
	if !ok {
		return fmt.Errorf("%s knows no vectors", v.System)
	}
	options, err := Resolve(book, v.Options)
	if err != nil {
		return err
	}
	dice := &Faces{faces: slices.Clone(v.Dice)}
	for _, d := range v.Die {
		var n int
		if _, err := fmt.Sscanf(d, "d%d", &n); err != nil {
			return fmt.Errorf("die %q: %w", d, err)
		}
		dice.sides = append(dice.sides, n)
	}
	if v.ID == "" || len(v.Then) == 0 {
		return errors.New("says nothing that could be compared: id and then must be there")
	}
	if len(dice.sides) != len(dice.faces) {
		return fmt.Errorf("%d dice, but %d kinds of them", len(dice.faces), len(dice.sides))
	}
	got, err := system.Conform(options, v.Kind, v.Given, dice)
	var no *Rejection
	if errors.As(err, &no) {
		got, err = map[string]string{"refused": no.Code}, nil
	}
	switch {
	case err != nil:
		return err
	case dice.err != nil:
		return dice.err
	case len(dice.faces) > 0:
		return fmt.Errorf("leaves %d dice untouched", len(dice.faces))
	}
	return v.compare(got)
}

func (v Vector) compare(got any) error {
	raw, err := json.Marshal(got)
	if err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(v.Then)) {
		have, want := members[name], v.Then[name]
		if have == nil {
			have = jsontext.Value("nothing")
		} else if err := have.Canonicalize(); err != nil {
			return err
		}
		if err := want.Canonicalize(); err != nil {
			return err
		}
		if string(have) != string(want) {
			return fmt.Errorf("%s: got %s, want %s", name, have, want)
		}
	}
	return nil
}
