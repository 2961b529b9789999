package events

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const quickLine = `{"v":1,"campaign":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d","n":17,"id":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7e","at":"2026-11-30T19:00:03.000Z","by":"mara","clock":86400,` +
	`"cmd":{"id":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7f","type":"roll","data":{"expression":"3d6kh2+1","purpose":"luck"}},"type":"roll.made",` +
	`"data":{"session":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7a","lane":"mara","i":12,"draws":[[6,3],[6,2],[6,5]],"total":9}}`

// What the quick reader takes the strict reader takes too, and reads the same.
func FuzzQuick(f *testing.F) {
	for _, seed := range []string{
		quickLine,
		strings.Replace(quickLine, `,"data":{"expression":"3d6kh2+1","purpose":"luck"}`, "", 1),
		strings.Replace(quickLine, `,"type":"roll","data":{"expression":"3d6kh2+1","purpose":"luck"}`, "", 1),
		strings.Replace(quickLine, `"n":17`, `"n":017`, 1),
		strings.Replace(quickLine, `"total":9`, `"total":9,"total":9`, 1),
		strings.Replace(quickLine, `"luck"`, `"l\u0075ck"`, 1),
		strings.Replace(quickLine, `"luck"`, "\"l\xffck\"", 1),
		strings.Replace(quickLine, `"luck"`, `"Glück"`, 1),
		strings.Replace(quickLine, `"mara","clock"`, `"","clock"`, 1),
		strings.Replace(quickLine, `"draws":[[6,3]`, `"draws":[[6,3}`, 1),
		quickLine + "}", strings.Replace(quickLine, `"v":1`, `"v":2`, 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, again, skimmed Record
		if !quick(line, &Record{}, &got, readCopy) {
			return
		}
		if !quick(line, &got, &again, readPart) || !cmp.Equal(again, got) {
			t.Fatalf("%s: after itself it is %v", line, again)
		}
		if !quick(line, &Record{}, &skimmed, skim) || !cmp.Equal(skimmed, got) {
			t.Fatalf("%s: skimmed it is %v", line, skimmed)
		}
		gotErr := got.check("")
		want, err := parseStrictly(line)
		if (gotErr == nil) != (err == nil) {
			t.Fatalf("%s: quick says %v, strict %v", line, gotErr, err)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s: (-strict +quick)\n%s", line, diff)
		}
	})
}

// What plain takes is strict JSON as records hold it, and stays as it is when the
// JSON library writes it.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[true,false,null,-1,0,"für 🎲",{}],"c":{"a":[]}}`, `{"a":1,"a":2}`, `[1,2,]`, `{"a":1,}`, `[01]`, `-0`, `-`, `1.5`, `1e3`,
		`9007199254740992`, `"a\u0041"`, "\"\xff\"", `{"a" :1}`, `[1 ]`, `nul`, `nulll`, "\"\x7f\"", "\"\xed\xa0\x80\"", `{"":{"":""}}`,
		strings.Repeat("[", 40) + strings.Repeat("]", 40), "\"\u2028<&>\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if plain(value, 0, 0) != len(value) || len(value) == 0 {
			return
		}
		if err := CheckJSON(value); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		written, err := json.Marshal(jsontext.Value(value))
		if err != nil || string(written) != string(value) {
			t.Errorf("%s: written as %s, %v", value, written, err)
		}
	})
}

// A command is written as the JSON library would write it.
func FuzzAppendCmd(f *testing.F) {
	f.Add("0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7f", "roll", []byte(`{"expression":"3d6"}`))
	f.Add("", "", []byte(`{"a": "\u0041"}`))
	f.Add("\xff", "a \"b\"", []byte(nil))
	f.Add("c", "", []byte(`{"a":1}{}`))
	f.Add("c", "", []byte(`{`))
	f.Fuzz(func(t *testing.T, id, typ string, data []byte) {
		c := Cmd{ID: id, Type: typ}
		if len(data) > 0 {
			c.Data = data
		}
		got, err := appendCmd([]byte("before"), c)
		got = bytes.TrimPrefix(got, []byte("before"))
		want, failed := json.Marshal(c)
		if (err == nil) != (failed == nil) || err == nil && string(got) != string(want) {
			t.Errorf("got %s, %v\nwant %s, %v", got, err, want, failed)
		}
	})
}

// The time is as strict as a round trip through package time.
func FuzzAt(f *testing.F) {
	for _, seed := range []string{"2026-11-30T19:00:03.000Z", "2026-11-30T9:00:03.0000Z", "2026-11-30T19:00:03,000Z", "2026-02-30T19:00:03.000Z", "2026-11-30T24:00:03.000Z", "0000-01-10T00:00:00.+00Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, at string) {
		when, err := time.Parse(TimeFormat, at)
		want := err == nil && when.Format(TimeFormat) == at
		r := Record{V: Version, Campaign: "c", ID: "i", By: "b", Type: "t", Cmd: Cmd{ID: "c"}, At: at, Data: []byte("{}")}
		if got := r.check("") == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", at, got, want)
		}
	})
}

// A record is written as the JSON library would write it, or not at all when a reader
// of records would refuse it: what is compared with it need not be read before.
func FuzzAppendRecord(f *testing.F) {
	f.Add("0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d", "mara", "2026-11-30T19:00:03.000Z", int64(17), int64(-1), "a \"note\" <b>\u2028 für \x00 \\ 🎲")
	f.Add("", "\xff", "", int64(MaxInteger), int64(0), "")
	f.Fuzz(func(t *testing.T, campaign, by, at string, n, clock int64, note string) {
		fact := Fact{Clock: clock, Event: &NoteAdded{Text: note}}
		head := Head{Campaign: campaign, At: at, By: by, N: n, Cmd: Cmd{ID: note, Type: by, Dice: &Hand{Faces: []int{1, 2}}}}
		got, err := EncodeCommit(head, []Fact{fact}, func(int) string { return at })
		data, failed := json.Marshal(fact.Event, json.Deterministic(true))
		want, alsoFailed := []byte(nil), failed
		if failed == nil {
			want, alsoFailed = json.Marshal(Record{
				V: Version, Campaign: campaign, N: n, ID: at, At: at, By: by, Clock: clock, Cmd: head.Cmd, Type: "note.added", Data: data,
			})
		}
		if len(want) > MaxRecord {
			return
		}
		if alsoFailed == nil {
			alsoFailed = CheckJSON(want) // a number that no reader of records takes
		}
		if (err == nil) != (alsoFailed == nil) || err == nil && string(got) != string(want) {
			t.Errorf("got %s, %v\nwant %s, %v", got, err, want, alsoFailed)
		}
	})
}

// The quick way is taken at all: with what is stored day by day.
func TestQuickTakes(t *testing.T) {
	for _, line := range []string{quickLine, strings.Replace(quickLine, `,"type":"roll","data":{"expression":"3d6kh2+1","purpose":"luck"}`, "", 1)} {
		if !quick([]byte(line), &Record{}, new(Record), readCopy) {
			t.Errorf("not taken: %s", line)
		}
	}
	if quick([]byte(strings.Replace(quickLine, `"luck"`, `"l\u0075ck"`, 1)), &Record{}, new(Record), readCopy) {
		t.Error("an escape was taken")
	}
}

func BenchmarkParse(b *testing.B) {
	line := []byte(quickLine)
	b.Run("quick", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("strict", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseStrictly(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
