package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/spf13/cobra"

	"tallystick/projections"
	"tallystick/replay"
)

// running runs a command as the program does, and gives what it prints and its
// exit code.
func running(cmd *cobra.Command, args ...string) (out string, code int, err error) {
	var buf bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&buf)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	var coded *codeError
	switch {
	case err == nil:
		return buf.String(), exitOK, nil
	case errors.As(err, &coded):
		return buf.String(), coded.code, err
	}
	return buf.String(), exitDiverged, err
}

// folder is a folder of exports: as many good ones as asked for, and others.
func folder(t *testing.T, good int, spoilt map[string]func(ledger []byte) []byte) string {
	t.Helper()
	root := t.TempDir()
	source := bundle(t)
	for i := range good {
		copied(t, source, filepath.Join(root, "season", fmt.Sprintf("s%03d", i)), nil)
	}
	for name, spoil := range spoilt {
		copied(t, source, filepath.Join(root, name), spoil)
	}
	return root
}

func copied(t *testing.T, source, target string, spoil func([]byte) []byte) {
	t.Helper()
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{eventsFile, checkpointFile, vkeyFile} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == eventsFile && spoil != nil {
			text = spoil(text)
		}
		if err := os.WriteFile(filepath.Join(target, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func edited(ledger []byte) []byte {
	return bytes.Replace(ledger, []byte(`"title":"one"`), []byte(`"title":"two"`), 1)
}

// unknownEdition is a ledger, whole, of rules that nobody has yet.
func unknownEdition(ledger []byte) []byte {
	return bytes.Replace(ledger, []byte(`"edition":1`), []byte(`"edition":99`), 1)
}

// Many exports have one summary and one exit code; names stay out of it unless
// they are asked for.
func TestVerifyMany(t *testing.T) {
	bad := map[string]func([]byte) []byte{"Mara's night": edited}
	for name, c := range map[string]struct {
		spoilt map[string]func([]byte) []byte
		code   int
		counts []string
	}{
		"good":     {nil, exitOK, []string{"exports          40", "verified         40", "diverged          0"}},
		"diverged": {bad, exitDiverged, []string{"exports          41", "verified         40", "diverged          1"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := folder(t, 40, c.spoilt)
			out, code, err := running(verifyCommand(), root)
			if code != c.code {
				t.Errorf("code %d, %v\n%s", code, err, out)
			}
			for _, want := range c.counts {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			if strings.Contains(out, "Mara") || strings.Contains(out, "Night watch") {
				t.Errorf("names in\n%s", out)
			}
			named, _, _ := running(verifyCommand(), root, "--names")
			if strings.Contains(named, "Mara's night: diverged: record 2") != (c.spoilt != nil) {
				t.Errorf("with names\n%s", named)
			}
		})
	}
	// What is no ledger is not one that was tampered with.
	other := folder(t, 2, nil)
	for name, text := range map[string]string{"poem.jsonl": "Tell me, O muse\n", "empty.jsonl": "", "other.jsonl": "{\"a\":1}\n"} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, code, err := running(verifyCommand(), filepath.Join(other, name)); code != exitUnusable || !strings.Contains(err.Error(), "is no ledger") {
			t.Errorf("%s: code %d, %v", name, code, err)
		}
	}
	if out, code, err := running(verifyCommand(), other); code != exitUnusable || !strings.Contains(out, "unusable          3") || !strings.Contains(out, "diverged          0") {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
	// An edition that is not on board is neither yes nor no, of one and of many.
	root := t.TempDir()
	copied(t, bundle(t), root, unknownEdition)
	if err := errors.Join(os.Remove(filepath.Join(root, checkpointFile)), os.Mkdir(filepath.Join(root, "empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*cobra.Command{verifyCommand(), replayCommand()} {
		if out, code, err := running(cmd, root); code != exitUnusable || !strings.Contains(err.Error(), "edition 99 of") || strings.Contains(out, "verified: ") || strings.Contains(out, "identical\n") {
			t.Errorf("%s: code %d, %v\n%s", cmd.Name(), code, err, out)
		}
	}
	if out, code, _ := running(verifyCommand(), filepath.Dir(root)); code != exitUnusable || !strings.Contains(out, "unknown           1") {
		t.Errorf("code %d\n%s", code, out)
	}
	if _, code, err := running(verifyCommand(), filepath.Join(root, "empty")); code != exitUnusable {
		t.Errorf("an empty folder: code %d, %v", code, err)
	}
}

// Every die of every roll is one row, the same in every format, in the order
// of the exports' paths.
func TestExportRows(t *testing.T) {
	root := folder(t, 7, nil)
	dice := map[string][]string{}
	for format := range rowWriters {
		file := filepath.Join(t.TempDir(), "dice")
		if _, code, err := running(exportCommand(), "--format", format, "--out", file, root); code != exitOK {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		switch format {
		case "csv":
			rows, err := csv.NewReader(f).ReadAll()
			if err != nil || !slices.Equal(rows[0], columns) {
				t.Fatalf("%v: %v", err, rows)
			}
			for _, r := range rows[1:] {
				dice[format] = append(dice[format], strings.Join(r, ","))
			}
		case formatNDJSON:
			text, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			dice[format] = strings.Split(strings.TrimSpace(string(text)), "\n")
		case "parquet":
			rows, err := parquet.Read[dieRow](f, size(t, f))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				dice[format] = append(dice[format], strings.Join(r.cells(), ","))
			}
		}
		if _, code, err := running(exportCommand(), "--format", format, "--out", file, root); code != exitUnusable {
			t.Errorf("%s overwrites: %v", format, err)
		}
	}
	if len(dice["csv"]) != 14 || !slices.Equal(dice["csv"], dice["parquet"]) || len(dice[formatNDJSON]) != 14 {
		t.Errorf("%d, %d and %d rows", len(dice["csv"]), len(dice["parquet"]), len(dice[formatNDJSON]))
	}
	if strings.Contains(dice["csv"][0], "gm") {
		t.Errorf("a name in %s", dice["csv"][0])
	}
	out, _, _ := running(exportCommand(), "--format", "csv", "--out", "-", "--names", root)
	if !strings.Contains(out, ",gm,") {
		t.Errorf("no names in %s", out)
	}
	if _, code, _ := running(exportCommand(), "--format", "xls", "--out", "-", root); code != exitUnusable {
		t.Error("an unknown format is taken")
	}
}

func size(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A cell that a spreadsheet would take for a formula is made text.
func TestInert(t *testing.T) {
	for cell, want := range map[string]string{"": "", "luck": "luck", "-3": "-3", "=1+1": "'=1+1", "@x": "'@x", "+4": "'+4", "-a": "'-a", "\tx": "'\tx"} {
		if got := inert(cell); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
	}
}

// Results come in the order of the items, whoever is done first; an error ends
// everything and is the one of the first item that has one.
func TestInOrder(t *testing.T) {
	numbers := func(n int) func(func(int, error) bool) {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
	var got []int
	err := inOrder(context.Background(), 5, numbers(500),
		func(i int, emit func(int) error) error {
			for range i % 7 {
				if err := emit(i); err != nil {
					return err
				}
			}
			return nil
		},
		func(_, v int) error { got = append(got, v); return nil })
	if err != nil || !slices.IsSorted(got) || len(got) != 1494 {
		t.Errorf("%v, %d results, sorted %v", err, len(got), slices.IsSorted(got))
	}
	broken := errors.New("broken")
	got = nil
	err = inOrder(context.Background(), 5, numbers(500),
		func(i int, emit func(int) error) error {
			if i >= 100 {
				return fmt.Errorf("%d: %w", i, broken)
			}
			return emit(i)
		},
		func(_, v int) error { got = append(got, v); return nil })
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "100:") || len(got) != 100 {
		t.Errorf("%v after %d", err, len(got))
	}
	err = inOrder(context.Background(), 3, numbers(500), func(i int, emit func(int) error) error { return emit(i) }, func(i, _ int) error {
		if i == 7 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if err := inOrder(stopped, 3, numbers(500), func(i int, emit func(int) error) error { return emit(i) }, func(int, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Keys lead through the steps of a session and never beyond its ends.
func TestWalk(t *testing.T) {
	var steps []replay.Step
	for i := range 4 {
		steps = append(steps, replay.Step{N: int64(100 + i), Type: "note.add", By: "gm", Characters: []projections.Character{{Name: "Mara"}, {Name: "Wren"}}})
	}
	for typed, want := range map[string][]string{
		"q":                   {"1 of 4"},
		" \rq":                {"1 of 4", "2 of 4", "3 of 4"},
		"\x1b[D\x1b[C\x1b[Cq": {"1 of 4", "1 of 4", "2 of 4", "3 of 4"},
		"G gpq":               {"1 of 4", "4 of 4", "4 of 4", "1 of 4", "1 of 4"},
		"x\x03":               {"1 of 4", "1 of 4"},
		"":                    {"1 of 4"},
	} {
		var out bytes.Buffer
		if err := walk(&keyboard{typed}, &out, steps); err != nil {
			t.Fatal(err)
		}
		var got []string
		for screen := range strings.SplitSeq(out.String(), "\x1b[2J\x1b[H") {
			if at, _, ok := strings.Cut(screen, "   "); ok {
				got = append(got, at)
				if !strings.Contains(screen, "Mara: ") || !strings.Contains(screen, "Wren: ") {
					t.Errorf("%q: not everybody is shown: %q", typed, screen)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", typed, got, want)
		}
	}
}

// keyboard sends one key at a time, as a terminal does.
type keyboard struct{ typed string }

func (k *keyboard) Read(b []byte) (int, error) {
	if k.typed == "" {
		return 0, io.EOF
	}
	n := 1
	if strings.HasPrefix(k.typed, "\x1b[") {
		n = 3
	}
	copy(b, k.typed[:n])
	k.typed = k.typed[n:]
	return n, nil
}

// A session is shown step by step, told in words, and one of its rolls
// explained and asked otherwise, from an export alone.
func TestReadAnExport(t *testing.T) {
	dir := bundle(t)
	ledger, err := os.ReadFile(filepath.Join(dir, eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(ledger), []byte("\n"))
	roll := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"type":"roll.made"`)) })
	_, rest, _ := strings.Cut(string(lines[slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"type":"session.open"`)) })]), `"cmd":{"id":"`)
	session := rest[:36]
	n := fmt.Sprint(roll)
	for name, c := range map[string]struct {
		cmd  *cobra.Command
		args []string
		want string
	}{
		"steps":      {replayCommand(), []string{dir, "--session", session}, " roll by gm\n"},
		"step lines": {replayCommand(), []string{dir, "--session", session, "--format", "ndjson"}, `"type":"session.close"`},
		"step JSON":  {replayCommand(), []string{dir, "--session", session, "--format", "json"}, "[{\"n\":"},
		"fast":       {replayCommand(), []string{dir, "--session", session, "--speed", "1000000"}, " roll by gm\n"},
		"transcript": {transcriptCommand(), []string{dir}, "2d6 rolls"},
		"HTML":       {transcriptCommand(), []string{dir, "--format", "html", "--session", session}, "<li value="},
		"Markdown":   {transcriptCommand(), []string{dir, "--format", "markdown"}, "# one"},
		"audit":      {auditCommand(), []string{dir, n}, "rolled "},
		"audit JSON": {auditCommand(), []string{dir, n, "--format", "json"}, `"leads":true`},
		"what-if":    {whatIfCommand(), []string{dir, n, "--dice", "6,6"}, "this never happened"},
		"other":      {whatIfCommand(), []string{dir, n, "--command", "note.add", "--data", `{"text":"x"}`, "--json"}, `"what_if":true`},
	} {
		if out, code, err := running(c.cmd, c.args...); code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, %v\n%s", name, code, err, out)
		}
	}
	for name, c := range map[string]struct {
		cmd  *cobra.Command
		args []string
	}{
		"no such session":    {replayCommand(), []string{dir, "--session", "none"}},
		"no such format":     {replayCommand(), []string{dir, "--session", session, "--format", "xml"}},
		"no such transcript": {transcriptCommand(), []string{dir, "--session", "none"}},
		"no such words":      {transcriptCommand(), []string{dir, "--format", "xml"}},
		"no roll":            {auditCommand(), []string{dir, "0"}},
		"no number":          {auditCommand(), []string{dir, "x"}},
		"no such audit":      {auditCommand(), []string{dir, n, "--format", "xml"}},
		"no such face":       {whatIfCommand(), []string{dir, n, "--dice", "7"}},
		"no value":           {whatIfCommand(), []string{dir, n, "--modifier", "cover"}},
		"no JSON":            {whatIfCommand(), []string{dir, n, "--command", "roll", "--data", "{"}},
	} {
		out, code, err := running(c.cmd, c.args...)
		if code != exitUnusable {
			t.Errorf("%s: code %d, %v\n%s", name, code, err, out)
		}
		if flag := regexp.MustCompile(`^--([a-z-]+)`).FindStringSubmatch(fmt.Sprint(err)); flag != nil && c.cmd.Flags().Lookup(flag[1]) == nil {
			t.Errorf("%s: %v names a flag that there is not", name, err)
		}
	}
}
