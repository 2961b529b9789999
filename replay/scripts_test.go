package replay_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The independent checkers, which players run without any program of ours,
// must say of our ledgers what the verifier says, as far as they reach: they
// do not know the rules of any game.
const scripts = "../docs/verify/"

// Each driver runs one checker for every folder given, in one process.
var drivers = map[string][]string{
	"python3": {"-B", "-c", `
import contextlib, functools, io, json, sys
@functools.cache
def compiled(path):
    with open(path) as script:
        return compile(script.read(), path, "exec")
results = {}
for name, arguments in json.load(sys.stdin).items():
    sys.argv, output, code = arguments, io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(output):
            exec(compiled(arguments[0]), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    results[name] = {"output": output.getvalue(), "code": code}
json.dump(results, sys.stdout)
`},
	"node": {"--no-warnings", "--input-type=module", "-e", `
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
const results = {}
for (const [name, [script, ...args]] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  const { main } = await import(pathToFileURL(script))
  const lines = []
  const code = await main(args, line => lines.push(line))
  results[name] = { output: lines.join('\n'), code }
}
process.stdout.write(JSON.stringify(results))
`},
}

type answer struct {
	Output string `json:"output"`
	Code   int    `json:"code"`
}

// check runs a checker over many folders.
func check(t *testing.T, program, script string, arguments map[string][]string) map[string]answer {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not on this machine: %s is not tested", program, script)
	}
	full, err := filepath.Abs(scripts + script)
	if err != nil {
		t.Fatal(err)
	}
	for name := range arguments {
		arguments[name] = append([]string{full}, arguments[name]...)
	}
	input, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, drivers[program]...)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]answer{}
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return answers
}

// bundle writes an export and the checkpoint that anna kept, and gives the
// arguments to check it with.
func bundle(t *testing.T, n *night, lines [][]byte, server, kept []byte) []string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("events.jsonl", export(lines))
	write("checkpoint", server)
	write("vkey", []byte(n.signer.VKey()+"\n"))
	arguments := []string{dir, "--me", "anna"}
	if kept != nil {
		arguments = append(arguments, "--checkpoint", write("kept", kept))
	}
	return arguments
}

func TestScriptsAgree(t *testing.T) {
	for _, c := range []struct{ program, script string }{{"python3", "verify.py"}, {"node", "verify.mjs"}} {
		t.Run(c.script, func(t *testing.T) {
			n := play(t)
			honest := n.lines()
			kept := n.sign(honest, len(honest)-keptAt)
			arguments, wants := map[string][]string{}, map[string]want{}
			add := func(name string, lines [][]byte, server, kept []byte, w want) {
				arguments[name], wants[name] = bundle(t, n, lines, server, kept), w
			}
			add("honest", honest, n.sign(honest, len(honest)), kept, unseen)
			for _, e := range edits(t, n) {
				edited := e.do(n, honest)
				at, resigned := e.at, e.script
				if e.script.through > 0 {
					at = e.script // without the rules only the checkpoint tells
				}
				add(e.kind+"/without the key", edited, n.sign(honest, len(honest)), kept, at)
				add(e.kind+"/with the key", edited, n.sign(edited, len(edited)), kept, resigned)
			}
			for _, z := range zeroed {
				forged, k := zero(t, honest, z.event, z.field)
				add("zeros in "+z.event+" "+z.field, forged, n.sign(forged, len(forged)), nil, exactly(int64(k)))
			}
			spoilt := n.sign(honest, len(honest))
			spoilt[len(spoilt)-20] ^= 1
			arguments["spoilt"] = bundle(t, n, honest, spoilt, nil)
			answers := check(t, c.program, c.script, arguments)
			for name, w := range wants {
				agree(t, name, answers[name], w)
			}
			if got := answers["spoilt"]; got.Code != 1 || !strings.Contains(got.Output, "FAILED: checkpoint") {
				t.Errorf("a spoilt signature: got code %d\n%s", got.Code, got.Output)
			}
			for _, line := range []string{"gm: 2 rolls checked, 2 not shown", "cleo.2: 1 rolls checked", "anna, bo, cleo.2 and gm all together", "RESTS ON THE SERVER ALONE", "2 with anna"} {
				if !strings.Contains(answers["honest"].Output, line) {
					t.Errorf("the report lacks %q:\n%s", line, answers["honest"].Output)
				}
			}
		})
	}
}

func agree(t *testing.T, name string, got answer, w want) {
	t.Helper()
	code, text := 1, fmt.Sprintf("FAILED: record %d:", w.n)
	ends := fmt.Sprintf("FAILED: the export ends after %d records", w.n)
	switch {
	case w == unseen:
		code, text = 0, "records good"
	case w.through != 0:
		text = fmt.Sprintf("FAILED: the first %d records are not the ones", w.through+1)
	}
	named := strings.Contains(got.Output, text) || code == 1 && strings.Contains(got.Output, ends)
	if got.Code != code || !named {
		t.Errorf("%s: got code %d, want %d with %q:\n%s", name, got.Code, code, text, got.Output)
	}
}
