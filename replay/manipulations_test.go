package replay_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

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
	switch random.IntN(8) {
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
	}
	spots := number.FindAllIndex(lines[k], -1)
	at := spots[random.IntN(len(spots))]
	digit := []byte(fmt.Sprint(random.IntN(1000)))
	lines[k] = slices.Concat(lines[k][:at[0]], digit, lines[k][at[1]:])
	return "a number is another", lines
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

// Whatever is done to a ledger, and signed anew by who holds the key: whoever
// kept the last checkpoint sees it, with the program and with a script that
// shares no line with it. The whole set is -manipulations 10000.
func TestManipulations(t *testing.T) {
	n := play(t)
	honest := n.lines()
	kept := n.sign(honest, len(honest))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	const batch = 250
	refused := map[string]int{}
	arguments, names := map[string][]string{"honest": bundle(t, n, honest, kept, kept)}, map[string]string{}
	ask := func() {
		for name, a := range check(t, "python3", "verify.py", arguments) {
			switch {
			case name == "honest" && a.Code != 0:
				t.Errorf("the script refuses what is honest: %s", a.Output)
			case name != "honest" && a.Code != 1:
				t.Errorf("the script accepts that %s (%s): %s", names[name], name, a.Output)
			}
		}
		arguments, names = map[string][]string{}, map[string]string{}
	}
	for i := range *manipulations {
		how, lines := manipulated(random, honest)
		data := export(lines)
		if bytes.Equal(data, export(honest)) {
			continue // it came out as it was
		}
		server := kept
		if len(lines) > 0 {
			server = n.sign(lines, len(lines))
		}
		e := replay.Evidence{Library: rules.Library{embers}, Kept: []replay.Note{{Name: "kept", Text: kept}}, Server: &replay.Note{Name: "checkpoint", Text: server}}
		_, err := replay.Verify(bytes.NewReader(data), e)
		if failure := (*replay.Failure)(nil); !errors.As(err, &failure) {
			t.Errorf("manipulation %d: the program accepts that %s: %v", i, how, err)
		}
		refused[how]++
		name := fmt.Sprint("manipulation ", i)
		arguments[name], names[name] = bundle(t, n, lines, server, kept), how
		if len(arguments) >= batch {
			ask()
		}
	}
	ask()
	total := 0
	for how, times := range refused {
		t.Logf("%6d %s", times, how)
		total += times
	}
	t.Logf("%6d in all", total)
}
