package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/replay"
)

// The test binary is the program when this variable is set: tests start real
// processes of it and kill them.
const asProgram = "TALLYSTICK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if config := os.Getenv(asStore); config != "" {
		runStore(config)
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is a running tallystick.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *lockedBuffer
	*client
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// serve starts a server on a data folder and waits until it is ready.
func serve(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	p, err := tryServe(t, dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serveSoon is serve for a store that may still have to elect a leader.
func serveSoon(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		p, err := tryServe(t, dir, flags...)
		if err == nil {
			return p
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func tryServe(t *testing.T, dir string, flags ...string) (*process, error) {
	t.Helper()
	args := append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, flags...)
	p := &process{t: t, cmd: program(args...), stderr: &lockedBuffer{}}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.cmd.Wait()
		return nil, fmt.Errorf("the server did not start: %w\n%s", err, p.stderr)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	if err != nil {
		return nil, err
	}
	p.client = &client{base: strings.TrimSpace(strings.TrimPrefix(line, "tallystick serves ")), token: strings.TrimSpace(string(token))}
	return p, nil
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Wait()
}

// newCampaign opens a campaign and acts as its game master from then on.
func (p *process) newCampaign(system string) string {
	p.t.Helper()
	d := &demo{ctx: context.Background(), client: p.client}
	d.open("Crash test", system)
	if d.err != nil {
		p.t.Fatal(d.err)
	}
	return d.campaign
}

// asked is a command that was sent, and its answer if one came.
type asked struct {
	key, typ string
	data     any
	records  []jsontext.Value
}

func (p *process) send(campaign string, a asked) ([]jsontext.Value, error) {
	var got answer
	header := http.Header{"Idempotency-Key": {a.key}}
	err := p.call(context.Background(), http.MethodPost, "/v1/campaigns/"+campaign+"/commands", map[string]any{"type": a.typ, "data": a.data}, header, &got)
	return got.Records, err
}

// kills is how often TestKill kills the server; docs/reliability.md has what the long
// form gave.
var kills = flag.Int("kills", 20, "how often TestKill kills the server")

// killsATable is how many kills one campaign sees: the whole of it is read after each.
const killsATable = 50

// Kill -9 again and again in the middle of a stream of commands: every answered
// command is there as it was answered, none is there by half or twice, a retry has the
// dice of its first try whether that was answered or not, the history is linearizable
// over the kills, and the whole ledger replays. The whole set is -kills 1000.
func TestKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		*kills = min(*kills, 3)
	}
	x := &killing{t: t, dir: filepath.Join(t.TempDir(), "data"), start: time.Now()}
	x.p = serve(t, x.dir)
	x.admin = x.p.token
	commands, records := 0, int64(0)
	for left := *kills; left > 0; left -= killsATable {
		x.open()
		for range min(left, killsATable) {
			x.round()
		}
		records += x.close()
		commands += len(x.calls)
		t.Logf("%d kills: %d commands", len(x.starts), commands)
	}
	if commands < 10**kills {
		t.Fatalf("only %d commands were answered: the test shows nothing", commands)
	}
	slices.Sort(x.starts)
	t.Logf("%d kills: %d commands answered, %d of them only when asked again; %d records; ready again after %v, %v at most",
		*kills, commands, x.again, records, x.starts[len(x.starts)/2].Round(time.Millisecond), x.starts[len(x.starts)-1].Round(time.Millisecond))
}

// killing is a server that is killed again and again, and the table at it.
type killing struct {
	t      *testing.T
	p      *process
	dir    string
	admin  string
	start  time.Time
	starts []time.Duration // from kill to ready
	again  int             // commands that were answered only after a kill

	campaign, hero string
	size           int64  // records before the first of calls
	calls          []call // of this table, all answered
}

// open begins a table.
func (x *killing) open() {
	x.t.Helper()
	x.p.token = x.admin
	x.campaign, x.calls = x.p.newCampaign("rpgamix"), nil
	x.must("session.open", map[string]any{"title": "one", "kind": "table"})
	x.hero = x.must("character.create", rpgamixPerson("Hero", map[string]any{"con": 5}, nil)).Command
	x.size = parse(x.t, x.must("note.add", map[string]any{"text": "it begins"}).Records[0]).N + 1
}

func (x *killing) must(typ string, data any) answer {
	x.t.Helper()
	a, err := x.p.command(context.Background(), x.campaign, typ, data)
	if err != nil {
		x.t.Fatal(err)
	}
	return a
}

// next is the i-th command of a writer.
func (x *killing) next(i int) asked {
	a := asked{key: newKey(), typ: "roll", data: map[string]any{"expression": "3d6"}}
	if i%3 == 0 {
		a.typ, a.data = "wound.inflict", map[string]any{"character": x.hero, "points": 1, "cause": "a crash"}
	}
	if i%5 == 0 {
		a.typ, a.data = "heal.grant", map[string]any{"character": x.hero, "points": 10, "cause": "luck"}
	}
	return a
}

// round kills the server once under load, starts it anew and compares.
func (x *killing) round() {
	t, p := x.t, x.p
	var mu sync.Mutex
	var group sync.WaitGroup
	var open []call
	before := len(x.calls)
	stop := make(chan struct{})
	for w := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				c := call{asked: x.next(w + i), begun: time.Since(x.start).Nanoseconds()}
				records, err := p.send(x.campaign, c.asked)
				c.records, c.ended = records, time.Since(x.start).Nanoseconds()
				mu.Lock()
				if err == nil {
					x.calls = append(x.calls, c)
				} else if !refusedByRules(err) {
					open = append(open, c)
				}
				mu.Unlock()
				if err != nil && !errors.As(err, new(*problem)) {
					return // the server is gone
				}
			}
		})
	}
	// Any moment; in every other round, one that shows something on a slow machine, too.
	answered := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(x.calls) - before
	}
	for wanted, end := 20*(1-len(x.starts)%2), time.Now().Add(time.Minute); answered() < wanted; {
		if time.Now().After(end) {
			t.Fatalf("only %d commands were answered in a minute", answered())
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(20+rand.IntN(150)) * time.Millisecond)
	p.kill()
	close(stop)
	group.Wait()
	token := p.token
	began := time.Now()
	x.p = serve(t, x.dir)
	x.starts = append(x.starts, time.Since(began))
	x.p.token = token
	x.compare()
	// What was answered last is asked again, and so is, twice, what got no answer.
	for _, c := range x.calls[max(before, len(x.calls)-4):] {
		x.same(c.asked)
	}
	for _, c := range open {
		records, err := x.p.send(x.campaign, c.asked)
		if refusedByRules(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.records, c.ended = records, time.Since(x.start).Nanoseconds()
		x.same(c.asked)
		x.calls = append(x.calls, c)
		x.again++
	}
}

// refusedByRules reports whether a command got a refusal for an answer.
func refusedByRules(err error) bool {
	var no *problem
	return errors.As(err, &no) && no.Status == http.StatusUnprocessableEntity
}

// same asks an answered command again, under its key.
func (x *killing) same(a asked) {
	x.t.Helper()
	again, err := x.p.send(x.campaign, a)
	if err != nil || fmt.Sprint(a.records) != fmt.Sprint(again) {
		x.t.Fatalf("two answers to one key: %v: %s, then %s", err, a.records, again)
	}
}

func (x *killing) compare() {
	x.t.Helper()
	var all []asked
	for _, c := range x.calls {
		all = append(all, c.asked)
	}
	checkAnswered(x.t, x.p, x.campaign, len(x.starts), all)
}

// close holds the history of a table against a ledger that takes one command after
// the other, and replays it. It returns how many records there are.
func (x *killing) close() int64 {
	t := x.t
	x.compare()
	linearizable(t, x.size, x.calls)
	in, err := x.p.stream(context.Background(), "/v1/campaigns/"+x.campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := replay.New(library())
	if err := r.Ledger(in); err != nil {
		t.Fatal(err)
	}
	return int64(r.Records())
}

// What TestKill compares sees an answer that was never stored, other dice, and a
// command that is there by half or twice; its history an answer out of its order.
func TestKillSeesSabotage(t *testing.T) {
	x := &killing{t: t, dir: filepath.Join(t.TempDir(), "data"), start: time.Now()}
	x.p = serve(t, x.dir)
	x.admin = x.p.token
	x.open()
	for i := range 13 {
		c := call{asked: x.next(i + 1), begun: time.Since(x.start).Nanoseconds()}
		var err error
		if c.records, err = x.p.send(x.campaign, c.asked); err != nil {
			t.Fatal(err)
		}
		c.ended = time.Since(x.start).Nanoseconds()
		x.calls = append(x.calls, c)
	}
	x.compare()
	if got := history(t, x.size, x.calls); got != porcupine.Ok {
		t.Fatalf("the history is %s", got)
	}
	text, err := x.p.text(t.Context(), "/v1/campaigns/"+x.campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	last := x.calls[len(x.calls)-1].asked
	record := string(last.records[0])
	for name, ledger := range map[string]string{
		"a command that is not stored": strings.Replace(string(text), record+"\n", "", 1),
		"other dice":                   strings.Replace(string(text), record, total.ReplaceAllString(record, `"total":99`), 1),
		"a command twice":              string(text) + strings.Replace(record, fmt.Sprintf(`"n":%d`, parse(t, last.records[0]).N), fmt.Sprintf(`"n":%d`, strings.Count(string(text), "\n")), 1) + "\n",
	} {
		if ledger == string(text) {
			t.Fatalf("%s: nothing was changed in %s", name, record)
		}
		if err := compareAnswered(ledger, []asked{last}); err == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
	early := slices.Clone(x.calls)
	early[3].begun, early[3].ended = early[5].ended+1, early[5].ended+2
	if got := history(t, x.size, early); got != porcupine.Illegal {
		t.Errorf("a stale answer: the history is %s", got)
	}
	if got := history(t, x.size, append(x.calls[:3:3], x.calls[4:]...)); got != porcupine.Illegal {
		t.Errorf("records of nobody's: the history is %s", got)
	}
}

// checkAnswered finds every answered record in the ledger.
func checkAnswered(t *testing.T, p *process, campaign string, round int, answered []asked) {
	t.Helper()
	if err := findAnswered(p, campaign, answered); err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
}

// findAnswered reads the whole ledger and says what of the answers is not in it
// once, as it was answered, and whole.
func findAnswered(p *process, campaign string, answered []asked) error {
	ledger, err := p.text(context.Background(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		return fmt.Errorf("%w; %s", err, p.said("broke off"))
	}
	return compareAnswered(string(ledger), answered)
}

// said is the last line of its log with these words.
func (p *process) said(words string) (last string) {
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, words) {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

func compareAnswered(ledger string, answered []asked) error {
	lines := strings.Split(strings.TrimSuffix(ledger, "\n"), "\n")
	perCommand := map[string]int{}
	for n, line := range lines {
		rec, err := events.Parse([]byte(line))
		if err != nil || rec.N != int64(n) {
			return fmt.Errorf("line %d is record %d: %w", n, rec.N, err)
		}
		perCommand[rec.Cmd.ID]++
	}
	for _, a := range answered {
		if perCommand[a.key] != len(a.records) {
			return fmt.Errorf("command %s has %d records, answered were %d", a.key, perCommand[a.key], len(a.records))
		}
		for _, want := range a.records {
			rec, err := events.Parse(want)
			if err != nil {
				return err
			}
			if rec.N >= int64(len(lines)) || lines[rec.N] != string(want) {
				return fmt.Errorf("record %d was answered and is not there", rec.N)
			}
		}
	}
	return nil
}

// A second process on the same folder is refused, and says why; the first goes
// on.
func TestSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, dir)
	out, err := program("serve", "--data", dir, "--listen", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another tallystick serves this folder") || !strings.Contains(string(out), dir) {
		t.Errorf("the second process: %v\n%s", err, out)
	}
	p.newCampaign("rpgamix")
}

// SIGTERM answers what is under way and exits with 0; the same folder then has
// the same state.
func TestTerminate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, dir)
	campaign := p.newCampaign("rpgamix")
	token := p.token
	if _, err := p.command(context.Background(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	var answered, failed int
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			for {
				_, err := p.command(context.Background(), campaign, "roll", map[string]any{"expression": "1d6"})
				mu.Lock()
				if err != nil {
					failed++
					mu.Unlock()
					return
				}
				answered++
				mu.Unlock()
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, p.stderr)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	wg.Wait()
	p = serve(t, dir)
	p.token = token
	ledger, err := p.text(context.Background(), "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		t.Fatal(err)
	}
	rolls := strings.Count(string(ledger), `"type":"roll.made"`)
	if rolls < answered || rolls > answered+failed {
		t.Errorf("%d rolls in the ledger, %d answered, %d in flight", rolls, answered, failed)
	}
}

// The demonstration runs, replays identically, and what it leaves behind can
// be replayed and goes on being served.
func TestDemo(t *testing.T) {
	for system := range plays {
		t.Run(system, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "demo")
			began := time.Now()
			out, err := program("demo", "--system", system, "--data", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), "identical") {
				t.Errorf("no verdict:\n%s", out)
			}
			t.Logf("%v", time.Since(began))
			verdict, err := program("replay", filepath.Join(dir, "export")).CombinedOutput()
			if err != nil || !strings.Contains(string(verdict), "identical") {
				t.Errorf("replay: %v\n%s", err, verdict)
			}
			tampered(t, filepath.Join(dir, "export", eventsFile))
			if out, err := program("demo", "--data", dir).CombinedOutput(); err == nil {
				t.Errorf("a demo over an existing folder: %s", out)
			}
		})
	}
}

var total = regexp.MustCompile(`"total":-?\d+`)

// tampered changes one face in an export; the replay names the record and
// exits with 1, or with 2 when the text is no ledger any more.
func tampered(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	for n, line := range lines {
		if !strings.Contains(line, `"type":"roll.made"`) || !strings.Contains(line, `"source":"ledger"`) {
			continue
		}
		lines[n] = total.ReplaceAllString(line, `"total":99`)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := program("replay", path)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitDiverged || !strings.Contains(string(out), fmt.Sprintf("record %d, data.total", n)) {
			t.Errorf("a changed total: exit %d\n%s", cmd.ProcessState.ExitCode(), out)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")[10:]), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd = program("replay", path)
		if cmd.Run(); cmd.ProcessState.ExitCode() != exitUnusable {
			t.Errorf("a damaged ledger: exit %d", cmd.ProcessState.ExitCode())
		}
		return
	}
	t.Fatal("no roll in the export")
}
