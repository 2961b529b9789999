package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"tallystick/api"
	"tallystick/projections"
)

// A campaign whose clock follows the one on the wall, by the command line, on
// a server that is killed in the middle: the next one goes on by itself, checks
// are decided once and in order, and the clock is held before the player
// character could die.
func TestTempoCommand(t *testing.T) {
	t.Parallel() // it waits most of the time
	dir := t.TempDir()
	p := serve(t, dir)
	campaign := p.newCampaign("rpgamix")
	file := filepath.Join(dir, "gm.token")
	if err := os.WriteFile(file, []byte(p.token), 0o600); err != nil {
		t.Fatal(err)
	}
	give := func(typ string, data any) string {
		t.Helper()
		key := uuid.NewString()
		if _, err := p.send(campaign, asked{key: key, typ: typ, data: data}); err != nil {
			t.Fatal(err)
		}
		return key
	}
	tempo := func(args ...string) (string, string, int) {
		t.Helper()
		return told(t, append(append([]string{"tempo"}, args...), "--server", p.base, "--token-file", file)...)
	}
	give("session.open", map[string]any{"title": "Letters", "kind": "play-by-post"})
	stats := map[string]int{"str": 0, "con": 0, "dex": 0, "per": 0, "int": 0, "wits": 0, "cha": 0, "app": 0}
	mara := give("character.create", map[string]any{
		"name": "Mara", "kind": "pc", "creation": "free", "sheet": map[string]any{"stats": stats, "skills": map[string]any{}},
	})
	if _, errs, code := tempo("set", campaign, "--game", "1m", "--wall", "1s", "--quiet", "22:00", "--zone", "UTC"); code != exitDiverged || !strings.Contains(errs, "quiet") {
		t.Errorf("half of the quiet hours: %d %s", code, errs)
	}
	if out, errs, code := tempo("set", campaign, "--game", "1s", "--wall", "2s"); code != 0 {
		t.Fatalf("set: %d %s%s", code, out, errs)
	}
	give("wound.inflict", map[string]any{"character": mara, "points": 21, "cause": "a fall"})
	p.kill()

	p2 := serve(t, dir)
	p2.token, p = p.token, p2
	out, errs, code := tempo(campaign)
	if code != 0 || !strings.Contains(out, "1 second of game time in 2 seconds") || !strings.Contains(out, "next due") {
		t.Errorf("tempo: %d\n%s%s", code, out, errs)
	}
	var now api.TempoNow
	for end := time.Now().Add(90 * time.Second); now.State != "held"; time.Sleep(200 * time.Millisecond) {
		out, errs, code := tempo(campaign, "--json")
		if err := json.Unmarshal([]byte(out), &now); err != nil || code != 0 {
			t.Fatalf("tempo: %d\n%s%s", code, out, errs)
		}
		if now.Stuck != "" || time.Now().After(end) {
			t.Fatalf("the clock is not held: %+v", now)
		}
	}
	if now.Held == nil || now.Held.Character != mara || now.Clock != now.Held.Due-1 {
		t.Errorf("held: %+v", now)
	}
	var v projections.Character
	if err := p.get(context.Background(), "/v1/campaigns/"+campaign+"/characters/"+mara, &v); err != nil {
		t.Fatal(err)
	}
	// Four points, one lost every round: the fourth check is the one that kills.
	if !v.Alive || v.Health.Points != 1 || v.NextTick.Due != now.Held.Due {
		t.Errorf("Mara: %+v", v)
	}
	if _, errs, code := tempo("pause", campaign, "--reason", "we talk"); code != 0 {
		t.Errorf("pause: %d %s", code, errs)
	}
	if out, errs, code := told(t, "replay", campaign, "--server", p.base, "--token-file", file); code != 0 {
		t.Errorf("replay: %d\n%s%s", code, out, errs)
	}
	if out, _, _ := told(t, "transcript", campaign, "--server", p.base, "--token-file", file); !strings.Contains(out, "game time is held: Mara could die") || !strings.Contains(out, "Mara could die of the round check that is due at") {
		t.Errorf("transcript:\n%s", out)
	}
}
