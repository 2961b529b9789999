package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A field that is added to what a campaign remembers is saved, or is said here
// to be made anew.
func TestSaveLeavesNothingOut(t *testing.T) {
	saved := []string{
		"Created", "Keys", "VKeys", "Options", "Clock", "Next", "LastAt", "Session", "Pending", "Tempo",
		"participants", "characters", "order", "known", "sealed", "links", "disputes", "corrections",
	}
	anew := []string{"ID", "Book", "library", "over", "last", "own"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Campaign]()) {
		if !slices.Contains(saved, f.Name) && !slices.Contains(anew, f.Name) {
			t.Errorf("Campaign.%s: does Save write it?", f.Name)
		}
	}
}

// What a campaign remembers of commands is the same after it was packed, and what
// is cut short is refused or has fewer of them, but nothing else.
func TestCommandsAreSaved(t *testing.T) {
	var c commands
	id := func(i int) string { return fmt.Sprintf("0192f1c0-7d6a-7c3e-9b1a-%012x", i) }
	for i := range 300 {
		c.set(id(i), Known{By: fmt.Sprint("player", i%5), Type: "roll", First: int64(3 * i), Last: int64(3*i + i%2), fingerprint: [16]byte{byte(i)}})
	}
	for i, odd := range []string{"x", strings.ToUpper(id(1)), strings.Repeat("é", 64), "0192f1c0"} {
		c.set(odd, Known{By: "gm", Type: "wound.inflict", First: int64(1000 + i), Last: int64(1000 + i)})
	}
	c.set(id(7), Known{By: "gm", Type: "clock.advance", First: 21, Last: 1 << 50})
	c.set("asked again", Known{Last: 5}) // a resumption of what is not remembered
	saved := c.save()
	same := func(s string) string { return s }
	got, err := saved.restore(same, same)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Fatalf("%v\n%+v\nis not\n%+v", err, got, c)
	}
	cut := 0
	for n := range saved.All {
		got, err := savedCommands{saved.Names, saved.All[:n]}.restore(same, same)
		if err == nil && !slices.Equal(got.all, c.all[:len(got.all)]) {
			t.Fatalf("of %d bytes come other commands", n)
		}
		if err != nil {
			cut++
		}
	}
	if want := len(saved.All) - len(c.all); cut != want {
		t.Errorf("%d of %d cuts in the middle of a command were noticed", cut, want)
	}
	if _, err := (savedCommands{saved.Names[:1], saved.All}).restore(same, same); err == nil {
		t.Error("names that are missing were read")
	}
}
