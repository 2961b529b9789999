package rpgamix_test

import (
	"testing"

	"tallystick/rules/rulestest"
)

// The page about the rules has every rule and option, and names only tests that
// exist.
func TestPage(t *testing.T) { rulestest.Page(t, book, "../../docs/rules/rpgamix.md") }
