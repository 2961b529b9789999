package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/events"
)

const line = `{"v":1,"campaign":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d","n":17,"id":"0193","at":"2026-11-30T19:00:03.000Z","by":"mara","clock":86400,"cmd":{"id":"0193","type":"note.add","data":{"text":"a \"b\" \\ c"}},"type":"note.added","data":{"text":"a \"b\" \\ c"}}`

func TestParse(t *testing.T) {
	rec, err := events.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if rec.N != 17 || rec.Clock != 86_400 || rec.By != "mara" || rec.Cmd.Type != "note.add" {
		t.Errorf("%+v", rec)
	}
	e, err := events.Core().Decode(rec)
	if note, ok := e.(*events.NoteAdded); err != nil || !ok || note.Text != `a "b" \ c` {
		t.Errorf("%v %v", e, err)
	}
}

// Whatever two readers could understand differently is refused.
func TestParseIsStrict(t *testing.T) {
	for what, bad := range map[string]string{
		"key twice":            strings.Replace(line, `"n":17`, `"n":17,"n":18`, 1),
		"key twice, nested":    strings.Replace(line, `"data":{"text"`, `"data":{"text":"x","text"`, 1),
		"key twice, in data":   strings.Replace(line, `"type":"note.added","data":{`, `"type":"note.added","data":{"a":{"b":1,"b":2},`, 1),
		"key twice, escaped":   strings.Replace(line, `"n":17`, `"n":17,"\u006e":18`, 1),
		"unknown key":          strings.Replace(line, `"n":17`, `"n":17,"m":18`, 1),
		"other case":           strings.Replace(line, `"n":17`, `"N":17`, 1),
		"float":                strings.Replace(line, `"n":17`, `"n":17.0`, 1),
		"float in data":        strings.Replace(line, `"type":"note.added","data":{`, `"type":"note.added","data":{"a":1.5,`, 1),
		"exponent":             strings.Replace(line, `86400`, `864e2`, 1),
		"beyond 2^53":          strings.Replace(line, `86400`, `9007199254740992`, 1),
		"beyond -2^53":         strings.Replace(line, `86400`, `-9007199254740992`, 1),
		"minus zero":           strings.Replace(line, `86400`, `-0`, 1),
		"leading zero":         strings.Replace(line, `86400`, `086400`, 1),
		"blank":                strings.Replace(line, `"n":17`, `"n": 17`, 1),
		"tab":                  strings.Replace(line, `"n":17`, "\"n\":\t17", 1),
		"CR at the end":        line + "\r",
		"LF inside":            strings.Replace(line, `,"n"`, ",\n\"n\"", 1),
		"control character":    strings.Replace(line, `mara`, "ma\nra", 1),
		"something behind":     line + "{}",
		"nothing":              "",
		"half":                 line[:len(line)/2],
		"no object":            `[1]`,
		"bad UTF-8":            strings.Replace(line, "mara", "ma\xffra", 1),
		"lone surrogate":       strings.Replace(line, "mara", `ma\ud800ra`, 1),
		"version 2":            strings.Replace(line, `"v":1`, `"v":2`, 1),
		"no id":                strings.Replace(line, `"id":"0193","at"`, `"id":"","at"`, 1),
		"negative n":           strings.Replace(line, `"n":17`, `"n":-17`, 1),
		"data is no object":    strings.Replace(line, `"type":"note.added","data":{"text":"a \"b\" \\ c"}`, `"type":"note.added","data":[1]`, 1),
		"time with an offset":  strings.Replace(line, `.000Z`, `.000+01:00`, 1),
		"no such day":          strings.Replace(line, `11-30`, `11-31`, 1),
		"larger than a record": strings.Replace(line, "mara", strings.Repeat("m", events.MaxRecord), 1),
	} {
		if rec, err := events.Parse([]byte(bad)); err == nil {
			t.Errorf("%s: read as %+v", what, rec)
		}
	}
}

func TestParseCommit(t *testing.T) {
	first, second := line, strings.Replace(strings.Replace(line, `"n":17`, `"n":18`, 1), `,"type":"note.add","data":{"text":"a \"b\" \\ c"}},"type"`, `},"type"`, 1)
	if recs, err := events.ParseCommit([]byte(first + "\n" + second)); err != nil || len(recs) != 2 {
		t.Fatal(err)
	}
	for what, bad := range map[string]string{
		"a gap":             first + "\n" + strings.Replace(second, `"n":18`, `"n":19`, 1),
		"another command":   first + "\n" + strings.Replace(second, `"cmd":{"id":"0193"}`, `"cmd":{"id":"0194"}`, 1),
		"another campaign":  first + "\n" + strings.Replace(second, "0192f1c0", "0192f1c1", 1),
		"a command inside":  first + "\n" + strings.Replace(first, `"n":17`, `"n":18`, 1),
		"no command at all": second,
		"an empty line":     first + "\n",
	} {
		if _, err := events.ParseCommit([]byte(bad)); err == nil {
			t.Errorf("%s was read", what)
		}
	}
}

// What is written is read back the same, and written the same again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		n := rapid.Int64Range(0, 1<<40).Draw(rt, "n")
		facts := []events.Fact{
			{Clock: rapid.Int64Range(-events.MaxInteger, events.MaxInteger).Draw(rt, "clock"), Event: &events.NoteAdded{Text: text}},
			{Event: &events.ClockAdvanced{From: 1, To: 2}},
		}
		data, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			rt.Fatal(err)
		}
		head := events.Head{Campaign: "c", N: n, At: "2026-11-30T19:00:03.000Z", By: "mara", Cmd: events.Cmd{ID: "x", Type: "note.add", Data: data}}
		payload, err := events.EncodeCommit(head, facts, func(i int) string { return fmt.Sprint("id", i) })
		if err != nil {
			rt.Fatal(err)
		}
		recs, err := events.ParseCommit(payload)
		if err != nil {
			rt.Fatalf("%s: %v", payload, err)
		}
		var again []events.Fact
		for _, rec := range recs {
			e, err := events.Core().Decode(rec)
			if err != nil {
				rt.Fatal(err)
			}
			again = append(again, events.Fact{Clock: rec.Clock, Event: e})
		}
		rewritten, err := events.EncodeCommit(head, again, func(i int) string { return fmt.Sprint("id", i) })
		if err != nil || cmp.Diff(string(payload), string(rewritten)) != "" {
			rt.Fatalf("written again: %s (%v)", rewritten, err)
		}
	})
}

func TestLimits(t *testing.T) {
	head := events.Head{Campaign: "c", At: "2026-11-30T19:00:03.000Z", By: "mara", Cmd: events.Cmd{ID: "x", Type: "t", Data: jsontext.Value("{}")}}
	id := func(int) string { return "id" }
	large := events.Fact{Event: &events.NoteAdded{Text: strings.Repeat("x", events.MaxRecord)}}
	if _, err := events.EncodeCommit(head, []events.Fact{large}, id); err == nil {
		t.Error("a record that is too large was written")
	}
	many := make([]events.Fact, events.MaxCommitEvents+1)
	for i := range many {
		many[i] = events.Fact{Event: &events.NoteAdded{Text: "x"}}
	}
	if _, err := events.EncodeCommit(head, many, id); err == nil {
		t.Error("a commit with too many events was written")
	}
	if _, err := events.EncodeCommit(head, nil, id); err == nil {
		t.Error("an empty commit was written")
	}
}

// No input makes the parser panic, and whatever it accepts it accepts again
// when written by its own rules.
func FuzzParse(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte(strings.Replace(line, `"n":17`, `"n":17,"n":18`, 1)))
	f.Add([]byte(line + "\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := events.Parse(b)
		if err != nil {
			return
		}
		if err := events.CheckJSON(b); err != nil {
			t.Fatalf("read, but not strict: %v", err)
		}
		if written, err := json.Marshal(rec); err != nil || len(written) == 0 {
			t.Fatal(err)
		}
		if e, err := events.Core().Decode(rec); err == nil && e.Type() != rec.Type {
			t.Fatalf("%s was read as %s", rec.Type, e.Type())
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.Parse([]byte(line)); err != nil {
			b.Fatal(err)
		}
	}
}
