package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api"
)

// runningBot is an example that runs.
type runningBot struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

func startRollbot(t *testing.T, p *process, campaign, token, dir string) *runningBot {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	b := &runningBot{cmd: exec.Command(python, filepath.Join("..", "..", "docs", "examples", "rollbot.py"))}
	b.cmd.Env = append(os.Environ(), "TALLYSTICK_SERVER="+p.base, "TALLYSTICK_CAMPAIGN="+campaign, "TALLYSTICK_TOKEN="+token,
		"ROLLBOT_STATE="+filepath.Join(dir, "rollbot.n"))
	b.cmd.Stderr = &b.stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	lines := bufio.NewScanner(out)
	for _, want := range []string{"rollbot is rollbot", "it follows the feed"} {
		if !lines.Scan() || lines.Text() != want {
			b.stop()
			t.Fatalf("it said %q\n%s", lines.Text(), b.stderr.String())
		}
	}
	return b
}

func (b *runningBot) stop() {
	_ = b.cmd.Process.Kill() // it may have ended
	_ = b.cmd.Wait()
}

// The example bot has less than 100 lines, uses the public API alone, answers
// what is asked while it listens or was away, and rolls nothing twice, whether
// the server or the bot itself is killed.
func TestRollbot(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "rollbot.py"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 100 {
		t.Errorf("it has %d lines", lines)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	p := serve(t, dir, "--listen", address)
	campaign := p.newCampaign("fudge")
	var player api.NewToken
	if err := p.call(context.Background(), http.MethodPost, "/v1/campaigns/"+campaign+"/participants", map[string]string{"handle": "rollbot", "role": "player"}, nil, &player); err != nil {
		t.Fatal(err)
	}
	give := func(typ string, data map[string]any) {
		t.Helper()
		if _, err := p.command(context.Background(), campaign, typ, data); err != nil {
			t.Fatal(err)
		}
	}
	say := func(text string) { t.Helper(); give("note.add", map[string]any{"text": text}) }
	give("session.open", map[string]any{"title": "chat", "kind": "play-by-post"})
	say("!roll 9d9 was said before it came")
	bot := startRollbot(t, p, campaign, player.Token, dir)
	say("hello")
	say("!roll 2d6+1 to leap")
	say("!roll 2d")
	answers(t, p, campaign, 2)
	bot.stop()
	say("!roll 1d8")
	say("!roll 1d10")
	bot = startRollbot(t, p, campaign, player.Token, dir)
	answers(t, p, campaign, 4)
	gm := p.token
	p.kill()
	p = serve(t, dir, "--listen", address)
	p.token = gm
	say("!roll 1d12")
	notes := answers(t, p, campaign, 5)
	bot.stop()
	first := recordsOf(t, p, campaign, "note.added")[0].N // it forgets what it did after that
	if err := os.WriteFile(filepath.Join(dir, "rollbot.n"), []byte(fmt.Sprint(first)), 0o600); err != nil {
		t.Fatal(err)
	}
	startRollbot(t, p, campaign, player.Token, dir)
	say("!roll 1d20")
	notes = append(notes[:5:5], answers(t, p, campaign, 6)[5:]...)
	for i, want := range []string{"2d6+1 gives", "position 3", "1d8 gives", "1d10 gives", "1d12 gives", "1d20 gives"} {
		if !strings.Contains(notes[i], want) {
			t.Errorf("answer %d is %q, want %q", i, notes[i], want)
		}
	}
	var rolls []string
	for _, r := range recordsOf(t, p, campaign, "roll.made") {
		var data struct {
			Expression string `json:"expression"`
			Purpose    string `json:"purpose"`
		}
		if err := json.Unmarshal(r.Data, &data); err != nil {
			t.Fatal(err)
		}
		rolls = append(rolls, data.Expression)
		if r.By != "rollbot" || data.Purpose == "" {
			t.Errorf("got %s by %s for %q", data.Expression, r.By, data.Purpose)
		}
	}
	if got := strings.Join(rolls, " "); got != "2d6+1 1d8 1d10 1d12 1d20" {
		t.Errorf("rolled %s", got)
	}
}

// heard is a record as this test reads it.
type heard struct {
	N    int64          `json:"n"`
	By   string         `json:"by"`
	Data jsontext.Value `json:"data"`
}

func recordsOf(t *testing.T, p *process, campaign, typ string) []heard {
	t.Helper()
	var list struct {
		Items []heard `json:"items"`
	}
	if err := p.get(context.Background(), "/v1/campaigns/"+campaign+"/events?limit=1000&type="+typ, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// answers waits until the bot has answered so often, and returns the answers.
func answers(t *testing.T, p *process, campaign string, wanted int) []string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var notes []string
		for _, r := range recordsOf(t, p, campaign, "note.added") {
			var data struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(r.Data, &data); err != nil {
				t.Fatal(err)
			}
			if r.By == "rollbot" {
				notes = append(notes, data.Text)
			}
		}
		if len(notes) >= wanted {
			return notes
		}
		if time.Now().After(end) {
			t.Fatalf("it answered %q, want %d answers", notes, wanted)
		}
	}
}
