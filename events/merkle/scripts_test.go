package merkle_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"tallystick/events/merkle"
)

// The check scripts that players run are tested here, with records from the
// vectors and with a session played out of the vectors' chains and dice.
const scripts = "../../docs/verify/"

func python(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine: docs/verify is not tested")
	}
	return exec.Command(path, append([]string{"-B"}, arguments...)...)
}

// run runs a script as a player does.
func run(t *testing.T, script string, arguments ...string) (output string, code int) {
	t.Helper()
	command := python(t, append([]string{scripts + script}, arguments...)...)
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// many runs a script many times in one process, which spares its start.
const many = `
import contextlib, io, json, runpy, sys
results = {}
for name, arguments in json.load(sys.stdin).items():
    sys.argv, output, code = arguments, io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        code = end.code
    results[name] = {"Output": output.getvalue(), "Code": code}
json.dump(results, sys.stdout)
`

type result struct {
	Output string
	Code   int
}

// runMany runs a script for every name with its arguments.
func runMany(t *testing.T, script string, arguments map[string][]string) map[string]result {
	t.Helper()
	for name := range arguments {
		arguments[name] = append([]string{scripts + script}, arguments[name]...)
	}
	input, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	command := python(t, "-c", many)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]result
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	return results
}

// expectAllBad runs verify.py for every name, and expects of each the failure
// given for it.
func expectAllBad(t *testing.T, arguments map[string][]string, why map[string]string) {
	t.Helper()
	for name, got := range runMany(t, "verify.py", arguments) {
		t.Run(name, func(t *testing.T) { expectBad(t, got.Output, got.Code, why[name]) })
	}
}

func write(t *testing.T, folder, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type members = map[string]any

// event is a record before it has a place in the ledger.
type event struct {
	by, kind string
	data     members
}

// play is a session made from the vectors, so that every die in it was
// computed by somebody else.
type play struct {
	vectors
	s, c, x map[string][]string // elements 0…n of each lane's chains, in hex
	events  []event
}

func chain(t *testing.T, tail string, n int) []string {
	elements := make([]string, n+1)
	value := unhex(t, tail)
	for i := n; i >= 0; i-- {
		elements[i] = hex.EncodeToString(value)
		sum := sha256.Sum256(value)
		value = sum[:]
	}
	return elements
}

func newPlay(t *testing.T) *play {
	p := &play{vectors: readVectors(t), s: map[string][]string{}, c: map[string][]string{}, x: map[string][]string{}}
	for _, lane := range p.Lanes {
		p.s[lane.Lane] = chain(t, lane.Tail, lane.N)
		if lane.RollerTail != "" {
			p.c[lane.Lane] = chain(t, lane.RollerTail, lane.N)
		}
		if lane.WitnessTail != "" {
			p.x[lane.Lane] = chain(t, lane.WitnessTail, lane.WitnessN)
		}
	}
	return p
}

// add appends an event and gives its number.
func (p *play) add(by, kind string, data members) int {
	if by != "" && kind != "campaign.created" {
		data["session"] = p.Session
	}
	p.events = append(p.events, event{by, kind, data})
	return len(p.events) - 1
}

// seat takes a seat. A chain that is absent is left out.
func (p *play) seat(lane string, seating int) {
	data := members{"lane": lane, "seating": seating, "n": len(p.s[lane]) - 1, "s0": p.s[lane][0]}
	if c, ok := p.c[lane]; ok {
		data["c0"] = c[0]
	}
	if x, ok := p.x[lane]; ok {
		data["x0"] = x[0]
	}
	p.add("gm", "seat.taken", data)
}

func (p *play) closeSeating(seating int, ask ...members) {
	p.add("gm", "seating.closed", members{"seating": seating, "ask": ask})
}

func (p *play) reveal(seating int, lane string, m int) {
	p.add(lane, "seat.revealed", members{"seating": seating, "lane": lane, "m": m, "x": p.x[lane][m]})
}

func asked(lane string, m int) members { return members{"lane": lane, "m": m} }

// joint is the joint seed of a seating whose rows say lane and what it
// revealed, in the order of the lanes' names.
func (p *play) joint(seating int, previous string, rows ...string) string {
	text := fmt.Sprintf("dice-joint/v1\n%s\n%s\n%d\n%s\n", p.Campaign, p.Session, seating, previous)
	anchor := func(chain []string) string {
		if len(chain) == 0 {
			return "-"
		}
		return chain[0]
	}
	for _, row := range rows {
		lane, revealed, _ := strings.Cut(row, " ")
		text += fmt.Sprintln(lane, len(p.s[lane])-1, p.s[lane][0], anchor(p.c[lane]), anchor(p.x[lane]), revealed)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// roll gives the data of a roll of the vectors.
func (p *play) roll(lane string, i int) members {
	for _, roll := range p.Rolls {
		if roll.Lane != lane || roll.I != i {
			continue
		}
		data := members{"lane": lane, "i": i, "s": roll.S, "draws": roll.Draws, "source": "ledger"}
		if roll.C != "-" {
			data["c"] = roll.C
		}
		if roll.W != "-" {
			data["w"] = roll.W
		}
		return data
	}
	panic(fmt.Sprintf("the vectors have no roll %d of %s", i, lane))
}

// evening plays a whole session: two seatings, open, physical, declared,
// passed, voided and secret rolls, a hidden target.
func evening(t *testing.T) *play {
	p := newPlay(t)
	p.add("gm", "campaign.created", members{"name": "Der Turm zu Wörth", "vkey": p.Ledger.VKey})
	p.add("gm", "session.opened", members{"title": "one", "kind": "table"})
	for _, lane := range []string{"anna", "ben", "gm", "gm-secret", "system"} {
		p.seat(lane, 1)
	}
	p.closeSeating(1, asked("anna", 1), asked("ben", 1), asked("gm", 1))
	p.reveal(1, "ben", 1)
	p.reveal(1, "anna", 1)
	p.reveal(1, "gm", 1)
	p.add("gm", "seating.sealed", members{"seating": 1, "missing": []string{}, "joint": p.Seatings[0].Joint})
	for i := 1; i <= 33; i++ {
		p.add("anna", "roll.made", p.roll("anna", i))
	}
	p.add("ben", "roll.made", p.roll("ben", 1))
	p.add("system", "roll.made", p.roll("system", 1))

	p.seat("cleo", 2)
	p.closeSeating(2, asked("cleo", 1), asked("anna", 2))
	p.reveal(2, "anna", 2)
	p.reveal(2, "cleo", 1)
	p.add("gm", "seating.sealed", members{"seating": 2, "missing": []string{}, "joint": p.Seatings[1].Joint})
	targetSalt, target := bytes.Repeat([]byte{9}, 32), `{"value":12}`
	call := p.add("gm", "target.sealed", members{"seal": hex.EncodeToString(merkle.Seal(targetSalt, []byte(target)))})
	cleo := p.roll("cleo", 1)
	cleo["call"] = call
	p.add("cleo", "roll.made", cleo)
	p.add("gm", "target.opened", members{"sealed": call, "salt": hex.EncodeToString(targetSalt), "payload": target})
	p.add("ben", "roll.made", members{"lane": "ben", "source": "physical", "draws": [][2]int{{6, 6}, {6, 2}}})

	declared := p.add("gm", "roll.declared", members{"lane": "gm", "i": 1, "c": p.c["gm"][1], "witness": asked("anna", 3)})
	resolved := p.roll("gm", 1)
	resolved["declared"] = declared
	p.add("gm", "roll.resolved", resolved)
	declared = p.add("gm", "roll.declared", members{"lane": "gm", "i": 2, "c": p.c["gm"][2], "witness": asked("anna", 4)})
	p.add("gm", "roll.passed", members{"declared": declared, "lane": "anna", "m": 4, "next": asked("cleo", 2)})
	p.add("gm", "roll.voided", members{"declared": declared, "s": p.s["gm"][2], "w": p.x["cleo"][2], "reason": "a slip"})
	declared = p.add("gm", "roll.declared", members{"lane": "gm", "i": 3, "c": p.c["gm"][3], "witness": asked("anna", 5)})
	p.add("gm", "roll.voided", members{"declared": declared, "s": p.s["gm"][3], "reason": "another"})

	sealed := p.add("gm", "roll.sealed", members{"lane": "gm-secret", "i": 1, "seal": p.Seal.Seal})
	p.add("gm", "roll.opened", members{"sealed": sealed, "salt": p.Seal.Salt, "payload": p.Seal.Payload})
	p.add("gm", "session.closed", members{"reason": "<end & done>"})
	return p
}

// find gives the data of the k-th event of a kind.
func (p *play) find(kind string, k int) members {
	for _, e := range p.events {
		if e.kind != kind {
			continue
		}
		if k == 0 {
			return e.data
		}
		k--
	}
	panic("no event " + kind)
}

// index is the place of the first event of a kind.
func (p *play) index(kind string) int {
	return slices.IndexFunc(p.events, func(e event) bool { return e.kind == kind })
}

func (p *play) records(t *testing.T) [][]byte {
	t.Helper()
	type command struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	type stored struct {
		V        int     `json:"v"`
		Campaign string  `json:"campaign"`
		N        int     `json:"n"`
		ID       string  `json:"id"`
		At       string  `json:"at"`
		By       string  `json:"by"`
		Clock    int64   `json:"clock"`
		Cmd      command `json:"cmd"`
		Type     string  `json:"type"`
		Data     members `json:"data"`
	}
	start := time.Date(2026, 11, 30, 19, 0, 0, 0, time.UTC)
	var records [][]byte
	for n, e := range p.events {
		id := fmt.Sprintf("0192f1c0-9000-7000-8000-%012d", n)
		at := start.Add(time.Duration(n) * time.Second).Format("2006-01-02T15:04:05.000Z")
		line, err := json.Marshal(stored{1, p.Campaign, n, id, at, e.by, 86400, command{id, "roll"}, e.kind, e.data}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, line)
	}
	return records
}

func joinRecords(records [][]byte) []byte {
	return append(bytes.Join(records, []byte("\n")), '\n')
}

// export writes events.jsonl, checkpoint and vkey, and a checkpoint that a
// player kept when the ledger was half as long.
func export(t *testing.T, v vectors, records [][]byte) (folder, kept string) {
	t.Helper()
	tree := new(merkle.Tree)
	for _, record := range records {
		tree.Append(record)
	}
	sign := func(size int64) []byte {
		root, err := tree.RootAt(size)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint, err := v.signer(t).Sign(size, root)
		if err != nil {
			t.Fatal(err)
		}
		return checkpoint
	}
	folder = t.TempDir()
	write(t, folder, "events.jsonl", joinRecords(records))
	write(t, folder, "checkpoint", sign(tree.Size()))
	write(t, folder, "vkey", []byte(v.Ledger.VKey+"\n"))
	return folder, write(t, folder, "kept", sign(tree.Size()/2))
}

func expectGood(t *testing.T, output string, code int, parts ...string) {
	t.Helper()
	if code != 0 {
		t.Fatalf("exit %d:\n%s", code, output)
	}
	for _, part := range parts {
		if !strings.Contains(output, part) {
			t.Errorf("no %q in\n%s", part, output)
		}
	}
}

func expectBad(t *testing.T, output string, code int, part string) {
	t.Helper()
	if code != 1 || !strings.Contains(output, "FAILED: ") || !strings.Contains(output, part) || strings.Contains(output, "Traceback") {
		t.Errorf("want exit 1 and %q, got exit %d:\n%s", part, code, output)
	}
}

func vectorRecords(v vectors) [][]byte {
	var records [][]byte
	for _, record := range v.Ledger.Records {
		records = append(records, []byte(record))
	}
	return records
}

// The records of the vectors have rolls, but nobody took a seat in them.
func TestVerifyVectorRecords(t *testing.T) {
	v := readVectors(t)
	folder := t.TempDir()
	events := write(t, folder, "events.jsonl", joinRecords(vectorRecords(v)))
	five := write(t, folder, "five", []byte(v.Ledger.Checkpoint5))
	write(t, folder, "checkpoint", []byte(v.Ledger.Checkpoint7))
	write(t, folder, "vkey", []byte(v.Ledger.VKey))

	out, code := run(t, "verify.py", folder, "--records-only", "--checkpoint", five)
	expectGood(t, out, code, "7 records good; root I2j+ue3LBxXY0HYsl6Dd+elVZPkNaUHp7dLkd6oyixQ=", "the first 5 records are the ones it saw",
		five+": signed by "+v.Ledger.Origin, "the verifier key comes from the export itself", "dice: NOT CHECKED")
	out, code = run(t, "verify.py", events, "--records-only")
	expectGood(t, out, code, "signatures: NOT CHECKED", "no checkpoint was given")
	out, code = run(t, "verify.py", events)
	expectBad(t, out, code, "record 2: nobody took a seat in seating 1")
	if out, code = run(t, "verify.py", filepath.Join(folder, "absent")); code != 2 {
		t.Errorf("a missing file: exit %d\n%s", code, out)
	}
}

// Changes of bytes, and of what comes with them.
func TestVerifyTamperedRecords(t *testing.T) {
	v := readVectors(t)
	good := string(joinRecords(vectorRecords(v)))
	lines := strings.SplitAfter(good, "\n")[:7]
	swap := func(old, changed string) string {
		if strings.Count(good, old) == 0 {
			t.Fatalf("no %q to change", old)
		}
		return strings.Replace(good, old, changed, 1)
	}
	cases := map[string]struct{ text, why string }{
		"a face":             {swap("[[4,4]]", "[[4,3]]"), "are not the ones"},
		"a blank":            {swap(`"n":3,`, `"n":3, `), "record 3: not compact"},
		"a key twice":        {swap(`"n":3,`, `"n":4,"n":3,`), "record 3: a key stands twice"},
		"a key twice inside": {swap(`"lane":"anna"`, `"lane":"ben","lane":"anna"`), "record 3: a key stands twice"},
		"a float":            {swap(`"i":1,`, `"i":1.0,`), "record 3: a number that is not an integer"},
		"an exponent":        {swap(`"i":1,`, `"i":1e0,`), "record 3: a number that is not an integer"},
		"no number":          {swap(`"i":1,`, `"i":NaN,`), "record 3: a number that is not an integer"},
		"a huge number":      {swap(`"i":1,`, `"i":9007199254740992,`), "record 3: an integer too large"},
		"CR":                 {swap("}\n", "}\r\n"), "record 0: a carriage return"},
		"no last LF":         {good[:len(good)-1], "record 6: "},
		"an empty line":      {swap("}\n", "}\n\n"), "record 1: "},
		"not UTF-8":          {swap("ö", "\xf6"), "record 0: not UTF-8"},
		"half a surrogate":   {swap("ö", `\ud800`), "record 0: not strict JSON"},
		"a byte order mark":  {"\ufeff" + good, "record 0: not strict JSON"},
		"deep nesting":       {swap(`"title":`, `"x":`+strings.Repeat("[", 30000)+strings.Repeat("]", 30000)+`,"title":`), "record 0: not strict JSON"},
		"too long":           {swap(`"title":"`, `"title":"`+strings.Repeat("x", 65535)), "record 0: longer than 65535"},
		"an array":           {"[]\n" + good, "record 0: not a JSON object"},
		"a gap":              {lines[0] + lines[2], "record 1: it says it is record 2"},
		"no beginning":       {lines[1], "record 0: it says it is record 1"},
		"twice":              {lines[0] + lines[0], "record 1: it says it is record 0"},
		"n is text":          {swap(`"n":3`, `"n":"3"`), "record 3: n is missing"},
		"n is true":          {swap(`"n":1`, `"n":true`), "record 1: n is missing"},
		"time back":          {swap("19:00:03", "18:00:03"), "record 3: time runs back"},
		"local time":         {swap("19:00:03.000Z", "19:00:03.000+01:00"), "record 3: its time is not in UTC"},
		"two campaigns":      {swap(`"campaign":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d","n":3`, `"campaign":"0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7e","n":3`), "record 3: it is of another campaign"},
		"cut":                {strings.Join(lines[:6], ""), "the export ends after 6 records"},
		"nothing":            {"", "no records"},
	}
	arguments, why := map[string][]string{}, map[string]string{}
	for name, c := range cases {
		folder := t.TempDir()
		write(t, folder, "events.jsonl", []byte(c.text))
		write(t, folder, "checkpoint", []byte(v.Ledger.Checkpoint7))
		arguments[name], why[name] = []string{folder, "--records-only"}, c.why
	}
	expectAllBad(t, arguments, why)
}

func TestVerifyTamperedCheckpoints(t *testing.T) {
	v := readVectors(t)
	good := v.Ledger.Checkpoint7
	origin := v.Ledger.Origin
	root := strings.Split(good, "\n")[2]
	other, err := merkle.NewSigner(server, "0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7e", unhex(t, v.Ledger.KeySeed))
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := other.Sign(7, v.tree().Root())
	last := len(good) - 2
	cases := map[string]struct{ checkpoint, vkey, why string }{
		"another root":         {strings.Replace(good, root, "J"+root[1:], 1), v.Ledger.VKey, "are not the ones"},
		"signature bit":        {good[:last-8] + "B" + good[last-7:], v.Ledger.VKey, "signature is wrong"},
		"key id":               {strings.Replace(good, " Na1m", " Nb1m", 1), v.Ledger.VKey, "did not sign it"},
		"no signature":         {good[:strings.Index(good, "— ")], v.Ledger.VKey, "its last line has no end"},
		"second base64":        {strings.Replace(good, "ixQ=", "ixR=", 1), v.Ledger.VKey, "not canonical base64"},
		"signature's spelling": {good[:last-1] + "d=\n", v.Ledger.VKey, "not canonical base64"},
		"extension line":       {string(signText(t, v, origin, origin+"\n7\n"+root+"\nmore\n")), v.Ledger.VKey, "not three lines"},
		"leading zero":         {string(signText(t, v, origin, origin+"\n07\n"+root+"\n")), v.Ledger.VKey, "size is not a number"},
		"another campaign":     {string(foreign), other.VKey(), "is of another campaign"},
		"key of another":       {good, other.VKey(), "of another log"},
		"broken key":           {good, v.Ledger.VKey[:len(v.Ledger.VKey)-1] + "5", "wrong id"},
		"more seen":            {string(signText(t, v, origin, origin+"\n8\n"+root+"\n")), v.Ledger.VKey, "the export ends after 7 records"},
	}
	arguments, why := map[string][]string{}, map[string]string{}
	for name, c := range cases {
		folder := t.TempDir()
		write(t, folder, "events.jsonl", joinRecords(vectorRecords(v)))
		write(t, folder, "checkpoint", []byte(c.checkpoint))
		write(t, folder, "vkey", []byte(c.vkey))
		arguments[name], why[name] = []string{folder, "--records-only"}, c.why
	}
	expectAllBad(t, arguments, why)
}

func TestVerifyWholeEvening(t *testing.T) {
	p := evening(t)
	folder, kept := export(t, p.vectors, p.records(t))
	out, code := run(t, "verify.py", folder, "--checkpoint", kept, "--me", "anna")
	expectGood(t, out, code,
		"declared and still open: 0; taken back: 2; witness passed over: 1; sealed and still closed: 0; opened: 2; typed in from physical dice (not provable): 1",
		"checkpoint "+kept+": signed by "+p.Ledger.Origin,
		"anna: 33 rolls checked\n    choose:  only the server and anna, ben and gm all together could have chosen the dice",
		"only the server and the device of anna together; if anna runs the server: all but the witnessed (none)\n    you:     NOT choosable without you; none foreseeable without you",
		"ben: 1 rolls checked",
		"THE SERVER COULD, all but the witnessed (none)\n    you:     NOT choosable without you; 0 not foreseeable without you",
		"gm: 1 rolls checked, 2 not shown",
		"if gm runs the server: all but the witnessed (1 with anna)\n    you:     NOT choosable without you; 1 not foreseeable without you",
		"gm-secret: 1 rolls checked", "system: 1 rolls checked", "cleo: 1 rolls checked")
}

// A table without devices still has commitments; what they are worth is said.
func TestVerifyTableWithoutDevices(t *testing.T) {
	p := newPlay(t)
	delete(p.c, "ben")
	delete(p.x, "ben")
	p.add("gm", "campaign.created", members{"name": "no devices"})
	p.seat("ben", 1)
	p.closeSeating(1)
	p.add("gm", "seating.sealed", members{"seating": 1, "joint": p.joint(1, "-", "ben -")})
	folder, _ := export(t, p.vectors, p.records(t))
	out, code := run(t, "verify.py", folder)
	expectGood(t, out, code, "ben: 0 rolls checked\n    choose:  RESTS ON THE SERVER ALONE", "1 seatings sealed and never played")
}

// Who does not reveal is named, and then has no part in the joint seed.
func TestVerifyMissingReveal(t *testing.T) {
	p := newPlay(t)
	p.add("gm", "campaign.created", members{"name": "one is silent"})
	p.seat("anna", 1)
	p.seat("ben", 1)
	p.closeSeating(1, asked("anna", 1), asked("ben", 1))
	p.reveal(1, "anna", 1)
	joint := p.joint(1, "-", "anna "+p.x["anna"][1], "ben -")
	sealed := members{"seating": 1, "missing": []string{"ben"}, "joint": joint}
	p.add("gm", "seating.sealed", sealed)
	folder, _ := export(t, p.vectors, p.records(t))
	out, code := run(t, "verify.py", folder, "--me", "ben")
	expectGood(t, out, code, "ben: 0 rolls checked\n    choose:  only the server and anna all together", "choosable without you")

	sealed["missing"] = []string{}
	folder, _ = export(t, p.vectors, p.records(t))
	out, code = run(t, "verify.py", folder)
	expectBad(t, out, code, "who did not reveal is not what it says")

	// The element may have been sent and kept back. Asked for again, it shows
	// nothing: the server may have known it before the new seats were taken.
	sealed["missing"] = []string{"ben"}
	p.seat("cleo", 2)
	declaring := len(p.events)
	p.closeSeating(2, asked("cleo", 1), asked("ben", 1))
	p.reveal(2, "cleo", 1)
	p.reveal(2, "ben", 1)
	second := p.joint(2, joint, "ben "+p.x["ben"][1], "cleo "+p.x["cleo"][1])
	p.add("gm", "seating.sealed", members{"seating": 2, "joint": second})
	folder, _ = export(t, p.vectors, p.records(t))
	out, code = run(t, "verify.py", folder)
	expectGood(t, out, code, "cleo: 0 rolls checked\n    choose:  only the server and cleo all together")

	// The same for a declared roll that it witnesses.
	p.events = p.events[:declaring]
	roll := members{"lane": "anna", "i": 1, "c": p.c["anna"][1]}
	declared := maps.Clone(roll)
	declared["witness"] = asked("ben", 1)
	resolved := maps.Clone(roll)
	resolved["declared"] = p.add("anna", "roll.declared", declared)
	resolved["s"], resolved["w"], resolved["draws"] = p.s["anna"][1], p.x["ben"][1], []any{}
	p.add("anna", "roll.resolved", resolved)
	folder, _ = export(t, p.vectors, p.records(t))
	out, code = run(t, "verify.py", folder)
	expectGood(t, out, code, "anna: 1 rolls checked\n", "if anna runs the server: all but the witnessed (none)")
}

// A server that makes a new history and signs it: tree and signature are
// good, and the dice or the seats give it away.
func TestVerifyDishonestServer(t *testing.T) {
	other := strings.Repeat("0123456789abcdef", 4)
	cases := map[string]struct {
		edit func(p *play)
		why  string
	}{
		"a face": {func(p *play) { p.find("roll.made", 5)["draws"] = [][2]int{{20, 20}} }, "die 1 (d20) shows 20, the seeds give 17"},
		"a die more": {func(p *play) {
			p.find("roll.made", 0)["draws"] = [][2]int{{4, 4}, {4, 2}}
		}, "die 2 (d4) shows 2"},
		"an impossible face":       {func(p *play) { p.find("roll.made", 0)["draws"] = [][2]int{{4, 5}} }, "a face it has not"},
		"no die":                   {func(p *play) { delete(p.find("roll.made", 0), "draws") }, "draws is missing"},
		"a die of text":            {func(p *play) { p.find("roll.made", 0)["draws"] = []any{[]any{4, "4"}} }, "a draw is not a pair"},
		"another seed":             {func(p *play) { p.find("roll.made", 3)["s"] = other }, "s is not element 4"},
		"a later seed":             {func(p *play) { p.find("roll.made", 3)["s"] = p.s["anna"][5] }, "s is not element 4"},
		"another roller seed":      {func(p *play) { p.find("roll.made", 3)["c"] = other }, "c is not element 4"},
		"no roller seed":           {func(p *play) { delete(p.find("roll.made", 3), "c") }, "does not go with its seat"},
		"a roller seed of nobody":  {func(p *play) { p.find("roll.made", 33)["c"] = other }, "does not go with its seat"},
		"a roll left out":          {func(p *play) { p.events = slices.Delete(p.events, 15, 16) }, "was due"},
		"a roll twice":             {func(p *play) { p.events = slices.Insert(p.events, 15, p.events[14]) }, "was due"},
		"two rolls changed about":  {func(p *play) { p.events[15], p.events[16] = p.events[16], p.events[15] }, "was due"},
		"a roll in another's lane": {func(p *play) { p.find("roll.made", 33)["lane"] = "anna" }, "was due"},
		"a lane without a seat":    {func(p *play) { p.find("roll.made", 0)["lane"] = "dora" }, "nobody took the seat"},
		"another session":          {func(p *play) { p.find("roll.made", 0)["session"] = "x" }, "nobody took the seat"},
		"rolled before the seal": {func(p *play) {
			k := p.index("seating.sealed")
			p.events[k], p.events[k+1] = p.events[k+1], p.events[k]
		}, "before its seating was sealed"},
		"a physical roll with a seed": {func(p *play) { p.find("roll.made", 0)["source"] = "physical" }, "a physical roll has no seed"},
		"an undeclared witness":       {func(p *play) { p.find("roll.made", 0)["w"] = other }, "a witness element in a roll that was not declared"},
		"a target sealed after the roll": {func(p *play) {
			k := p.index("target.sealed")
			p.events[k], p.events[k+1] = p.events[k+1], p.events[k]
		}, "the target was not sealed before the roll"},
		"a joint seed":              {func(p *play) { p.find("seating.sealed", 0)["joint"] = other }, "joint seed does not follow"},
		"another anchor":            {func(p *play) { p.find("seat.taken", 0)["s0"] = other }, "joint seed does not follow"},
		"another length":            {func(p *play) { p.find("seat.taken", 0)["n"] = 1025 }, "joint seed does not follow"},
		"a seat too long":           {func(p *play) { p.find("seat.taken", 0)["n"] = 65537 }, "n is missing or not a number in 1..65536"},
		"a seat twice":              {func(p *play) { p.find("seat.taken", 1)["lane"] = "anna" }, "taken before"},
		"a lane with a blank":       {func(p *play) { p.find("seat.taken", 1)["lane"] = "b en" }, "not a lane name"},
		"a seat after the closing":  {func(p *play) { p.find("seat.taken", 5)["seating"] = 1 }, "closed before"},
		"a seating skipped":         {func(p *play) { p.find("seat.taken", 5)["seating"] = 3 }, "seating is missing or not a number in 1..2"},
		"a seat not asked":          {func(p *play) { p.find("seating.closed", 0)["ask"] = []members{asked("anna", 1), asked("gm", 1)} }, "lane ben has a secret to give"},
		"asked for a later element": {func(p *play) { p.find("seating.closed", 1)["ask"] = []members{asked("cleo", 1), asked("anna", 3)} }, "2 was due"},
		"asked for an old element":  {func(p *play) { p.find("seating.closed", 1)["ask"] = []members{asked("cleo", 1), asked("anna", 1)} }, "2 was due"},
		"revealed before the closing": {func(p *play) {
			k := p.index("seating.closed")
			p.events[k], p.events[k+1] = p.events[k+1], p.events[k]
		}, "revealed before"},
		"another reveal": {func(p *play) { p.find("seat.revealed", 0)["x"] = other }, "the witness element is not element 1"},
		"a reveal left out": {func(p *play) {
			k := p.index("seat.revealed")
			p.events = slices.Delete(p.events, k, k+1)
		}, "joint seed does not follow"},
		"a reveal twice": {func(p *play) {
			k := p.index("seat.revealed")
			p.events = slices.Insert(p.events, k, p.events[k])
		}, "was not due"},
		"sealed twice": {func(p *play) {
			k := p.index("seating.sealed")
			p.events = slices.Insert(p.events, k, p.events[k])
		}, "sealed before it was closed, or twice"},
		"a seat asked twice": {func(p *play) {
			p.find("seating.closed", 0)["ask"] = []members{asked("anna", 1), asked("anna", 2), asked("ben", 1), asked("gm", 1)}
		}, "asked twice"},
		"asked before its own seating is sealed": {func(p *play) {
			late := event{"gm", "seat.taken", members{"session": p.Session, "lane": "cleo", "seating": 2, "n": 1024,
				"s0": p.s["cleo"][0], "c0": p.c["cleo"][0], "x0": p.x["cleo"][0]}}
			p.events = slices.Insert(p.events, 3, late)
			p.find("seating.closed", 0)["ask"] = []members{asked("anna", 1), asked("ben", 1), asked("gm", 1), asked("cleo", 1)}
		}, "no sealed seat to witness from"},
		"a chain that is used up": {func(p *play) {
			p.find("seat.taken", 0)["n"] = 3
			p.s["anna"] = p.s["anna"][:4]
			p.find("seating.sealed", 0)["joint"] = p.joint(1, "-", "anna "+p.x["anna"][1], "ben "+p.x["ben"][1],
				"gm "+p.x["gm"][1], "gm-secret -", "system -")
			for i, seed := range []string{p.s["anna"][1], p.s["anna"][2], p.s["anna"][3]} {
				p.find("roll.made", i)["s"], p.find("roll.made", i)["draws"] = seed, []any{}
			}
		}, "the chain of lane anna ends at 3"},
		"a missing made up":            {func(p *play) { p.find("seating.sealed", 0)["missing"] = []string{"ben"} }, "who did not reveal"},
		"another witness element":      {func(p *play) { p.find("roll.resolved", 0)["w"] = p.x["anna"][4] }, "the witness element is not element 3"},
		"no witness element":           {func(p *play) { delete(p.find("roll.resolved", 0), "w") }, "resolved without its witness"},
		"declared is not resolved":     {func(p *play) { p.find("roll.resolved", 0)["i"] = 2 }, "not the roll that was declared"},
		"declaration made up":          {func(p *play) { p.find("roll.resolved", 0)["declared"] = 1 }, "no open declaration"},
		"a witnessed face":             {func(p *play) { p.find("roll.resolved", 0)["draws"] = [][2]int{{10, 9}} }, "the seeds give 10"},
		"witness of oneself":           {func(p *play) { p.find("roll.declared", 0)["witness"] = asked("gm", 2) }, "its own witness"},
		"a witness without a chain":    {func(p *play) { p.find("roll.declared", 0)["witness"] = asked("system", 1) }, "no witness chain"},
		"a witness element used again": {func(p *play) { p.find("roll.declared", 1)["witness"] = asked("anna", 3) }, "4 was due"},
		"the same witness again":       {func(p *play) { p.find("roll.passed", 0)["next"] = asked("anna", 5) }, "asked twice"},
		"passed another over":          {func(p *play) { p.find("roll.passed", 0)["lane"] = "ben" }, "not the witness that was asked"},
		"voided with another seed":     {func(p *play) { p.find("roll.voided", 0)["s"] = other }, "s is not element 2"},
		"voided with another witness":  {func(p *play) { p.find("roll.voided", 0)["w"] = other }, "the witness element is not element 2"},
		"declared while one is open": {func(p *play) {
			k := p.index("roll.resolved")
			p.events[k], p.events[k+1] = p.events[k+1], p.events[k]
		}, "a declared roll that is not resolved"},
		"another seal": {func(p *play) { p.find("roll.sealed", 0)["seal"] = other }, "not what was sealed"},
		"another salt": {func(p *play) { p.find("roll.opened", 0)["salt"] = other }, "not what was sealed"},
		"opened as 10": {func(p *play) {
			p.find("roll.opened", 0)["payload"] = strings.Replace(p.Seal.Payload, "10,5", "10,9", 1)
		}, "not what was sealed"},
		"opened another": {func(p *play) { p.find("roll.opened", 0)["sealed"] = 1 }, "no seal has this number"},
		"sealed for another roll": {func(p *play) {
			payload := strings.Replace(p.Seal.Payload, `"i":1`, `"i":2`, 1)
			p.find("roll.opened", 0)["payload"] = payload
			p.find("roll.sealed", 0)["seal"] = hex.EncodeToString(merkle.Seal(unhex(t, p.Seal.Salt), []byte(payload)))
		}, "not the roll that was sealed"},
		"a witness not seated yet": {func(p *play) {
			declared := event{"gm", "roll.declared", members{"session": p.Session, "lane": "gm", "i": 1, "c": p.c["gm"][1], "witness": asked("cleo", 2)}}
			p.events = slices.Insert(p.events, p.index("target.sealed")-1, declared)
		}, "the seating of witness cleo is not sealed"},
		"sealed a wrong die": {func(p *play) {
			payload := strings.Replace(p.Seal.Payload, "10,5", "10,9", 1)
			p.find("roll.opened", 0)["payload"] = payload
			p.find("roll.sealed", 0)["seal"] = hex.EncodeToString(merkle.Seal(unhex(t, p.Seal.Salt), []byte(payload)))
		}, "shows 9, the seeds give 5"},
		"opened twice": {func(p *play) {
			k := p.index("roll.opened")
			p.events = slices.Insert(p.events, k, p.events[k])
		}, "opened twice"},
		"another target": {func(p *play) { p.find("target.opened", 0)["payload"] = `{"value":13}` }, "not what was sealed"},
		"data of a strange shape": {func(p *play) {
			p.find("seating.closed", 0)["ask"] = 7
		}, "malformed"},
	}
	arguments, why := map[string][]string{}, map[string]string{}
	for name, c := range cases {
		p := evening(t)
		c.edit(p)
		folder, _ := export(t, p.vectors, p.records(t))
		arguments[name], why[name] = []string{folder}, c.why
	}
	expectAllBad(t, arguments, why)
}

// Events that carry seeds and are not known are not passed over in silence.
func TestVerifySaysWhatItDoesNotKnow(t *testing.T) {
	p := evening(t)
	p.add("gm", "omen.cast", members{"roll": maps.Clone(p.find("roll.made", 0))})
	folder, _ := export(t, p.vectors, p.records(t))
	out, code := run(t, "verify.py", folder)
	expectGood(t, out, code, "NOT CHECKED: 1 events 'omen.cast' carry a seed")
}

func TestRollScript(t *testing.T) {
	p := evening(t)
	file := write(t, t.TempDir(), "events.jsonl", joinRecords(p.records(t)))
	arguments := map[string][]string{}
	for n, e := range p.events {
		provable := e.kind == "roll.made" || e.kind == "roll.resolved" || e.kind == "roll.opened"
		if provable && e.data["source"] != "physical" {
			arguments[strconv.Itoa(n)] = []string{file, strconv.Itoa(n)}
		}
	}
	if len(arguments) != 38 {
		t.Errorf("%d rolls, want 38", len(arguments))
	}
	for n, got := range runMany(t, "roll.py", arguments) {
		if got.Code != 0 || strings.Contains(got.Output, "WRONG") || !strings.Contains(got.Output, "the seeds give") {
			t.Errorf("roll %s: exit %d\n%s", n, got.Code, got.Output)
		}
	}
	physical := slices.IndexFunc(p.events, func(e event) bool { return e.data["source"] == "physical" })
	if out, code := run(t, "roll.py", file, strconv.Itoa(physical)); code != 1 || !strings.Contains(out, "nothing to check") {
		t.Errorf("physical dice: exit %d\n%s", code, out)
	}
	for kind, want := range map[string]string{
		"target.opened": "it is a number to beat, and no roll",
		"roll.sealed":   "still secret",
		"seat.taken":    "is a seat.taken and no roll",
	} {
		n := slices.IndexFunc(p.events, func(e event) bool { return e.kind == kind })
		if out, code := run(t, "roll.py", file, strconv.Itoa(n)); n < 0 || code != 1 || !strings.Contains(out, want) || strings.Contains(out, "Traceback") {
			t.Errorf("%s: exit %d\n%s", kind, code, out)
		}
	}
	if out, code := run(t, "roll.py", file, "99999"); code != 1 || !strings.Contains(out, "no record 99999") {
		t.Errorf("a record that is not there: exit %d\n%s", code, out)
	}
}

func TestRollScriptSeesWrongRolls(t *testing.T) {
	other := strings.Repeat("0123456789abcdef", 4)
	cases := map[string]struct {
		kind string // the first roll of this kind is checked
		edit func(p *play)
	}{
		"a face":        {"roll.made", func(p *play) { p.find("roll.made", 0)["draws"] = [][2]int{{4, 3}} }},
		"a seed":        {"roll.made", func(p *play) { p.find("roll.made", 0)["s"] = other }},
		"a roller seed": {"roll.made", func(p *play) { p.find("roll.made", 0)["c"] = other }},
		"no c":          {"roll.made", func(p *play) { delete(p.find("roll.made", 0), "c") }},
		"an anchor":     {"roll.made", func(p *play) { p.find("seat.taken", 0)["s0"] = other }},
		"a joint seed":  {"roll.resolved", func(p *play) { p.find("seating.sealed", 0)["joint"] = strings.Repeat("ab", 32) }},
		"a witness":     {"roll.resolved", func(p *play) { p.find("roll.resolved", 0)["w"] = other }},
		"an ask":        {"roll.resolved", func(p *play) { p.find("roll.declared", 0)["witness"] = asked("anna", 4) }},
		"a late seat": {"roll.made", func(p *play) {
			k := p.index("seating.sealed")
			p.events[k], p.events[k+1] = p.events[k+1], p.events[k]
		}},
	}
	arguments := map[string][]string{}
	for name, c := range cases {
		p := evening(t)
		c.edit(p)
		file := write(t, t.TempDir(), "events.jsonl", joinRecords(p.records(t)))
		arguments[name] = []string{file, strconv.Itoa(p.index(c.kind))}
	}
	for name, got := range runMany(t, "roll.py", arguments) {
		if got.Code != 1 || !strings.Contains(got.Output, "WRONG") {
			t.Errorf("%s: exit %d\n%s", name, got.Code, got.Output)
		}
	}
}
