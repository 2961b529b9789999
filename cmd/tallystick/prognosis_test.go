package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/replay"
)

// prognosisOf runs the command, and returns what it prints and its exit code.
func prognosisOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append([]string{"prognosis"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// Bob of the rules has 12 of 25 points: what the command prints for people.
func TestPrognosisForPeople(t *testing.T) {
	sheet := `{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}`
	text, err := prognosisOf(t, "--system", "rpgamix", "--sheet", sheet, "--wound", "24")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the casualty: 25 of 25 points, good, before the wound\n",
		"dies            100 %       66.62 %\n",
		"  half by       3 s         24.0 h\n",
		"  mean          3 s         4.9 d\n",
		"recovers        never       33.38 %\n",
		"comes to dead   100 %       66.62 %\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "comes to awful") {
		t.Errorf("somebody incapacitated falls to awful:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if len(line) > 80 {
			t.Errorf("a line is wider than 80: %s", line)
		}
	}
}

// The plot has a column a step: alive until the only death, then blank.
func TestPrognosisPlot(t *testing.T) {
	text, err := prognosisOf(t, "--system", "fudge", "--wound", `{"level":"Near Death"}`, "--treat", "none", "--horizon", "10m")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text, "\n") {
		if row, ok := strings.CutPrefix(line, " 100 % |"); ok && (row != strings.Repeat("#", len(row)) || len(row) != 35) {
			t.Errorf("alive for %d of 70 columns: %q", len(row), row)
		}
	}
}

func TestPrognosisAsJSON(t *testing.T) {
	text, err := prognosisOf(t, "--system", "perp", "--sheet", `{"traits":{},"skills":{},"hp":12}`, "--wound", "12", "--horizon", "20m", "--points", "20", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var o replay.Outlook
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if math.Abs(o.Untreated.Curve[4].Dead-70.0/1296) > 1e-15 || o.Treated.Death.Probability != 0 {
		t.Errorf("%v dead after four minutes, %v when tended", o.Untreated.Curve[4].Dead, o.Treated.Death.Probability)
	}
}

func TestPrognosisCannotBeAsked(t *testing.T) {
	for args, want := range map[string]string{
		"--system x":                               "not on board",
		"--system rpgamix --wound x":               "--wound must be",
		"--system rpgamix --wound null":            "is null",
		"--system rpgamix --wound 3 --horizon now": "--horizon is \"now\"",
		"--system rpgamix --option x":              "must be name=value",
		"--system rpgamix --option x=1":            "options.x",
		"--system rpgamix --sheet {}":              "sheet",
		"--system rpgamix --treat perhaps":         "treat must be",
		"--system rpgamix --points 5000":           "points must be",
		"--system rpgamix a b":                     "leave campaign and character out",
		"a":                                        "are needed",
		"a b --wound 3":                            "are for --system",
		"a b":                                      "--token-file",
	} {
		_, err := prognosisOf(t, strings.Fields(args)...)
		coded, ok := err.(*codeError)
		if !ok || coded.code != exitUnusable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
