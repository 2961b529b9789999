package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command that there is not is refused below every command, not answered with
// help and success; without any, the help is shown.
func TestUnknownCommands(t *testing.T) {
	parents := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			look(c)
		}
		if !cmd.HasSubCommands() || !cmd.HasParent() || cmd.Args != nil { // those take arguments of their own
			return
		}
		parents++
		path := strings.Fields(cmd.CommandPath())[1:]
		_, errs, code := told(t, append(path, "nonsense", "x")...)
		if code != exitUnusable || !strings.Contains(errs, `unknown command "nonsense"`) {
			t.Errorf("%s nonsense: code %d, %s", cmd.CommandPath(), code, errs)
		}
		out, _, code := told(t, path...)
		if code != exitOK || !strings.Contains(out, "Available Commands") {
			t.Errorf("%s: code %d, %s", cmd.CommandPath(), code, out)
		}
	}
	look(rootCommand())
	if parents < 5 { // bot, dispute, seat, token, webhook
		t.Errorf("%d commands have commands", parents)
	}
	if _, errs, code := told(t, "completion", "nonsense"); code == exitOK || !strings.Contains(errs, "nonsense") {
		t.Errorf("completion nonsense: code %d, %s", code, errs)
	}
}
