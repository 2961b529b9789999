package events

import (
	"encoding/binary"
	"math/bits"
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
	data, err := marshal(e)
	return append(out, data...), err
}

// marshal writes as the JSON library does, and refuses what a reader of records would.
func marshal(v any) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return data, checkCompact(data)
}

// appendQuick writes the events that most records of a ledger hold as the JSON
// library would, byte for byte. What it leaves is for the library, which also says
// what is wrong with it.
func appendQuick(out []byte, e Event) (data []byte, ok bool) {
	w := quickCoder{out: out}
	w.event(e)
	return w.out, !w.failed
}

// readQuick reads such an event as the JSON library would, if its members stand as
// appendQuick writes them. After false the event is half read.
func readQuick(data jsontext.Value, e Event) bool {
	r := quickCoder{reading: true, quickReader: quickReader{rest: data}}
	r.event(e)
	return !r.failed && len(r.rest) == 0
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
// backslash: it stands in JSON as it is.
func bare(text []byte) bool { return special(text, 0) == len(text) }

// special finds the first byte from b[i] on that is a quote, a backslash, a control
// character or no ASCII; it is len(b) if there is none. Eight bytes are looked at in
// one: of each, the highest bit is set where it is no ASCII, and where a subtraction ran
// below zero, which it does from the space down, and for a byte that is zero because it
// was the quote or the backslash. A byte may be taken for special because of one before
// it, so it is the first that counts.
func special(b []byte, i int) int {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		eight := binary.LittleEndian.Uint64(b[i:])
		if found := (eight | (eight - each*' ') | ((eight ^ each*'"') - each) | ((eight ^ each*'\\') - each)) & highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
	}
	return i
}

// quickCoder writes the members of objects, or reads them: the order of members stands
// in one place for both. Names come with what stands around them. It has failed when
// there was something for the JSON library.
type quickCoder struct {
	out     []byte
	reading bool
	quickReader
}

// event goes by the very type: an event that has one of these in it is another one.
func (q *quickCoder) event(e Event) {
	switch e := e.(type) {
	case *RollMade:
		e.code(q)
	case *TickProcessed:
		e.code(q)
	case *WoundInflicted:
		e.code(q)
	case *HealGranted:
		e.code(q)
	case *ClockAdvanced:
		e.code(q)
	default:
		q.failed = true
	}
}

// raw is what always stands there.
func (q *quickCoder) raw(s string) {
	if q.reading {
		q.word(s)
		return
	}
	q.out = append(q.out, s...)
}

// has begins what may be left out: when writing it is there if it is said to be.
func (q *quickCoder) has(name string, there bool) bool {
	if q.reading {
		if there = !q.failed && len(q.rest) >= len(name) && string(q.rest[:len(name)]) == name; there {
			q.rest = q.rest[len(name):]
		}
		return there
	}
	if there {
		q.out = append(q.out, name...)
	}
	return there
}

func (q *quickCoder) text(name string, s *string) {
	q.raw(name)
	q.textValue(s)
}

func (q *quickCoder) textIf(name string, s *string) {
	if q.has(name, *s != "") {
		q.textValue(s)
	}
}

func (q *quickCoder) textValue(s *string) {
	if q.reading {
		*s = q.plainText()
		return
	}
	var err error
	if q.out, err = appendText(q.out, *s); err != nil {
		q.failed = true
	}
}

// number is a whole number of any kind.
func number[N int | int64 | uint32](q *quickCoder, name string, n *N) {
	q.raw(name)
	numberValue(q, n)
}

func numberIf[N int | int64](q *quickCoder, name string, n *N) {
	if q.has(name, *n != 0) {
		numberValue(q, n)
	}
}

func numberValue[N int | int64 | uint32](q *quickCoder, n *N) {
	if q.reading {
		read := q.integer()
		*n = N(read)
		q.failed = q.failed || int64(*n) != read
		return
	}
	q.out = strconv.AppendInt(q.out, int64(*n), 10)
	q.failed = q.failed || int64(*n) > MaxInteger || int64(*n) < -MaxInteger
}

func (q *quickCoder) flag(name string, yes *bool) {
	q.raw(name)
	if q.reading {
		if *yes = q.has("true", false); !*yes {
			q.word("false")
		}
		return
	}
	q.out = strconv.AppendBool(q.out, *yes)
}

func (q *quickCoder) valueIf(name string, v *jsontext.Value) {
	if !q.has(name, *v != nil) {
		return
	}
	if q.reading {
		*v = q.anyValue()
		return
	}
	q.out = append(q.out, *v...)
	q.failed = q.failed || len(*v) == 0 || plain(*v, 0, 0) != len(*v)
}

// list is the elements of a list. Nil is written like an empty one, and an empty one is
// read as the JSON library reads it.
func list[T any](q *quickCoder, name string, all *[]T, each func(*T)) {
	q.raw(name)
	q.raw("[")
	if q.reading {
		*all = []T{}
		for !q.failed && !q.next(']') {
			if len(*all) > 0 {
				q.word(",")
			}
			*all = append(*all, *new(T))
			each(&(*all)[len(*all)-1])
		}
	} else {
		for i := range *all {
			if i > 0 {
				q.raw(",")
			}
			each(&(*all)[i])
		}
	}
	q.raw("]")
}

// some is the value that a pointer points to, which reading makes.
func some[T any](q *quickCoder, p **T) *T {
	if q.reading {
		*p = new(T)
	}
	return *p
}

func (e *RollMade) code(q *quickCoder) {
	e.codeOrigin(q)
	q.raw(",")
	e.Throw.code(q)
	if q.has(`,"also":`, e.Also != nil) {
		list(q, "", &e.Also, func(t *Throw) {
			q.raw("{")
			t.code(q)
			q.raw("}")
		})
	}
	q.raw("}")
}

// codeOrigin begins the object with the members that say where the dice come from.
func (e *RollMade) codeOrigin(q *quickCoder) {
	q.text(`{"session":`, &e.Session)
	q.textIf(`,"lane":`, &e.Lane)
	numberIf(q, `,"i":`, &e.I)
	q.textIf(`,"s":`, &e.S)
	q.textIf(`,"c":`, &e.C)
	q.textIf(`,"w":`, &e.W)
	q.text(`,"source":`, &e.Source)
	numberIf(q, `,"call":`, &e.Call)
}

// Origin reads of a roll.made where its dice come from (all but the throws) and leaves
// the rest unread. ok is false when it is not written as EncodeCommit writes it; then
// Registry.Decode reads it.
func Origin(rec *Record) (roll RollMade, ok bool) {
	if rec.Type != roll.Type() {
		return roll, false
	}
	q := quickCoder{reading: true, quickReader: quickReader{rest: rec.Data}}
	roll.codeOrigin(&q)
	return roll, !q.failed
}

func (t *Throw) code(q *quickCoder) {
	q.text(`"expression":`, &t.Expression)
	q.text(`,"purpose":`, &t.Purpose)
	q.textIf(`,"character":`, &t.Character)
	list(q, `,"draws":`, &t.Draws, func(d *Draw) {
		number(q, "[", &d[0])
		number(q, ",", &d[1])
		q.raw("]")
	})
	list(q, `,"modifiers":`, &t.Modifiers, func(m *Modifier) {
		q.text(`{"label":`, &m.Label)
		number(q, `,"value":`, &m.Value)
		q.text(`,"rule":`, &m.Rule)
		q.raw("}")
	})
	number(q, `,"total":`, &t.Total)
	if q.has(`,"against":{"kind":`, t.Against != nil) {
		a := some(q, &t.Against)
		q.textValue(&a.Kind)
		number(q, `,"value":`, &a.Value)
		q.textIf(`,"exact":`, &a.Exact)
		q.raw("}")
	}
	q.textIf(`,"outcome":`, &t.Outcome)
	if q.has(`,"margin":`, t.Margin != nil) {
		numberValue(q, some(q, &t.Margin))
	}
	q.valueIf(`,"detail":`, &t.Detail)
}

func (e *TickProcessed) code(q *quickCoder) {
	e.Subject.code(q)
	q.text(`,"kind":`, &e.Kind)
	number(q, `,"due":`, &e.Due)
	q.flag(`,"rolled":`, &e.Rolled)
	number(q, `,"change":`, &e.Change)
	q.text(`,"rule":`, &e.Rule)
	q.raw("}")
}

func (e *WoundInflicted) code(q *quickCoder) {
	e.Subject.code(q)
	number(q, `,"wound":`, &e.Wound)
	number(q, `,"points":`, &e.Points)
	q.textIf(`,"level":`, &e.Level)
	q.text(`,"cause":`, &e.Cause)
	q.textIf(`,"by":`, &e.By)
	q.textIf(`,"weapon":`, &e.Weapon)
	numberIf(q, `,"absorbed":`, &e.Absorbed)
	q.raw("}")
}

func (e *HealGranted) code(q *quickCoder) {
	e.Subject.code(q)
	number(q, `,"points":`, &e.Points)
	q.text(`,"cause":`, &e.Cause)
	q.raw("}")
}

func (e *ClockAdvanced) code(q *quickCoder) {
	number(q, `{"from":`, &e.From)
	number(q, `,"to":`, &e.To)
	number(q, `,"ticks":`, &e.Ticks)
	q.textIf(`,"stopped":`, &e.Stopped)
	q.failed = q.failed || e.Followed != nil // rare
	q.raw("}")
}

// code begins the object of an event about a character.
func (s *Subject) code(q *quickCoder) {
	q.text(`{"character":`, &s.Character)
	if !q.has(`,"after":{"alive":`, s.After != nil) {
		return
	}
	v := some(q, &s.After)
	q.flag("", &v.Alive)
	number(q, `,"health":{"points":`, &v.Health.Points)
	number(q, `,"max":`, &v.Health.Max)
	q.text(`,"rank":`, &v.Health.Rank)
	number(q, `,"penalty":`, &v.Health.Penalty)
	list(q, `},"conditions":`, &v.Conditions, func(c *Condition) {
		q.text(`{"name":`, &c.Name)
		number(q, `,"since":`, &c.Since)
		numberIf(q, `,"until":`, &c.Until)
		q.text(`,"rule":`, &c.Rule)
		q.raw("}")
	})
	if q.has(`,"next_tick":{"due":`, v.NextTick != nil) {
		n := some(q, &v.NextTick)
		numberValue(q, &n.Due)
		q.text(`,"kind":`, &n.Kind)
		q.raw("}")
	}
	q.valueIf(`,"state":`, &v.State)
	q.raw("}")
}
