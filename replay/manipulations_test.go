package replay_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules"
)

// The long form of the check below; docs/reliability.md has what it gave.
var manipulations = flag.Int("manipulations", 120, "how often TestManipulations rewrites an export")

var number = regexp.MustCompile(`\d+`)

// manipulated is a ledger as somebody would like it to have been: by one who
// runs the server, knows the format, and holds the signing key.
func manipulated(random *rand.Rand, honest [][]byte) (how string, lines [][]byte) {
	lines = slices.Clone(honest)
	k := random.IntN(len(lines))
	other := random.IntN(len(lines))
	switch random.IntN(10) {
	case 0:
		return "a record is gone", slices.Delete(lines, k, k+1)
	case 1:
		return "a record is gone, and the rest is counted anew", recounted(slices.Delete(lines, k, k+1))
	case 2:
		return "a record stands twice", recounted(slices.Insert(lines, k, lines[other]))
	case 3:
		lines[k], lines[other] = lines[other], lines[k]
		return "two records changed places", lines
	case 4:
		lines[k], lines[other] = lines[other], lines[k]
		return "two records changed places, and are counted anew", recounted(lines)
	case 5:
		return "the end is gone", lines[:k]
	case 6:
		b := slices.Clone(lines[k])
		b[random.IntN(len(b))] ^= 1 << random.IntN(7)
		lines[k] = b
		return "a bit is another", lines
	case 7:
		lines[k] = told(lines[k], lines[other])
		return "a record tells what another does", lines
	case 8:
		lines = slices.Insert(lines, k, told(lines[k], lines[other]))
		return "a record is put between", recounted(lines)
	}
	spots := number.FindAllIndex(lines[k], -1)
	at := spots[random.IntN(len(spots))]
	digit := []byte(fmt.Sprint(random.IntN(1000)))
	lines[k] = slices.Concat(lines[k][:at[0]], digit, lines[k][at[1]:])
	return "a number is another", lines
}

// told is a record with what happened in another one.
func told(line, other []byte) []byte {
	rec, err := events.Parse(line)
	if err != nil {
		panic(err)
	}
	happened, err := events.Parse(other)
	if err != nil {
		panic(err)
	}
	rec.Type, rec.Data = happened.Type, happened.Data
	if line, err = json.Marshal(rec); err != nil {
		panic(err)
	}
	return line
}

var counter = regexp.MustCompile(`"n":\d+`)

// recounted gives every record the n of its place.
func recounted(lines [][]byte) [][]byte {
	for n, line := range lines {
		at := counter.FindIndex(line)
		lines[n] = slices.Concat(line[:at[0]], fmt.Appendf(nil, `"n":%d`, n), line[at[1]:])
	}
	return lines
}

// perBatch is how many exports one process of the script checks.
const perBatch = 120

// Whatever is done to a ledger, and signed anew by who holds the key: whoever
// kept the last checkpoint sees it, with the program and with a script that
// shares no line with it. The whole set is -manipulations 10000.
func TestManipulations(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not on this machine, and it is the second verifier")
	}
	n := play(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	refused := make([]map[string]int, (*manipulations+perBatch-1)/perBatch)
	t.Run("batches", func(t *testing.T) { // as many at a time as there are processors
		for i := range refused {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				times := min(perBatch, *manipulations-i*perBatch)
				refused[i] = rewritten(t, n, rand.New(rand.NewPCG(seed, uint64(i))), times)
			})
		}
	})
	all, total := map[string]int{}, 0
	for _, batch := range refused {
		for how, times := range batch {
			all[how] += times
			total += times
		}
	}
	for how, times := range all {
		t.Logf("%6d %s", times, how)
	}
	if t.Logf("%6d in all, each refused by both", total); total != *manipulations {
		t.Errorf("that should be %d", *manipulations)
	}
}

// rewritten rewrites the ledger of a night so many times, and counts how it was
// done and noticed.
func rewritten(t *testing.T, n *night, random *rand.Rand, times int) (refused map[string]int) {
	honest := n.lines()
	kept := n.sign(honest, len(honest))
	arguments := map[string][]string{"honest": bundle(t, n, honest, kept, kept)}
	names := map[string]string{}
	refused = map[string]int{}
	for i := 0; i < times; {
		how, lines := manipulated(random, honest)
		data := export(lines)
		if bytes.Equal(data, export(honest)) {
			continue // it came out as it was
		}
		i++
		server := kept
		if len(lines) > 0 {
			server = n.sign(lines, len(lines))
		}
		e := replay.Evidence{Library: rules.Library{embers}, Kept: []replay.Note{{Name: "kept", Text: kept}}, Server: &replay.Note{Name: "checkpoint", Text: server}}
		_, err := replay.Verify(bytes.NewReader(data), e)
		if failure := (*replay.Failure)(nil); !errors.As(err, &failure) {
			t.Errorf("manipulation %d: the program accepts that %s: %v", i, how, err)
			continue
		}
		name := fmt.Sprint("manipulation ", i)
		arguments[name], names[name] = bundle(t, n, lines, server, kept), how
	}
	for name, a := range check(t, "python3", "verify.py", arguments) {
		switch {
		case name == "honest" && a.Code != 0:
			t.Errorf("the script refuses what is honest: %s", a.Output)
		case name != "honest" && a.Code != 1:
			t.Errorf("the script accepts that %s (%s): %s", names[name], name, a.Output)
		case name != "honest":
			refused[names[name]]++
		}
	}
	return refused
}
