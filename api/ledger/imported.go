package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tallystick/events"
	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
)

// ImportedBucket is the bucket of checkpoints that came with campaigns from
// elsewhere.
const ImportedBucket = "imported"

// ErrForeign: the campaign was imported from another server, which alone can
// sign its checkpoints. It is read-only here.
var ErrForeign = errors.New("the campaign was imported: another server has its signing key, and it is read-only here")

// Bundle is an export that is to be imported.
type Bundle struct {
	Records    io.ReaderAt // one a line, as stored
	Size       int64       // of Records in bytes
	Checkpoint []byte      // signed over all records; nil for none, when all of them are here already
	VKey       string      // that came with it; empty for none
}

// Imported is what became of a bundle.
type Imported struct {
	Campaign string
	GM       string // handle of the first game master
	Records  int64  // in the campaign now
	Appended int64  // by the import
	New      bool   // the campaign was not here before
	ReadOnly bool   // another server has its signing key
}

// Import stores a bundle that verifies. A campaign that is here already must be
// a beginning of it: then only what comes after is appended. A checkpoint must
// cover all that is appended: nothing is signed here that was not signed before,
// and of what nobody has signed nobody could tell who changed it. It refuses with a *rules.Rejection.
// One that broke off is taken up by importing the same bundle again.
func (l *Ledger) Import(ctx context.Context, b Bundle) (Imported, error) {
	if err := l.enter(); err != nil {
		return Imported{}, err
	}
	defer l.busy.Done()
	report, err := l.verify(b)
	if err != nil {
		return Imported{}, err
	}
	own, err := l.owns(report.Campaign, report.Keys[len(report.Keys)-1].VKey)
	if err != nil {
		return Imported{}, err
	}
	e, err := l.load(ctx, report.Campaign)
	if errors.Is(err, ErrUnknownCampaign) {
		e, err = l.fresh(report.Campaign)
	}
	if err != nil {
		return Imported{}, err
	}
	defer l.release(e)
	out := Imported{Campaign: report.Campaign, New: e.state.Next == 0, ReadOnly: !own}
	here := e.state.Next
	switch {
	case report.Records < here:
		return out, rules.Reject("import_is_behind", "", "the campaign has %d records here, and the import only %d", here, report.Records)
	case b.Checkpoint == nil && report.Records > here:
		return out, rules.Reject("no_checkpoint", "", "a checkpoint signed over all %d records must come with it: import the bundle, not the records alone", report.Records)
	}
	if err := b.extends(e); err != nil {
		return out, err
	}
	err = b.commits(func(payload []byte) error { return l.adopt(ctx, e, here, payload) })
	out.GM, out.Records, out.Appended = e.state.Created.GM, e.state.Next, e.state.Next-here
	if err != nil || b.Checkpoint == nil {
		return out, err
	}
	_, err = l.imports.Put(ctx, report.Campaign, b.Checkpoint)
	return out, err
}

// verify refuses a bundle that is not whole, or whose rules cannot be held
// against it.
func (l *Ledger) verify(b Bundle) (*replay.Report, error) {
	evidence := replay.Evidence{Library: l.cfg.Library, ServerVKey: b.VKey}
	if b.Checkpoint != nil {
		evidence.Server = &replay.Note{Name: "of the import", Text: b.Checkpoint}
	}
	report, err := replay.Verify(io.NewSectionReader(b.Records, 0, b.Size), evidence)
	var failure *replay.Failure
	switch {
	case errors.As(err, &failure):
		return nil, rules.Reject("not_verified", "", "the ledger does not verify: %s", failure.Error())
	case err != nil:
		return nil, err
	case report.Rules != replay.RulesSame:
		return nil, rules.Reject("rules_not_known", "", "edition %d of %s is not on board: whether the rules were kept is not known", report.Edition, report.System)
	}
	return report, nil
}

func (b Bundle) commits(each func(payload []byte) error) error {
	return replay.Commits(io.NewSectionReader(b.Records, 0, b.Size), each)
}

// extends refuses a bundle that does not begin with what is here, byte for byte.
func (b Bundle) extends(e *entry) error {
	here := e.tree.Size()
	var tree merkle.Frontier
	err := b.commits(func(payload []byte) error {
		for _, line := range events.SplitCommit(payload) {
			if tree.Size() == here {
				return errEnough
			}
			tree.Append(line)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	root, err := e.tree.RootAt(here)
	if err != nil {
		return err
	}
	if root != tree.Root() {
		return rules.Reject("another_history", "", "the campaign is here already, and its %d records are not the ones the import begins with", here)
	}
	return nil
}

var errEnough = errors.New("enough")

// adopt appends a commit of another ledger as it is, unless it is here.
func (l *Ledger) adopt(ctx context.Context, e *entry, here int64, payload []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	recs, err := events.ParseCommit(payload)
	if err != nil {
		return err
	}
	if recs[0].N < here {
		return nil
	}
	seq, err := l.append(e, journal.Entry{Campaign: e.campaign, ID: recs[0].Cmd.ID, Expected: e.seq, Payload: bytes.Clone(payload)})
	if err != nil {
		e.stale = true
		return err
	}
	if err := e.state.ApplyCommit(recs); err != nil {
		e.stale = true
		return fmt.Errorf("campaign %s: stored, but cannot be folded: %w", e.campaign, err)
	}
	for _, line := range events.SplitCommit(payload) {
		e.tree.Append(bytes.Clone(line))
	}
	l.grown(e, seq, recs[0].N, len(recs))
	l.keepLater(e)
	l.cfg.Metrics.Stored(len(recs), 0)
	l.cfg.Committed(journal.Commit{Campaign: e.campaign, ID: recs[0].Cmd.ID, Seq: seq, Payload: bytes.Clone(payload)})
	return nil
}

// owns reports whether a campaign's checkpoints are signed with the key of this
// server.
func (l *Ledger) owns(campaign, key string) (bool, error) {
	signer, err := signerOf(campaign, key, l.cfg.Keys)
	return signer != nil, err
}

// writable refuses commands to a campaign of another server.
func (l *Ledger) writable(e *entry) error {
	if e.state.Next == 0 {
		return nil
	}
	s, err := e.signers(e.state.Keys)
	if err == nil && s.now == nil {
		err = ErrForeign
	}
	return err
}

// moved is how many of a campaign's records came from elsewhere.
func (e *entry) moved(ctx context.Context) (int64, error) {
	note, _, err := e.imports.Get(ctx, e.campaign)
	if errors.Is(err, journal.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the checkpoint of an import: %w", err)
	}
	signed, err := merkle.Open(note, e.state.VKeys...)
	return signed.Size, err
}

// brought is the checkpoint that came with an imported campaign, if it covers
// so many records.
func (e *entry) brought(key string, size int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), appendTimeout)
	defer cancel()
	note, _, err := e.imports.Get(ctx, e.campaign)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, ErrForeign
	}
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint of an import: %w", err)
	}
	signed, err := merkle.Open(note, key)
	if err != nil {
		return nil, err
	}
	if signed.Size != size {
		return nil, fmt.Errorf("%w; the checkpoint that came with it covers %d records", ErrForeign, signed.Size)
	}
	return note, nil
}
