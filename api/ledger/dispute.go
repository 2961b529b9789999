package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
)

// historyTimeout bounds the reading of a campaign's commands for a correction.
const historyTimeout = 2 * time.Minute

// history reads a campaign's commits once more, for a correction.
func (l *Ledger) history(campaign string) replay.History {
	return func(each func(payload []byte) error) error {
		ctx, cancel := context.WithTimeout(context.Background(), historyTimeout)
		defer cancel()
		return l.cfg.Journal.Read(ctx, campaign, 0, func(c journal.Commit) error { return each(c.Payload) })
	}
}

// Correct implements rules.Histories.
func (c *chains) Correct(state *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	return replay.Correct(c.history, state, x)
}

// disputable are the records without a character that can be put into
// question or overridden, beside every record about a character.
var disputable = []string{
	"roll.made", "roll.resolved", "roll.sealed", "roll.opened", "roll.voided", "target.opened",
	"clock.advanced", "ruling.made", "ruling.opened", "correction.made",
}

// inQuestion reads record n, which somebody disputes or overrides. What is
// no outcome of the game cannot be. An n that no record has is left to the
// rules.
func (l *Ledger) inQuestion(ctx context.Context, e *entry, n int64) (leaf merkle.Hash, err error) {
	if n <= 0 || n >= e.state.Next {
		return leaf, nil
	}
	var line []byte
	err = e.read(ctx, l.cfg.Journal, n, func(_ int64, stored []byte) bool {
		line = bytes.Clone(stored)
		return false
	})
	if err != nil {
		return leaf, err
	}
	rec, err := events.Parse(line)
	if err != nil {
		return leaf, err
	}
	fact, err := e.state.Book.Registry().Decode(rec)
	if err != nil {
		return leaf, err
	}
	if _, of := fact.(events.CharacterEvent); !of && !slices.Contains(disputable, rec.Type) {
		return leaf, rules.Reject("not_disputable", "", "record %d (%s) is no outcome of the game", n, rec.Type).On("roll")
	}
	return merkle.LeafHash(line), nil
}

// freeze adds the evidence to a dispute: the ledger as it stands.
func (l *Ledger) freeze(ctx context.Context, e *entry, cmd rules.Command) (rules.Command, error) {
	var d rules.DisputeOpen
	if err := rules.Unmarshal(cmd.Data, &d); err != nil {
		return cmd, err
	}
	if d.Evidence != nil {
		return cmd, &rules.Invalid{Field: "evidence", Reason: "is added by the program"}
	}
	if known, ok := e.state.Known(cmd.ID); ok {
		return l.refreeze(ctx, e, cmd, d, known)
	}
	if err := l.finish(e); err != nil { // nothing may come between the evidence and the dispute
		return cmd, err
	}
	leaf, err := l.inQuestion(ctx, e, d.Roll)
	if err != nil {
		return cmd, err
	}
	root := e.tree.Root()
	d.Evidence = &events.Evidence{Size: e.tree.Size(), Root: hex.EncodeToString(root[:]), Leaf: hex.EncodeToString(leaf[:])}
	cmd.Data, err = rules.Canonical(&d)
	return cmd, err
}

// refreeze gives a retry the evidence that was recorded.
func (l *Ledger) refreeze(ctx context.Context, e *entry, cmd rules.Command, d rules.DisputeOpen, known rules.Known) (rules.Command, error) {
	a, err := l.recorded(ctx, e, cmd.ID)
	if err != nil {
		return cmd, err
	}
	rec, err := events.Parse(a.Records[0])
	if err != nil {
		return cmd, err
	}
	var was rules.DisputeOpen
	if known.Type == cmd.Type {
		if err := rules.Unmarshal(rec.Cmd.Data, &was); err != nil {
			return cmd, err
		}
	}
	d.Evidence = was.Evidence
	cmd.Data, err = rules.Canonical(&d)
	return cmd, err
}

// hideRuling puts the seal in a ruling's place where the campaign shows
// rulings later, and keeps what it hides.
func (l *Ledger) hideRuling(ctx context.Context, e *entry, cmd rules.Command) (rules.Command, error) {
	var d rules.RulingMake
	if err := rules.Unmarshal(cmd.Data, &d); err != nil {
		return cmd, err
	}
	if d.Seal != "" {
		return cmd, &rules.Invalid{Field: "seal", Reason: "is added by the program"}
	}
	if _, err := l.inQuestion(ctx, e, d.Roll); err != nil {
		return cmd, err
	}
	veiled, secret, err := rules.HideRuling(e.state, cmd, e.chains)
	if err != nil || secret.Payload == nil {
		return veiled, err
	}
	if _, known := e.state.Known(cmd.ID); known || !e.isGM(cmd.By) {
		return veiled, nil // a retry; or the rules will refuse it
	}
	if err := rules.Unmarshal(veiled.Data, &d); err != nil {
		return cmd, err
	}
	k := kept{Salt: secret.Salt, Payload: string(secret.Payload), Command: veiled.Record(), By: cmd.By, Seal: d.Seal}
	return veiled, l.vault.put(ctx, e.campaign, k)
}

func (e *entry) isGM(handle string) bool {
	p, ok := e.state.Participant(handle)
	return ok && p.Role == rules.RoleGM
}

// showRulings opens the sealed rulings of a session that its game master is
// about to close. One that this server does not keep stays sealed, and the
// closing counts it.
func (l *Ledger) showRulings(ctx context.Context, e *entry, cmd rules.Command) error {
	if cmd.Type != "session.close" || !e.isGM(cmd.By) {
		return nil
	}
	if err := l.finish(e); err != nil {
		return err
	}
	root, err := uuid.Parse(cmd.ID)
	if err != nil {
		return err
	}
	for _, n := range e.state.SealedRulings() {
		data, err := rules.Canonical(&rules.RulingOpen{Ruling: n})
		if err != nil {
			return err
		}
		open := rules.Command{
			ID: uuid.NewSHA1(root, fmt.Appendf(nil, "shows %d", n)).String(), By: cmd.By, Type: rules.RulingOpenType, Data: data,
		}
		open, err = l.veil(ctx, e, open)
		if err == nil {
			_, err = l.once(e, open)
		}
		if no := (*rules.Rejection)(nil); errors.As(err, &no) && no.Code == "not_kept" {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
