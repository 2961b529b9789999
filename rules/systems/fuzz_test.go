package systems_test

import (
	"errors"
	"testing"

	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Whatever is given as a command of any system is decided or refused in a way
// that has a name; it never panics, and what is recorded of it is the same when
// it is read again.
func FuzzCommand(f *testing.F) {
	tables := []*rulestest.Table{}
	for _, book := range systems.Library() {
		tb := rulestest.NewTable(f, book, "")
		tb.Must("gm", "participant.add", `{"handle":"anna","role":"player"}`)
		tb.Must("gm", "session.open", `{"title":"Fuzz","kind":"table"}`)
		sheet, err := rules.Canonical(book.Example())
		if err != nil {
			f.Fatal(err)
		}
		tb.Must("gm", "character.create", `{"name":"Mara","kind":"pc","owner":"anna","creation":"free","sheet":`+string(sheet)+`}`)
		tables = append(tables, tb)
		for _, spec := range book.Specs() {
			f.Add(spec.Type, `{}`, "gm", true)
			if data, err := rules.Canonical(spec.New()); err == nil {
				f.Add(spec.Type, string(data), "anna", false)
			}
		}
	}
	for _, data := range []string{
		`{"expression":"3d6kh2+1"}`, `{"seconds":9007199254740991}`, `{"by":"3d4h"}`, `{"character":"","points":-1,"cause":"x"}`, `{"name":"\u0000"}`, `[`, `null`, `{"a":1,"a":2}`,
	} {
		f.Add("roll", data, "anna", false)
		f.Add("clock.advance", data, "gm", false)
		f.Add("wound.inflict", data, "gm", true)
	}
	f.Fuzz(func(t *testing.T, typ, data, by string, byHand bool) {
		for _, tb := range tables {
			tb := tb.Clone(t)
			cmd := tb.Command(by, typ, data)
			if byHand {
				cmd = tb.Command(by, typ, data, 6, 1, 3)
			}
			ready, err := tb.State.Canonical(cmd)
			if err != nil {
				named(t, err)
				continue
			}
			again, err := tb.State.Canonical(ready)
			if err != nil || string(again.Data) != string(ready.Data) {
				t.Errorf("%s %s is recorded as %s, and that as %s, %v", typ, data, ready.Data, again.Data, err)
			}
			if _, err := tb.Do(ready); err != nil && !errors.Is(err, rules.ErrNoHistory) {
				named(t, err)
			}
		}
	})
}

// named fails unless an error is one that a client is told.
func named(t *testing.T, err error) {
	t.Helper()
	var (
		invalid   *rules.Invalid
		rejection *rules.Rejection
		forbidden *rules.Forbidden
		pending   *rules.PendingError
	)
	if !errors.As(err, &invalid) && !errors.As(err, &rejection) && !errors.As(err, &forbidden) && !errors.As(err, &pending) {
		t.Errorf("an error without a name: %v", err)
	}
}
