package events

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Words for who may see what a seal hides.
const (
	// VisiblePublic: everybody. It is not sealed at all.
	VisiblePublic = "public"
	// VisiblePrivate: who rolled, and the game masters.
	VisiblePrivate = "private"
	// VisibleBlind: the game masters alone.
	VisibleBlind = "blind"
)

// MaxNamed is how many participants one visibility may name.
const MaxNamed = 32

// Visibility says who may see what a seal hides: one of the words, or the
// handles of those who may see it beside who rolled and the game masters. It is
// fixed when the roll is made; it may be widened and is never narrowed.
type Visibility struct {
	word  string
	named []string // rising, each once; for no word
}

// ParseVisibility reads a visibility as it stands in commands and records:
// "public", "private", "blind", or a list of handles. Nothing at all means
// private, which is what the first ledgers meant by it.
func ParseVisibility(raw jsontext.Value) (Visibility, error) {
	if len(raw) == 0 {
		return Visibility{word: VisiblePrivate}, nil
	}
	var v Visibility
	switch raw.Kind() {
	case '"':
		if err := json.Unmarshal(raw, &v.word); err != nil {
			return v, errVisibility
		}
		if !slices.Contains([]string{VisiblePublic, VisiblePrivate, VisibleBlind}, v.word) {
			return v, errVisibility
		}
		return v, nil
	case '[':
		if err := json.Unmarshal(raw, &v.named); err != nil || len(v.named) == 0 || len(v.named) > MaxNamed {
			return v, errVisibility
		}
		slices.Sort(v.named)
		v.named = slices.Compact(v.named)
		return v, nil
	}
	return v, errVisibility
}

var errVisibility = errors.New(`must be "public", "private", "blind", or a list of 1 to 32 handles`)

// JSON writes a visibility in the one form in which it is recorded.
func (v Visibility) JSON() jsontext.Value {
	var raw jsontext.Value
	var err error
	if v.word != "" {
		raw, err = json.Marshal(v.word)
	} else {
		raw, err = json.Marshal(v.named)
	}
	if err != nil {
		panic("events: a visibility is made of strings: " + err.Error())
	}
	return raw
}

// Public reports whether everybody may see it.
func (v Visibility) Public() bool { return v.word == VisiblePublic }

// Blind reports whether even who rolled may not see it.
func (v Visibility) Blind() bool { return v.word == VisibleBlind }

// Named are the handles that it names.
func (v Visibility) Named() []string { return v.named }

// Viewer is who looks: a participant's handle and whether they are a game
// master now. The zero Viewer is somebody who does not take part.
type Viewer struct {
	Handle string
	GM     bool
}

// Shows decides whether a viewer may see what by has sealed under this
// visibility. It is the one place in the program where that is decided.
func (v Visibility) Shows(by string, viewer Viewer) bool {
	switch {
	case v.word == VisiblePublic, viewer.GM:
		return true
	case viewer.Handle == "", v.word == VisibleBlind:
		return false
	}
	return viewer.Handle == by || slices.Contains(v.named, viewer.Handle)
}

// Widens reports whether v shows to everybody to whom old shows, and to
// somebody more.
func (v Visibility) Widens(old Visibility) bool {
	switch {
	case old.word == VisiblePublic:
		return false
	case v.word == VisiblePublic, old.word == VisibleBlind:
		return v.word != VisibleBlind
	case v.word != "": // private is the least that is not blind
		return false
	}
	for _, handle := range old.named {
		if !slices.Contains(v.named, handle) {
			return false
		}
	}
	return len(v.named) > len(old.named)
}
