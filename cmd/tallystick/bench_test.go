package main

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// Every part runs, does the same work as its reference, and prints one JSON object a
// row. What the figures are is not for a test to say.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a store for each part")
	}
	rows := map[string]int{"append": 3, "http": 4, "replay": 1, "verify": 2, "rebuild": 1, "advance": 1, "follow": 2}
	for part, want := range rows {
		t.Run(part, func(t *testing.T) {
			root := rootCommand()
			var out, progress bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&progress)
			root.SetArgs([]string{"bench", part, "--short", "--json", "--trials", "1", "--campaigns", "3", "--data", t.TempDir()})
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(&out)
			lines.Scan()
			var machine benchMachine
			if err := json.Unmarshal(lines.Bytes(), &machine, json.RejectUnknownMembers(true)); err != nil || machine.Cores == 0 {
				t.Errorf("machine: %v in %s", err, lines.Text())
			}
			got := 0
			for ; lines.Scan(); got++ {
				var row benchRow
				if err := json.Unmarshal(lines.Bytes(), &row, json.RejectUnknownMembers(true)); err != nil {
					t.Fatalf("%v in %s", err, lines.Text())
				}
				if row.Row == "" || row.Unit == "" || row.Work == "" || row.Ours <= 0 || row.Ratio <= 0 || len(row.Spread) != 2 {
					t.Errorf("%s", lines.Text())
				}
			}
			if got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
		})
	}
}

// A ratio of different work is not printed.
func TestBenchSameWork(t *testing.T) {
	one := workOf([][][]byte{{[]byte("a"), []byte("b")}, {[]byte("c")}})
	if err := same("row", one, workOf([][][]byte{{[]byte("c")}, {[]byte("a"), []byte("b")}})); err != nil {
		t.Errorf("the order of campaigns counts: %v", err)
	}
	for name, other := range map[string][][][]byte{
		"one is missing":  {{[]byte("a")}, {[]byte("c")}},
		"another byte":    {{[]byte("a"), []byte("x")}, {[]byte("c")}},
		"another order":   {{[]byte("b"), []byte("a")}, {[]byte("c")}},
		"another border":  {{[]byte("ab")}, {[]byte("c")}},
		"another account": {{[]byte("a")}, {[]byte("b"), []byte("c")}},
	} {
		if same("row", one, workOf(other)) == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func TestBenchRow(t *testing.T) {
	var p pairs
	for _, trial := range [][2]float64{{10, 10}, {30, 10}, {20, 10}} {
		p.add(trial[0], trial[1])
	}
	row := p.row(benchRow{Row: "r", Reach: 2, AtMost: true})
	if row.Ratio != 2 || !row.Held || row.Spread[0] != 1 || row.Spread[1] != 3 || row.Ours != 20 || row.Reference != 10 {
		t.Errorf("got %+v", row)
	}
	if row = p.row(benchRow{Reach: 2.1}); row.Held {
		t.Error("a ratio below its reach is held")
	}
	var out strings.Builder
	if err := row.print(&out); err != nil || !strings.Contains(out.String(), "≥ 2.1    no") {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestBenchArguments(t *testing.T) {
	for _, args := range [][]string{{"bench", "speed"}, {"bench", "append", "--trials", "0"}, {"bench", "append", "--campaigns", "0"}} {
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&bytes.Buffer{})
		var coded *codeError
		if err := root.Execute(); !errors.As(err, &coded) || coded.code != exitUnusable {
			t.Errorf("%v: %v", args, err)
		}
	}
}
