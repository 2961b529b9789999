package systems_test

import (
	"testing"

	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// Every system on board keeps what all systems must keep.
func TestSystems(t *testing.T) {
	for _, book := range systems.Library() {
		t.Run(book.Name(), func(t *testing.T) { rulestest.Run(t, book, "..") })
	}
}
