package rules_test

import (
	"errors"
	"strings"
	"testing"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// Real fudge dice are typed in as they show, and drawn as dice of three sides
// like those of the ledger.
func TestFudgeDiceByHand(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	for _, row := range []struct {
		expression, typed, draws string
		faces                    []int
		total                    int
	}{
		{"4dF", `"faces":[-1,0,1,1]`, `"draws":[[3,1],[3,2],[3,3],[3,3]]`, []int{-1, 0, 1, 1}, 1},
		{"2d6+2dF", `"faces":[6,1,-1,0]`, `"draws":[[6,6],[6,1],[3,1],[3,2]]`, []int{6, 1, -1, 0}, 6},
		{"3dFr", `"faces":[-1,0,1,-1]`, `"draws":[[3,1],[3,2],[3,3],[3,1]]`, []int{-1, 0, 1, -1}, 0},
	} {
		facts, err := tb.Do(tb.Command("gm", "roll", `{"expression":"`+row.expression+`"}`, row.faces...))
		if err != nil {
			t.Errorf("%s: %v", row.expression, err)
			continue
		}
		made := facts[0].Event.(*events.RollMade)
		if made.Total != row.total || made.Source != rules.SourcePhysical {
			t.Errorf("%s: %d by %s dice, want %d", row.expression, made.Total, made.Source, row.total)
		}
		raw := string(last(tb.Payloads))
		if !strings.Contains(raw, row.typed) || !strings.Contains(raw, row.draws) {
			t.Errorf("%s is recorded as %s", row.expression, raw)
		}
	}
	for _, row := range []struct {
		expression, field, says string
		faces                   []int
	}{
		{"4dF", "dice.faces.0", "dF", []int{2, 1, 1, 1}},
		{"4dF", "dice.faces.1", "dF", []int{1, 3, 1, 1}},
		{"4dF", "dice.faces.3", "dF", []int{1, 1, 1, -2}},
		{"2d6", "dice.faces.0", "d6", []int{0, 1}},
		{"2d6", "dice.faces.1", "d6", []int{1, -1}},
		{"d3", "dice.faces.0", "d3", []int{-1}},
	} {
		var no *rules.Rejection
		err := tb.Refused("gm", "roll", `{"expression":"`+row.expression+`"}`, row.faces...)
		if !errors.As(err, &no) || no.Code != "impossible_face" || no.Field != row.field || !strings.Contains(no.Reason, row.says) {
			t.Errorf("%s with %v: %v", row.expression, row.faces, err)
		}
	}
}

// An expression without dice is no roll, and the refusal says where and why.
func TestNoDice(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	var no *rules.Rejection
	err := tb.Refused("gm", "roll", `{"expression":"1+2-3*4/5"}`)
	if !errors.As(err, &no) || no.Code != "no_dice" || no.Field != "expression" || !strings.Contains(no.Reason, "position 1") || !strings.Contains(no.Reason, "is 1") || !strings.Contains(no.Reason, "needs a die") {
		t.Errorf("%v", err)
	}
}
