package rules

import (
	"reflect"
	"slices"
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
