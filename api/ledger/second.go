package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tallystick/events/archive"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// second hands a stored commit to the copy that the store's server never
// opens, and the checkpoint over it to where the last one is kept. Both run
// behind the acknowledgement, unless they are strict: then an error here is
// the answer, and the command is found stored when it is asked for again.
func (l *Ledger) second(e *entry, c journal.Commit, checkpoint []byte) error {
	if l.cfg.Archive == nil && l.cfg.Heads == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	if l.cfg.Archive != nil {
		if err := l.cfg.Archive.Append(ctx, c); err != nil {
			return fmt.Errorf("campaign %s: stored, but not copied: %w", e.campaign, err)
		}
	}
	if l.cfg.Heads == nil || e.signing.now == nil {
		return nil // an imported campaign is signed by the server it came from
	}
	origin := e.signing.now.Origin()
	head := archive.Head{Signed: checkpoint, Checkpoint: merkle.Checkpoint{Origin: origin, Size: e.tree.Size(), Root: e.tree.Root()}}
	err := l.cfg.Heads.Put(ctx, logName(origin, e.campaign), head, func(from int64) ([]merkle.Hash, error) { return e.tree.Consistency(from, head.Size) })
	switch {
	case errors.Is(err, merkle.ErrFork):
		err = &RedError{Campaign: e.campaign, Err: err}
		l.colour(e.campaign, err)
		e.stale = true
	case errors.Is(err, merkle.ErrRollback):
		return nil // another node has gone on already; what it kept is checked when a campaign is opened
	}
	return err
}

// checkHead holds a campaign that was just folded against the last checkpoint
// that was signed over it: a ledger that is shorter or other than what this
// server has signed is not whole.
func (l *Ledger) checkHead(ctx context.Context, e *entry) error {
	if l.cfg.Heads == nil {
		return nil
	}
	kept, err := l.cfg.Heads.Get(ctx, e.log())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case errors.Is(err, merkle.ErrFork):
		return &RedError{Campaign: e.campaign, Err: err}
	case err != nil:
		return err
	}
	if kept.Size > e.tree.Size() {
		// Another node may have gone on since the ledger was read.
		if err := l.catchUpFrom(ctx, e); err != nil {
			return err
		}
	}
	if kept.Size > e.tree.Size() {
		return &RedError{Campaign: e.campaign, Err: &missingError{has: e.tree.Size(), signed: kept.Size}}
	}
	for _, head := range []archive.Head{kept.File, kept.Bucket} {
		if err := e.continues(head); err != nil {
			return &RedError{Campaign: e.campaign, Err: err}
		}
	}
	return nil
}

// continues reports whether the ledger is a continuation of the one a
// checkpoint was signed over.
func (e *entry) continues(head archive.Head) error {
	if head.Origin == "" {
		return nil // there is none in this place
	}
	if _, err := merkle.Open(head.Signed, e.state.VKeys...); err != nil {
		return fmt.Errorf("the checkpoint that is kept over %d records is not signed by this campaign's key: %w", head.Size, err)
	}
	root, err := e.tree.RootAt(head.Size)
	if err != nil {
		return err
	}
	if root != head.Root {
		return fmt.Errorf("the first %d records are not those of the checkpoint that is kept", head.Size)
	}
	return nil
}

// Inspect opens every campaign once, and every one of which a checkpoint is
// kept, so that what is not whole is known before somebody plays. It goes on
// behind the start and ends with ctx.
func (l *Ledger) Inspect(ctx context.Context) error {
	if err := l.every(ctx, func(id string) error { return l.inspect(ctx, id) }); err != nil {
		return err
	}
	if l.cfg.Heads == nil {
		return nil
	}
	logs, err := l.cfg.Heads.Logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		campaign, _, _ := strings.Cut(log, "/") // "<id>/2" is the ledger begun anew
		if err := l.inspect(ctx, campaign); err != nil {
			return err
		}
	}
	return nil
}

// every calls each with the id of every campaign.
func (l *Ledger) every(ctx context.Context, each func(campaign string) error) error {
	const page = 1_000
	for after := ""; ; {
		ids, err := l.cfg.Journal.Campaigns(ctx, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := each(id); err != nil {
				return err
			}
			after = id
		}
		if len(ids) < page {
			return nil
		}
	}
}

// Participants calls each with everybody who takes part in a campaign. Campaigns
// that are not whole are left out.
func (l *Ledger) Participants(ctx context.Context, each func(campaign, handle string)) error {
	return l.every(ctx, func(id string) error {
		err := l.State(ctx, id, func(c *rules.Campaign) error {
			for _, handle := range c.Participants() {
				each(id, handle)
			}
			return nil
		})
		if errors.As(err, new(*RedError)) {
			return nil
		}
		return err
	})
}

// inspect reads a campaign from its first record, whatever snapshot there is, looks
// for its secrets, and keeps nothing of it: nobody has asked to play. Only that the
// store or the time is at an end stops the round; what is wrong with the campaign
// is in Red.
func (l *Ledger) inspect(ctx context.Context, campaign string) error {
	e := &entry{campaign: campaign, keys: l.cfg.Keys, imports: l.imports}
	err := l.fold(ctx, e, false)
	if err == nil {
		l.colour(campaign, nil)
		err = l.secrets(ctx, e)
	}
	l.account(-e.tree.Size())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.distrust(ctx, campaign)
		err = l.with(ctx, campaign, func(e *entry) error { return l.secrets(ctx, e) })
	}
	if errors.Is(err, ErrUnknownCampaign) {
		l.colour(campaign, &RedError{Campaign: campaign, Err: &unreadError{0, errors.New("all are missing: a signed checkpoint is kept, the ledger has none")}})
	}
	return ctx.Err()
}
