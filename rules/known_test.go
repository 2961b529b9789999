package rules

import (
	"maps"
	"testing"
)

// Commands are found by their very ids, and by no others: a UUID in capitals is another
// id than in small letters, and what only looks like one is kept as it is.
func TestCommandsById(t *testing.T) {
	ids := []string{
		"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d", "0192F1C0-7d6a-7c3e-9b1a-3f2f4a5b6c7d", "0192f1c07d6a7c3e9b1a3f2f4a5b6c7d",
		"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7", "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7g", "0192f1c0_7d6a-7c3e-9b1a-3f2f4a5b6c7d",
		"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7e", "00000000-0000-0000-0000-000000000000", "", "command 7", "0192f1c0-7d6a-7c3e-9b1a--f2f4a5b6c7d",
	}
	var c commands
	for i, id := range ids {
		if _, ok := c.find(id); ok {
			t.Errorf("%q was found before it came", id)
		}
		c.set(id, Known{First: int64(i)})
	}
	want := map[string]Known{}
	for i, id := range ids {
		k, ok := c.find(id)
		if !ok || k.First != int64(i) {
			t.Errorf("%q: got %+v, %v, want %d", id, k, ok, i)
		}
		want[id] = k
	}
	if got := maps.Collect(c.each()); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	other := c.clone()
	other.set(ids[0], Known{First: 100})
	other.set("new", Known{})
	if k, _ := c.find(ids[0]); k.First != 0 || len(c.all) != len(ids) {
		t.Errorf("a clone changed what it was made of: %+v, %d", k, len(c.all))
	}
}
