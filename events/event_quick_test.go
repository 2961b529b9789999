package events

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// quickEvents are those that write themselves.
func quickEvents() []Event {
	return []Event{&RollMade{}, &TickProcessed{}, &WoundInflicted{}, &HealGranted{}, &ClockAdvanced{}}
}

// source gives the numbers and texts that fill a value, from the bytes of a fuzzer.
type source struct{ data []byte }

func (s *source) next() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *source) take(n int) []byte {
	n = min(n, len(s.data))
	taken := s.data[:n]
	s.data = s.data[n:]
	return taken
}

// fill puts something into every field of v, in depth; a field that is added to an
// event is filled as well.
func (s *source) fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[jsontext.Value]() {
		values := []string{"", `{"a":[1,"b"]}`, `null`, `{"a" :1}`, `{`, `"\u0041"`, `{"a":1,"a":2}`}
		if at := int(s.next()) % (len(values) + 2); at < len(values) {
			v.SetBytes([]byte(values[at]))
		} else if at == len(values) {
			v.SetBytes(s.take(int(s.next() % 20)))
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(s.take(int(s.next() % 12))))
	case reflect.Bool:
		v.SetBool(s.next()%2 == 1)
	case reflect.Int, reflect.Int64:
		var b [8]byte
		copy(b[:], s.take(int(s.next()%9)))
		v.SetInt(int64(binary.LittleEndian.Uint64(b[:])))
	case reflect.Uint32:
		v.SetUint(uint64(s.next()) << (s.next() % 25))
	case reflect.Pointer:
		if s.next()%4 > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(t, v.Elem())
		}
	case reflect.Slice:
		if n := int(s.next() % 5); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
			for i := range v.Len() {
				s.fill(t, v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			s.fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a field of kind %v: say how to fill it", v.Kind())
	}
}

// An event that writes itself is written as the JSON library would write it, or
// left to the library.
func FuzzEncodeQuick(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x05Glück\x06a \"b\" \x03\xff\xfe\xfd"))
	everything := make([]byte, 512)
	for i := range everything {
		everything[i] = byte(i*7 + 1)
	}
	f.Add(everything)
	for i := range everything {
		everything[i] = 9
	}
	f.Add(everything)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range quickEvents() {
			(&source{data}).fill(t, reflect.ValueOf(e).Elem())
			got, ok := appendQuick(nil, e)
			if !ok {
				continue
			}
			want, err := json.Marshal(e, json.Deterministic(true))
			if err != nil || string(got) != string(want) {
				t.Errorf("got %s\nwant %s, %v", got, want, err)
			}
			if err := CheckJSON(got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
	})
}

// What the quick reader takes the JSON library takes too, and reads the same.
func FuzzReadQuick(f *testing.F) {
	for _, e := range quickEvents() {
		for range 2 {
			data, _ := appendQuick(nil, e)
			f.Add(data)
			f.Add([]byte(strings.ReplaceAll(string(data), `:0`, `:-1234567`)))
			f.Add([]byte(strings.ReplaceAll(string(data), `[]`, `[{"name":"ü","since":1,"rule":""},{"name":"","since":0,"rule":"x"}]`)))
			f.Add([]byte(strings.ReplaceAll(string(data), `"draws":[]`, `"draws":[[4294967295,1],[4294967296,1]]`)))
			f.Add([]byte(strings.ReplaceAll(string(data), `"draws":[]`, `"draws":[[1,2],]`)))
			f.Add([]byte(string(data) + "}"))
			plainFull(reflect.ValueOf(e).Elem())
			if clock, is := e.(*ClockAdvanced); is {
				clock.Followed = nil
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, got := range quickEvents() {
			want := Core()[got.Type()]()
			if !readQuick(data, got) {
				continue
			}
			if err := json.Unmarshal(data, want, json.RejectUnknownMembers(true)); err != nil || !reflect.DeepEqual(want, got) {
				t.Errorf("%s\ngot  %+v\nwant %+v, %v", data, got, want, err)
			}
		}
	})
}

// plainFull is full without what needs an escape.
func plainFull(v reflect.Value) {
	full(v)
	var each func(reflect.Value)
	each = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString("für 🎲")
		case reflect.Pointer:
			if !v.IsNil() {
				each(v.Elem())
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				each(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				each(v.Field(i))
			}
		}
	}
	each(v)
}

// An event that wrote itself is read the quick way, with every field there is and with
// none, and is the same then.
func TestReadQuick(t *testing.T) {
	for _, e := range quickEvents() {
		for range 2 {
			data, ok := appendQuick(nil, e)
			got, want := Core()[e.Type()](), Core()[e.Type()]()
			if !ok || !readQuick(data, got) {
				t.Errorf("not taken: %s", data)
			}
			err := json.Unmarshal(data, want)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s\ngot  %+v\nwant %+v, %v", data, got, want, err)
			}
			for i := range data {
				if readQuick(data[:i], Core()[e.Type()]()) {
					t.Errorf("taken: %s", data[:i])
				}
			}
			plainFull(reflect.ValueOf(e).Elem())
			if clock, is := e.(*ClockAdvanced); is {
				clock.Followed = nil // that one is left to the library
			}
		}
	}
	// What is half read the quick way leaves nothing behind for the library.
	rec := Record{Type: "heal.granted", Data: jsontext.Value(`{"character":"a","after":{"alive":true},"points":1,"cause":"\u0061"}`)}
	e, err := Core().Decode(rec)
	heal, _ := e.(*HealGranted)
	if err != nil || heal.Cause != "a" || heal.After.Conditions != nil {
		t.Errorf("got %+v, %v", e, err)
	}
}

// full puts something that is plain into every field of v.
func full(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[jsontext.Value]():
		v.SetBytes([]byte(`{"a":[1,"b"]}`))
	case v.Kind() == reflect.String:
		v.SetString("für \"alle\" \n 🎲")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(-7)
	case v.CanUint():
		v.SetUint(7)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			full(v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i))
		}
	}
}

// Every event is written as the JSON library writes it, with every field there is.
func TestEncodeEveryEvent(t *testing.T) {
	for name, make := range Core() {
		e := make()
		full(reflect.ValueOf(e).Elem())
		want, err := json.Marshal(e, json.Deterministic(true))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fact := Fact{Event: e}
		if err := fact.Encode(); err != nil || string(fact.Data) != string(want) {
			t.Errorf("%s: got %s, %v\nwant %s", name, fact.Data, err, want)
		}
	}
}

// The quick way is taken, with every field there is and with none.
func TestEncodeQuick(t *testing.T) {
	for _, e := range quickEvents() {
		for range 2 {
			got, ok := appendQuick(nil, e)
			want, err := json.Marshal(e, json.Deterministic(true))
			if !ok || err != nil || string(got) != string(want) {
				t.Errorf("%s: got %s, %v\nwant %s, %v", e.Type(), got, ok, want, err)
			}
			fact := Fact{Event: e}
			if err := fact.Encode(); err != nil || string(fact.Data) != string(want) {
				t.Errorf("%s: a fact is %s, %v\nwant %s", e.Type(), fact.Data, err, want)
			}
			full(reflect.ValueOf(e).Elem())
			if clock, is := e.(*ClockAdvanced); is {
				clock.Followed = nil // that one is left to the library
			}
		}
	}
	if _, ok := appendQuick(nil, &NoteAdded{}); ok {
		t.Error("a note wrote itself")
	}
	broken := Fact{Event: &TickProcessed{Kind: "\xff"}}
	if err := broken.Encode(); err == nil {
		t.Errorf("text that is no UTF-8 was written as %s", broken.Data)
	}
}

// Facts that are encoded one after the other keep the JSON that each has alone, also
// when somebody appends to one.
func TestEncoder(t *testing.T) {
	var enc Encoder
	var facts []Fact
	for i := range 100 {
		facts = append(facts, Fact{Event: &TickProcessed{Kind: strings.Repeat("x", i*i), Due: int64(i)}}, Fact{Event: &NoteAdded{Text: "a note"}})
	}
	for i := range facts {
		if err := enc.Encode(&facts[i]); err != nil {
			t.Fatal(err)
		}
		_ = append(facts[i].Data, "behind it"...)
	}
	for i, f := range facts {
		alone := Fact{Event: f.Event}
		if err := alone.Encode(); err != nil || string(alone.Data) != string(f.Data) {
			t.Fatalf("fact %d: got %s\nwant %s, %v", i, f.Data, alone.Data, err)
		}
	}
	if err := enc.Encode(&Fact{Event: &TickProcessed{Kind: "\xff"}}); err == nil {
		t.Error("text that is no UTF-8 was written")
	}
}

// Whether a text needs an escape is found at every place of it and for every byte.
func TestBare(t *testing.T) {
	for c := range 256 {
		want := c >= ' ' && c < 0x80 && c != '"' && c != '\\'
		for i := range 20 {
			text := []byte("what stands for itself"[:20])
			text[i] = byte(c)
			if got := bare(text); got != want {
				t.Errorf("%q: got %v, want %v", text, got, want)
			}
		}
	}
}
