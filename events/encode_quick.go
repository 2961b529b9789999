package events

import (
	"encoding/binary"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// usualData is how many bytes most events take.
const usualData = 512

// appendEvent appends an event's JSON.
func appendEvent(out []byte, e Event) ([]byte, error) {
	if quick, ok := appendQuick(out, e); ok {
		return quick, nil
	}
	data, err := json.Marshal(e, json.Deterministic(true))
	return append(out, data...), err
}

// appendQuick writes the events that most records of a ledger hold as the JSON
// library would, byte for byte. What it leaves is for the library, which also says
// what is wrong with it. It goes by the very type: an event that has one of these in
// it is another one.
func appendQuick(out []byte, e Event) (data []byte, ok bool) {
	w := quickWriter{out: out}
	switch e := e.(type) {
	case *RollMade:
		e.writeTo(&w)
	case *TickProcessed:
		e.writeTo(&w)
	case *WoundInflicted:
		e.writeTo(&w)
	case *HealGranted:
		e.writeTo(&w)
	case *ClockAdvanced:
		e.writeTo(&w)
	default:
		return nil, false
	}
	return w.out, !w.failed
}

// appendText appends a JSON string.
func appendText(out []byte, s string) ([]byte, error) {
	begun := len(out)
	out = append(append(append(out, '"'), s...), '"')
	if bare(out[begun+1 : len(out)-1]) {
		return out, nil
	}
	return jsontext.AppendQuote(out[:begun], s)
}

// bare reports whether a text is ASCII without a control character, a quote or a
// backslash: it stands in JSON as it is. Eight bytes are looked at in one: of each, the
// highest bit is set where it is no ASCII, and where a subtraction ran below zero, which
// it does from the space down, and for a byte that is zero because it was the quote or
// the backslash. A byte may be taken for bad because of a bad one before it, never for
// good.
func bare(text []byte) bool {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		b := binary.LittleEndian.Uint64(text)
		if (b|(b-each*' ')|((b^each*'"')-each)|((b^each*'\\')-each))&highest != 0 {
			return false
		}
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// quickWriter writes members of objects. Names come with what stands around them.
type quickWriter struct {
	out    []byte
	failed bool // there was something for the JSON library
}

func (w *quickWriter) raw(s string) { w.out = append(w.out, s...) }

func (w *quickWriter) text(name, s string) {
	w.raw(name)
	var err error
	if w.out, err = appendText(w.out, s); err != nil {
		w.failed = true
	}
}

// textIf leaves out what is empty.
func (w *quickWriter) textIf(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *quickWriter) number(name string, n int64) {
	w.raw(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *quickWriter) numberIf(name string, n int64) {
	if n != 0 {
		w.number(name, n)
	}
}

func (w *quickWriter) flag(name string, yes bool) {
	w.raw(name)
	w.out = strconv.AppendBool(w.out, yes)
}

func (w *quickWriter) valueIf(name string, v jsontext.Value) {
	if v == nil {
		return
	}
	w.raw(name)
	w.out = append(w.out, v...)
	w.failed = w.failed || len(v) == 0 || plain(v, 0, 0) != len(v)
}

// list writes the elements of a list, nil like an empty one.
func list[T any](w *quickWriter, name string, all []T, each func(*T)) {
	w.raw(name)
	for i := range all {
		if i == 0 {
			w.raw("[")
		} else {
			w.raw(",")
		}
		each(&all[i])
	}
	if len(all) == 0 {
		w.raw("[")
	}
	w.raw("]")
}

func (e *RollMade) writeTo(w *quickWriter) {
	w.text(`{"session":`, e.Session)
	w.textIf(`,"lane":`, e.Lane)
	w.numberIf(`,"i":`, int64(e.I))
	w.textIf(`,"s":`, e.S)
	w.textIf(`,"c":`, e.C)
	w.textIf(`,"w":`, e.W)
	w.text(`,"source":`, e.Source)
	w.numberIf(`,"call":`, e.Call)
	w.raw(",")
	e.Throw.writeMembers(w)
	if e.Also != nil {
		list(w, `,"also":`, e.Also, func(t *Throw) {
			w.raw("{")
			t.writeMembers(w)
			w.raw("}")
		})
	}
	w.raw("}")
}

func (t *Throw) writeMembers(w *quickWriter) {
	w.text(`"expression":`, t.Expression)
	w.text(`,"purpose":`, t.Purpose)
	w.textIf(`,"character":`, t.Character)
	list(w, `,"draws":`, t.Draws, func(d *Draw) {
		w.number("[", int64(d[0]))
		w.number(",", int64(d[1]))
		w.raw("]")
	})
	list(w, `,"modifiers":`, t.Modifiers, func(m *Modifier) {
		w.text(`{"label":`, m.Label)
		w.number(`,"value":`, int64(m.Value))
		w.text(`,"rule":`, m.Rule)
		w.raw("}")
	})
	w.number(`,"total":`, int64(t.Total))
	if a := t.Against; a != nil {
		w.text(`,"against":{"kind":`, a.Kind)
		w.number(`,"value":`, int64(a.Value))
		w.textIf(`,"exact":`, a.Exact)
		w.raw("}")
	}
	w.textIf(`,"outcome":`, t.Outcome)
	if t.Margin != nil {
		w.number(`,"margin":`, int64(*t.Margin))
	}
	w.valueIf(`,"detail":`, t.Detail)
}

func (e *TickProcessed) writeTo(w *quickWriter) {
	e.Subject.writeMembers(w)
	w.text(`,"kind":`, e.Kind)
	w.number(`,"due":`, e.Due)
	w.flag(`,"rolled":`, e.Rolled)
	w.number(`,"change":`, int64(e.Change))
	w.text(`,"rule":`, e.Rule)
	w.raw("}")
}

func (e *WoundInflicted) writeTo(w *quickWriter) {
	e.Subject.writeMembers(w)
	w.number(`,"wound":`, int64(e.Wound))
	w.number(`,"points":`, int64(e.Points))
	w.textIf(`,"level":`, e.Level)
	w.text(`,"cause":`, e.Cause)
	w.textIf(`,"by":`, e.By)
	w.textIf(`,"weapon":`, e.Weapon)
	w.numberIf(`,"absorbed":`, int64(e.Absorbed))
	w.raw("}")
}

func (e *HealGranted) writeTo(w *quickWriter) {
	e.Subject.writeMembers(w)
	w.number(`,"points":`, int64(e.Points))
	w.text(`,"cause":`, e.Cause)
	w.raw("}")
}

func (e *ClockAdvanced) writeTo(w *quickWriter) {
	w.number(`{"from":`, e.From)
	w.number(`,"to":`, e.To)
	w.number(`,"ticks":`, int64(e.Ticks))
	w.textIf(`,"stopped":`, e.Stopped)
	w.failed = w.failed || e.Followed != nil // rare
	w.raw("}")
}

// writeMembers begins the object of an event about a character.
func (s *Subject) writeMembers(w *quickWriter) {
	w.text(`{"character":`, s.Character)
	v := s.After
	if v == nil {
		return
	}
	w.flag(`,"after":{"alive":`, v.Alive)
	w.number(`,"health":{"points":`, int64(v.Health.Points))
	w.number(`,"max":`, int64(v.Health.Max))
	w.text(`,"rank":`, v.Health.Rank)
	w.number(`,"penalty":`, int64(v.Health.Penalty))
	list(w, `},"conditions":`, v.Conditions, func(c *Condition) {
		w.text(`{"name":`, c.Name)
		w.number(`,"since":`, c.Since)
		w.numberIf(`,"until":`, c.Until)
		w.text(`,"rule":`, c.Rule)
		w.raw("}")
	})
	if n := v.NextTick; n != nil {
		w.number(`,"next_tick":{"due":`, n.Due)
		w.text(`,"kind":`, n.Kind)
		w.raw("}")
	}
	w.valueIf(`,"state":`, v.State)
	w.raw("}")
}
