package ledger

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/rules"
)

// VaultBucket is the bucket of what seals hide, encrypted.
const VaultBucket = "vault"

// vault keeps secrets outside the ledger until they are opened.
type vault struct {
	bucket journal.Bucket
	box    Box
}

// kept is a secret with the command that made it.
type kept struct {
	Salt    []byte     `json:"salt"`
	Payload string     `json:"payload"`
	Command events.Cmd `json:"command"`
	By      string     `json:"by"`
	Seal    string     `json:"seal"`
}

func openVault(ctx context.Context, j journal.Journal, master []byte) (*vault, error) {
	bucket, err := j.Bucket(ctx, VaultBucket)
	if err != nil {
		return nil, fmt.Errorf("open the vault: %w", err)
	}
	box, err := NewBox(master, "vault/v1\n")
	return &vault{bucket: bucket, box: box}, err
}

// put keeps a secret under its seal and under its command, before the seal is
// recorded: a crash in between leaves a secret without a seal, never a seal
// without its secret.
func (v *vault) put(ctx context.Context, campaign string, k kept) error {
	plain, err := json.Marshal(k)
	if err != nil {
		return err
	}
	for _, key := range []string{sealKey(campaign, k.Seal), commandKey(campaign, k.Command.ID)} {
		if _, err := v.bucket.Put(ctx, key, v.box.Seal(key, plain)); err != nil {
			return fmt.Errorf("keep a secret: %w", err)
		}
	}
	return nil
}

// get finds a secret; ok is false when this server does not keep it.
func (v *vault) get(ctx context.Context, key string) (k kept, ok bool, err error) {
	sealed, _, err := v.bucket.Get(ctx, key)
	if errors.Is(err, journal.ErrNotFound) {
		return k, false, nil
	}
	if err != nil {
		return k, false, fmt.Errorf("read a secret: %w", err)
	}
	plain, err := v.box.Open(key, sealed)
	if err != nil {
		return k, false, fmt.Errorf("read a secret: %w", err)
	}
	return k, true, json.Unmarshal(plain, &k)
}

// secretOf finds what a record hides, by its seal or else by its command: either
// copy does.
func (l *Ledger) secretOf(ctx context.Context, e *entry, s rules.Sealed) (k kept, ok bool, err error) {
	if k, ok, err = l.vault.get(ctx, sealKey(e.campaign, s.Seal)); ok && err == nil {
		return k, true, nil
	}
	var id string
	failed := e.read(ctx, l.cfg.Journal, s.N, func(_ int64, line []byte) bool {
		if rec, err := events.Parse(line); err == nil {
			id = rec.Cmd.ID
		}
		return false
	})
	if failed != nil {
		return k, false, failed
	}
	if again, found, failed := l.vault.get(ctx, commandKey(e.campaign, id)); found && failed == nil && again.Seal == s.Seal {
		return again, true, nil
	}
	return k, ok, err
}

// secrets looks for what a campaign's seals hide, and notes what is not kept any
// more. What was sealed before the campaign was moved here lies elsewhere.
func (l *Ledger) secrets(ctx context.Context, e *entry) error {
	if l.writable(e) != nil {
		return nil
	}
	moved, err := e.moved(ctx)
	if err != nil {
		return err
	}
	var lost []int64
	for _, s := range e.state.AllSealed() {
		if s.N < moved {
			continue
		}
		if _, ok, err := l.secretOf(ctx, e, s); !ok || err != nil {
			lost = append(lost, s.N)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lost, e.campaign)
	if len(lost) > 0 {
		l.lost[e.campaign] = lost
		l.cfg.Log.Error("secrets are lost", "campaign", e.campaign, "records", lost)
	}
	return nil
}

// Lost are the sealed records, by campaign, of which Inspect has found that what
// they hide is not kept any more, or cannot be read.
func (l *Ledger) Lost() map[string][]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.lost)
}

func sealKey(campaign, seal string) string  { return "seal." + campaign + "." + seal }
func commandKey(campaign, id string) string { return "command." + campaign + "." + id }

// Salt implements rules.Salts: it follows from the master key, so that a
// secret decided again after a crash has the same seal.
func (c *chains) Salt(label string) ([]byte, error) {
	return hkdf.Key(sha256.New, c.master, nil, "seal-salt/v1\n"+c.campaign+"\n"+label, 32)
}

// ExecuteSecret is ExecuteHidden for who commands and the game masters.
func (l *Ledger) ExecuteSecret(ctx context.Context, campaign string, cmd rules.Command) (Answer, error) {
	return l.ExecuteHidden(ctx, campaign, cmd, private)
}

// ExecuteHidden is Execute for a command whose outcome is not for everybody.
// The ledger gets its seal; the answer's Secret is what was rolled, for those
// who may see it, without the link of the lane.
func (l *Ledger) ExecuteHidden(ctx context.Context, campaign string, cmd rules.Command, shown events.Visibility) (Answer, error) {
	return l.run(ctx, campaign, cmd, func(ctx context.Context, e *entry, cmd rules.Command) (Answer, error) {
		return l.executeHidden(ctx, e, cmd, shown)
	})
}

// private is the visibility of a secret roll of which nothing else was said.
var private, _ = events.ParseVisibility(nil)

// asked is a hidden command as the vault compares it with a retry. A private
// one is written as it was before there were others.
func asked(cmd rules.Command, shown events.Visibility) events.Cmd {
	rec := cmd.Record()
	if text := shown.JSON(); string(text) != string(private.JSON()) {
		rec.Visibility = text
	}
	return rec
}

func (l *Ledger) executeHidden(ctx context.Context, e *entry, cmd rules.Command, shown events.Visibility) (Answer, error) {
	ready, err := e.state.Canonical(cmd)
	if err != nil {
		return Answer{}, err
	}
	earlier, found, err := l.vault.get(ctx, commandKey(e.campaign, cmd.ID))
	was, known := e.state.Known(cmd.ID)
	if sealed, open := e.state.Sealed(was.First); known && open && (!found || err != nil) {
		earlier, found, err = l.vault.get(ctx, sealKey(e.campaign, sealed.Seal))
	}
	if err != nil {
		return Answer{}, err
	}
	same := found && earlier.By == cmd.By && rules.SameCommand(earlier.Command, asked(ready, shown))
	switch {
	case known && !same:
		return Answer{}, ErrReused
	case known:
		a, err := l.recorded(ctx, e, cmd.ID)
		if err != nil {
			return Answer{}, err
		}
		a.Secret, err = tell(e, cmd.By, shown, []byte(earlier.Payload))
		return a, err
	}
	if err := l.finish(e); err != nil {
		return Answer{}, err
	}
	sealed, secret, err := rules.DecideHidden(e.state, ready, shown, e.chains)
	if err != nil {
		return Answer{}, err
	}
	var d rules.RollSeal
	if err := rules.Unmarshal(sealed.Data, &d); err != nil {
		return Answer{}, err
	}
	k := kept{Salt: secret.Salt, Payload: string(secret.Payload), Command: asked(ready, shown), By: cmd.By, Seal: d.Seal}
	if err := l.vault.put(ctx, e.campaign, k); err != nil {
		return Answer{}, err
	}
	a, err := l.once(e, sealed)
	if errors.Is(err, journal.ErrConflict) {
		if err = l.catchUp(e); err == nil {
			return l.executeHidden(ctx, e, cmd, shown)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	a.Secret, err = tell(e, cmd.By, shown, secret.Payload)
	return a, err
}

// tell is what a participant is told of a roll that they gave: nothing, when
// it was rolled blind and is not theirs to see.
func tell(e *entry, by string, shown events.Visibility, payload []byte) ([]byte, error) {
	if !shown.Shows(by, e.state.Viewer(by)) {
		return nil, nil
	}
	return rules.ShownRoll(payload)
}

// Show tells a participant what record n hides, as long as it is sealed. ok is
// false when they may not see it, when nothing is hidden there, or when this
// server does not keep it: nobody can tell one from the other.
func (l *Ledger) Show(ctx context.Context, campaign, handle string, n int64) (hidden []byte, ok bool, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		sealed, found := e.state.Sealed(n)
		if !found || !sealed.VisibleTo(e.state.Viewer(handle)) {
			return nil
		}
		k, kept, err := l.secretOf(ctx, e, sealed)
		if err != nil || !kept {
			return err
		}
		ok, hidden = true, []byte(k.Payload)
		if !sealed.Target && !sealed.Ruling {
			hidden, err = rules.ShownRoll(hidden)
		}
		return err
	})
	return hidden, ok && err == nil, err
}

// sealing are the events behind which there may be something to tell.
var sealing = map[string]bool{"roll.sealed": true, "target.sealed": true, "ruling.sealed": true, "roll.widened": true}

// Whisper tells a participant what a record hides, or shows to more people, as
// Show does: n is the record that hides it.
func (l *Ledger) Whisper(ctx context.Context, handle string, rec events.Record) (n int64, hidden []byte, ok bool, err error) {
	if !sealing[rec.Type] {
		return 0, nil, false, nil
	}
	n = rec.N
	if rec.Type == "roll.widened" {
		var e events.RollWidened
		if err := json.Unmarshal(rec.Data, &e); err != nil {
			return 0, nil, false, err
		}
		n = e.Sealed
	}
	hidden, ok, err = l.Show(ctx, rec.Campaign, handle, n)
	return n, hidden, ok, err
}

// veil puts seals in the place of what a command hides, and adds what a
// command opens. Other commands stay as they are.
func (l *Ledger) veil(ctx context.Context, e *entry, cmd rules.Command) (rules.Command, error) {
	switch cmd.Type {
	case "roll.seal":
		return cmd, &rules.Forbidden{Reason: "roll.seal is recorded by the program: give the roll itself, with a visibility"}
	case "target.seal":
		return l.hideTarget(ctx, e, cmd)
	case "roll.open":
		var d rules.RollOpen
		if err := rules.Unmarshal(cmd.Data, &d); err != nil || d.Payload != "" {
			return cmd, err
		}
		k, err := l.hidden(ctx, e, cmd, d.Roll)
		if err != nil {
			return cmd, err
		}
		d.Salt, d.Payload = k.salt, k.payload
		cmd.Data, err = rules.Canonical(&d)
		return cmd, err
	case "tempo.set":
		return cmd, checkZone(cmd)
	case "dispute.open":
		return l.freeze(ctx, e, cmd)
	case "ruling.make":
		return l.hideRuling(ctx, e, cmd)
	case rules.RulingOpenType:
		var d rules.RulingOpen
		if err := rules.Unmarshal(cmd.Data, &d); err != nil || d.Payload != "" {
			return cmd, err
		}
		k, err := l.hidden(ctx, e, cmd, d.Ruling)
		if err != nil {
			return cmd, err
		}
		d.Salt, d.Payload = k.salt, k.payload
		cmd.Data, err = rules.Canonical(&d)
		return cmd, err
	case "target.open":
		var d rules.TargetOpen
		if err := rules.Unmarshal(cmd.Data, &d); err != nil || d.Payload != "" {
			return cmd, err
		}
		k, err := l.hidden(ctx, e, cmd, d.Target)
		if err != nil {
			return cmd, err
		}
		d.Salt, d.Payload = k.salt, k.payload
		cmd.Data, err = rules.Canonical(&d)
		return cmd, err
	}
	return cmd, nil
}

func (l *Ledger) hideTarget(ctx context.Context, e *entry, cmd rules.Command) (rules.Command, error) {
	veiled, secret, err := rules.HideTarget(cmd, e.chains)
	if err != nil || secret.Payload == nil {
		return veiled, err
	}
	if _, known := e.state.Known(cmd.ID); known {
		return veiled, nil
	}
	var d rules.TargetSeal
	if err := rules.Unmarshal(veiled.Data, &d); err != nil {
		return cmd, err
	}
	k := kept{Salt: secret.Salt, Payload: string(secret.Payload), Command: veiled.Record(), By: cmd.By, Seal: d.Seal}
	return veiled, l.vault.put(ctx, e.campaign, k)
}

// opening is salt and payload as a command carries them.
type opening struct{ salt, payload string }

// hidden finds what record n hides; for a retry, what the command that opened
// it carried.
func (l *Ledger) hidden(ctx context.Context, e *entry, cmd rules.Command, n int64) (opening, error) {
	if known, ok := e.state.Known(cmd.ID); ok {
		return l.opened(ctx, e, known)
	}
	sealed, ok := e.state.Sealed(n)
	if !ok {
		return opening{}, rules.Reject("not_sealed", "", "record %d hides nothing that waits to be opened", n)
	}
	k, ok, err := l.secretOf(ctx, e, sealed)
	if err != nil {
		return opening{}, err
	}
	if !ok {
		return opening{}, rules.Reject("not_kept", "", "this server does not keep what record %d hides: give salt and payload", n)
	}
	return opening{fmt.Sprintf("%x", k.Salt), k.Payload}, nil
}

func (l *Ledger) opened(ctx context.Context, e *entry, known rules.Known) (o opening, err error) {
	var d struct {
		Salt    string `json:"salt"`
		Payload string `json:"payload"`
	}
	err = e.read(ctx, l.cfg.Journal, known.First, func(_ int64, line []byte) bool {
		rec, failed := events.Parse(line)
		if failed == nil && rec.Cmd.Data != nil {
			failed = json.Unmarshal(rec.Cmd.Data, &d)
		}
		if failed != nil {
			d.Payload = "" // another kind of command: it will be found to differ
		}
		return false
	})
	return opening{d.Salt, d.Payload}, err
}
