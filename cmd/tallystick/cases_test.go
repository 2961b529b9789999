package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/replay"
	"tallystick/rules/rulestest"
)

// brawl is an export of twelve who fight each other under PERP, three against
// one among them, and bleed afterwards.
func brawl(t *testing.T) (file, session string, tb *rulestest.Table) {
	t.Helper()
	book, err := library().Find("perp", 0)
	if err != nil {
		t.Fatal(err)
	}
	tb = rulestest.NewTable(t, book, "")
	session = tb.Must("gm", "session.open", `{"title":"The brawl","kind":"table"}`)
	var who []string
	for i := range 12 {
		who = append(who, tb.Must("gm", "character.create", fmt.Sprintf(
			`{"name":"Fighter %d","kind":"npc","creation":"free","sheet":{"traits":{"Steady":1},"skills":{"Swords":{"points":%d,"kind":"weapon"}},"hp":12,"weapons":[{"name":"Sword","class":"medium"}]}}`, i, i%5)))
	}
	hand := `{"skills":["Swords"]}`
	for round := range 8 {
		tb.Must("gm", "clock.advance", `{"seconds":3}`)
		for i := 0; i < 12; i += 4 {
			at := func(k int) string { return who[(i+k+round)%12] }
			// Some have fallen by then: what the rules refuse is not in the ledger.
			_, _ = tb.Do(tb.Command("gm", "perp.gang", fmt.Sprintf(`{"target":%q,"against":%s,"attackers":[{"character":%q,"skills":["Swords"]},{"character":%q,"skills":["Swords"]},{"character":%q,"skills":["Swords"]}]}`, at(0), hand, at(1), at(2), at(3))))
			_, _ = tb.Do(tb.Command("gm", "attack", fmt.Sprintf(`{"attacker":%q,"target":%q,"with":%s,"against":%s}`, at(0), at(1), hand, hand)))
		}
	}
	tb.Must("gm", "clock.advance", `{"by":"2w"}`)
	tb.Finish()
	tb.Must("gm", "session.close", `{}`)
	file = filepath.Join(t.TempDir(), "brawl.jsonl")
	if err := os.WriteFile(file, append(bytes.Join(tb.Payloads, []byte("\n")), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, session, tb
}

// A replay gives one answer: a hundred times in fresh processes, five times in
// one, and begun halfway (D14).
func TestReplayIsOne(t *testing.T) {
	t.Parallel()
	file, session, tb := brawl(t)
	if rolls := bytes.Count(bytes.Join(tb.Payloads, nil), []byte(`"type":"roll.made"`)); rolls < 40 {
		t.Fatalf("a tame brawl of %d rolls", rolls)
	}
	var out bytes.Buffer
	for range 5 {
		var again bytes.Buffer
		if _, code, err := running(replayCommand(), file); code != exitOK {
			t.Fatal(err)
		}
		f := stepFlags{session: session, format: formatNDJSON}
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.run(context.Background(), os.Stdin, &again, in); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if out.Len() > 0 && !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Fatal("another replay in the same process, another state")
		}
		out = again
	}
	want := sha256.Sum256(out.Bytes())
	times := 100
	if testing.Short() {
		times = 10
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for range times {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			got, err := program("replay", file, "--session", session, "--format", formatNDJSON).Output()
			if err != nil || sha256.Sum256(got) != want {
				t.Errorf("another process, another state: %v, %d bytes", err, len(got))
			}
		})
	}
	wg.Wait()
	horizon := replay.MaxHorizon
	for _, half := range []int{len(tb.Payloads) / 3, len(tb.Payloads) / 2} {
		recs, err := events.ParseCommit(tb.Payloads[half])
		if err != nil {
			t.Fatal(err)
		}
		w, err := replay.Ask(library(), recs[0].N, replay.Change{Horizon: &horizon}, func(each func([]byte) error) error {
			for _, p := range tb.Payloads {
				if err := each(p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || w.PartAt != nil {
			t.Errorf("begun at record %d it parts: %v %+v", recs[0].N, err, w)
		}
	}
}

// After a restart the dice go on where they were: six rolls have six seeds, each
// the hash of the next (D14).
func TestSeedsGoOnAfterRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, dir)
	campaign := p.newCampaign("perp")
	token := p.token
	if _, err := p.command(context.Background(), campaign, "session.open", map[string]any{"title": "one", "kind": "table"}); err != nil {
		t.Fatal(err)
	}
	var seeds []string
	for half := range 2 {
		if half == 1 {
			p.kill()
			p = serve(t, dir)
			p.token = token
		}
		for range 3 {
			a, err := p.command(context.Background(), campaign, "roll", map[string]any{"expression": "1d10"})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := events.Parse(a.Records[0])
			if err != nil {
				t.Fatal(err)
			}
			var roll events.RollMade
			if err := json.Unmarshal(rec.Data, &roll); err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, roll.S)
		}
	}
	for i := 1; i < len(seeds); i++ {
		raw, err := hex.DecodeString(seeds[i])
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != seeds[i-1] {
			t.Errorf("seed %d does not lead back to the one before: %s", i, strings.Join(seeds, " "))
		}
	}
	slices.Sort(seeds)
	if len(slices.Compact(seeds)) != 6 {
		t.Error("a seed came twice")
	}
}

// A campaign leaves one server and enters another through the command line, and
// the two exports are the same files (D19).
func TestImportCommand(t *testing.T) {
	a := serve(t, filepath.Join(t.TempDir(), "data"))
	admin := a.token
	campaign := a.newCampaign("fudge")
	for _, c := range []struct {
		typ  string
		data map[string]any
	}{
		{"session.open", map[string]any{"title": "Éloïse's night", "kind": "table"}},
		{"roll", map[string]any{"expression": "4dF"}},
	} {
		if _, err := a.command(context.Background(), campaign, c.typ, c.data); err != nil {
			t.Fatal(err)
		}
	}
	_ = admin
	work := t.TempDir()
	first, again := filepath.Join(work, "first"), filepath.Join(work, "again")
	if _, err := export(context.Background(), a.client, campaign, first); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	b := serve(t, dir)
	flags := []string{"--server", b.base, "--token-file", filepath.Join(dir, "admin.token")}
	for range 2 {
		if out, code, err := running(importCommand(), append([]string{first}, flags...)...); code != exitOK || !strings.Contains(out, campaign) {
			t.Fatalf("code %d, %v\n%s", code, err, out)
		}
	}
	if _, err := export(context.Background(), b.client, campaign, again); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{eventsFile, checkpointFile, vkeyFile} {
		x, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(again, name))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s is another: %v", name, err)
		}
	}
	zipped := filepath.Join(work, "first.zip")
	if _, code, err := running(exportCommand(), append([]string{campaign, "--out", zipped}, flags...)...); code != exitOK {
		t.Fatal(err)
	}
	if out, code, err := running(verifyCommand(), zipped); code != exitOK {
		t.Errorf("%v\n%s", err, out)
	}
	if _, code, err := running(importCommand(), append([]string{zipped}, flags...)...); code != exitOK {
		t.Error(err)
	}
	spoilt := filepath.Join(work, "spoilt")
	copied(t, first, spoilt, func(ledger []byte) []byte { return bytes.Replace(ledger, []byte(`"total":`), []byte(`"total":1`), 1) })
	if _, code, err := running(importCommand(), append([]string{spoilt}, flags...)...); code != exitDiverged || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("code %d, %v", code, err)
	}
}
