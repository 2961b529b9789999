package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A dispute from its opening to the correction that carries the ruling out, by
// the command line alone; and an export of it verifies.
func TestDisputeByCommandLine(t *testing.T) {
	p := serve(t, filepath.Join(t.TempDir(), "data"))
	campaign := p.newCampaign("rpgamix")
	must := func(typ string, data any) string {
		t.Helper()
		a, err := p.command(context.Background(), campaign, typ, data)
		if err != nil {
			t.Fatal(err)
		}
		return a.Command
	}
	must("session.open", map[string]any{"title": "one", "kind": "table"})
	hero := must("character.create", rpgamixPerson("Hero", nil, nil))
	wound := must("wound.inflict", map[string]any{"character": hero, "points": 24, "cause": "a crash"})
	must("clock.advance", map[string]any{"seconds": 3})

	token := filepath.Join(t.TempDir(), "gm.token")
	if err := os.WriteFile(token, []byte(p.token), 0o600); err != nil {
		t.Fatal(err)
	}
	tell := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		root := rootCommand()
		root.SetOut(&out)
		root.SetArgs(append(args, "--server", p.base, "--token-file", token))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out.String()
	}
	var timeline struct {
		Items []struct {
			N    int64  `json:"n"`
			Type string `json:"type"`
		} `json:"items"`
	}
	if err := p.get(t.Context(), "/v1/campaigns/"+campaign+"/characters/"+hero+"/timeline", &timeline); err != nil {
		t.Fatal(err)
	}
	record := ""
	for _, item := range timeline.Items {
		if item.Type == "wound.inflicted" {
			record = fmt.Sprint(item.N)
		}
	}
	dispute := strings.TrimSpace(tell("dispute", "open", campaign, "--record", record, "--question", "Was that me?"))
	if got := tell("disputes", campaign, "--state", "open"); !strings.Contains(got, dispute+"  open, record "+record+", by ") || !strings.Contains(got, "Was that me?") {
		t.Errorf("open disputes:\n%s", got)
	}
	if got := tell("correct", campaign, wound, "--reason", "It was the ogre"); !strings.Contains(got, "undone with it") || !strings.Contains(got, "3 s, was 3 s") {
		t.Errorf("correction:\n%s", got)
	}
	tell("dispute", "rule", campaign, dispute, "--ruling", "overturned", "--reason", "Yes")
	if got := tell("disputes", campaign); !strings.Contains(got, "overturned by gm: Yes") {
		t.Errorf("disputes:\n%s", got)
	}
	if got := tell("disputes", campaign, "--state", "open"); got != "" {
		t.Errorf("open disputes:\n%s", got)
	}
	var c struct {
		Alive  bool                 `json:"alive"`
		Health struct{ Points int } `json:"health"`
	}
	if err := p.get(t.Context(), "/v1/campaigns/"+campaign+"/characters/"+hero, &c); err != nil {
		t.Fatal(err)
	}
	if !c.Alive {
		t.Errorf("after the correction: %+v", c)
	}

	tell("override", campaign, "--record", record, "--outcome", "a bruise", "--reason", "a soft landing")
	if got := tell("audit", campaign, record); !strings.Contains(got, "; overridden by the game master: a bruise; taken back since.\n") {
		t.Errorf("audit:\n%s", got)
	}
	if got := tell("show", campaign, "--at", record); !strings.HasSuffix(got, "Hero: 1/25, incapacitated, unconscious; round due 0d 00:00:03\n") {
		t.Errorf("at the wound:\n%s", got)
	}
	if got := tell("show", campaign); !strings.HasSuffix(got, "Hero: 25/25, good\n") {
		t.Errorf("now:\n%s", got)
	}
	if got := tell("show", campaign, "overrides"); !strings.Contains(got, `"outcome":"a bruise"`) {
		t.Errorf("overrides:\n%s", got)
	}
	if got := tell("show", campaign, "corrections", "--at-clock", "0"); got != "[]\n" {
		t.Errorf("corrections before there were any:\n%s", got)
	}
	ruled := tell("show", campaign, "disputes")
	_, n, _ := strings.Cut(ruled, `"rulings":[{"n":`)
	n, _, _ = strings.Cut(n, ",")
	if got := tell("what-if", campaign, n, "--ruling", "upheld"); !strings.Contains(got, "otherwise: the dispute is ruled upheld: Yes") {
		t.Errorf("what-if:\n%s", got)
	}

	out := filepath.Join(t.TempDir(), "bundle")
	tell("export", campaign, "--out", out)
	var report bytes.Buffer
	root := rootCommand()
	root.SetOut(&report)
	root.SetArgs([]string{"verify", out})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(report.String(), "all the same") {
		t.Errorf("verify: %v\n%s", err, report.String())
	}
}
