package rulestest

import (
	"testing"

	"tallystick/rules"
)

func TestEmber(t *testing.T) { Run(t, rules.NewBook(Ember()), "..") }
