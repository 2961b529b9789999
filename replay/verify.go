package replay

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// A Note is a signed checkpoint and the name to call it by, such as its file.
type Note struct {
	Name string
	Text []byte
}

// Evidence is what a ledger is held against, beside itself.
type Evidence struct {
	Library    rules.Library // the rules on board
	Server     *Note         // the checkpoint that came with the export: it must cover all of it
	ServerVKey string        // the key that came with the export; empty: none
	Kept       []Note        // checkpoints that somebody kept: each must fit
	VKey       string        // as it was given out at the table; empty: that of the first record is believed
	Me         string        // handle of who wants to know what their own secrets protected; empty for nobody
}

// A Failure is the first record that is not as it must be, and why, in a
// sentence for a player.
type Failure struct {
	N int64 `json:"n"`
	// Through is set when only a checkpoint shows that something is wrong: the
	// bad record is one of N to Through.
	Through int64  `json:"through,omitzero"`
	Field   string `json:"field,omitzero"` // path into the record: data.total
	Reason  string `json:"reason"`
	// Foreign is set when not even the first line is a record: this is no
	// ledger, and nothing is said about one.
	Foreign bool `json:"-"`
}

func (f *Failure) Error() string {
	where := fmt.Sprintf("record %d", f.N)
	if f.Through > f.N {
		where = fmt.Sprintf("a record between %d and %d", f.N, f.Through)
	}
	if f.Field != "" {
		where += ", " + f.Field
	}
	return where + ": " + f.Reason
}

// A Verifier checks one campaign record by record: form, tree, checkpoints and
// key, seats, chains and dice, and the rules by deciding every command again.
// It holds the folded campaign, the lanes of its sessions and 32 bytes a
// record. A correction is decided by the records before it: Verify reads them
// again from an export that can be, else as many are kept as a Replayer keeps.
type Verifier struct {
	evidence Evidence
	tree     merkle.Frontier
	leaves   []merkle.Hash // of all records: a dispute names one
	created  events.CampaignCreated
	last     events.Record // the record before
	table    table
	replayer *Replayer   // nil when nothing can be said about the rules
	again    io.ReaderAt // the export, to read it once more: a correction needs that; may be nil
	replayed int64       // bytes of it that were decided again
	decided  int64       // commands that were
	unread   error       // why the deciding ended before the ledger

	commit  commit      // the records of the command that is being read
	heads   []head      // checkpoints not reached yet, by size
	waiting []waiting   // checkpoints that no key so far has signed
	keys    []KeyReport // of the checkpoints, from the first record on
	missing []LostReport
	fitting []CheckpointReport
	proven  int64    // size of the largest checkpoint that fitted
	held    *Failure // a checkpoint did not fit: the rules may still name the record
	failed  *Failure
}

// head is a checkpoint whose signature is good.
type head struct {
	merkle.Checkpoint
	name   string
	server bool
}

// NewVerifier begins the verification of one campaign.
func NewVerifier(e Evidence) *Verifier {
	return &Verifier{evidence: e, table: newTable()}
}

// Verify reads an export, the records as stored, each followed by LF. The
// error is a *Failure when the ledger is refused; any other is one of reading.
func Verify(in io.Reader, e Evidence) (*Report, error) {
	v := NewVerifier(e)
	v.again, _ = in.(io.ReaderAt)
	lines := bufio.NewReaderSize(in, events.MaxRecord+1)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return v.End()
		case err == io.EOF:
			return nil, v.fail(v.bad("its line has no end"))
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, v.fail(v.bad("it is longer than %d bytes", events.MaxRecord))
		case err != nil:
			return nil, fmt.Errorf("read record %d: %w", v.tree.Size(), err)
		}
		if err := v.Record(line[:len(line)-1]); err != nil {
			return nil, err
		}
	}
}

// Record takes the next record, as stored, without the LF behind it. A
// *Failure is for good; it may name an earlier record of the same command.
func (v *Verifier) Record(line []byte) error {
	if v.failed != nil {
		return v.failed
	}
	rec, err := events.ParseAfter(&v.last, line)
	if err != nil {
		f := v.bad("%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("record %d: ", v.tree.Size())))
		f.Foreign = v.tree.Size() == 0
		return v.fail(f)
	}
	if rec.Cmd.Type != "" {
		if f := v.decide(); f != nil {
			v.failed = f
			return f
		}
		v.commit = v.commit.emptied(v.replayer != nil && v.replayer.History == nil)
	}
	e, err := v.check(rec, line)
	if err != nil {
		f, ok := err.(*Failure)
		if !ok {
			f = v.bad("%s", err)
		}
		return v.fail(f)
	}
	v.take(rec, e, line)
	return nil
}

// check holds a record against those before it. It gives its event, when that is
// one that all systems share.
func (v *Verifier) check(rec events.Record, line []byte) (events.Event, error) {
	if err := v.placed(rec, line); err != nil {
		return nil, err
	}
	return v.event(rec)
}

// placed checks that a record may stand where it does.
func (v *Verifier) placed(rec events.Record, line []byte) error {
	n, length := v.tree.Size(), len(v.commit.recs)
	switch {
	case rec.N != n:
		return fmt.Errorf("it says that it is record %d", rec.N)
	case n == 0 && rec.Type != "campaign.created":
		return fmt.Errorf("a campaign begins with campaign.created, not with %s", rec.Type)
	case n > 0 && rec.Type == "campaign.created":
		return errors.New("a campaign is created once")
	case length == 0 && rec.Cmd.Type == "":
		return errors.New("it does not say by which command it came")
	case n > 0 && rec.Campaign != v.last.Campaign:
		return fmt.Errorf("it belongs to the campaign %s", rec.Campaign)
	case rec.At < v.last.At:
		return fmt.Errorf("its time %s runs back behind %s", rec.At, v.last.At)
	case rec.Clock < v.last.Clock && rec.Type != "correction.made":
		return fmt.Errorf("game time runs back, from %d to %d", v.last.Clock, rec.Clock)
	case length > 0 && !v.commit.holds(rec):
		return fmt.Errorf("it does not belong to the command of record %d", v.commit.recs[0].N)
	case length == events.MaxCommitEvents || len(v.commit.payload)+1+len(line) > events.MaxCommitBytes:
		return errors.New("its command has more records than one command may have")
	case length == 0 && v.repeats(rec.Cmd.ID):
		return fmt.Errorf("the command %s was executed before", rec.Cmd.ID)
	}
	return nil
}

// repeats reports whether a command id stands in the ledger already, as far as
// a folded campaign is at hand to know it.
func (v *Verifier) repeats(command string) bool {
	if v.replayer == nil || v.replayer.Campaign() == nil {
		return false
	}
	_, known := v.replayer.Campaign().Known(command)
	return known
}

// event checks what a record says, if it is an event that all systems share;
// those of a system are checked by deciding again.
func (v *Verifier) event(rec events.Record) (events.Event, error) {
	if _, known := core[rec.Type]; !known {
		v.table.unknown(rec)
		return nil, nil
	}
	if v.replayer != nil && ofCharacters[rec.Type] {
		return nil, nil
	}
	e, err := core.Decode(rec)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("record %d: ", rec.N)))
	}
	if created, ok := e.(*events.CampaignCreated); ok {
		if err := v.begin(rec, created); err != nil {
			return nil, err
		}
	}
	switch e := e.(type) {
	case *events.DisputeOpened:
		return e, v.evident(rec.N, e)
	case *events.LedgerRecovered, *events.KeyRotated:
		return e, v.keyed(rec.N, e)
	}
	cmd := rec.Cmd
	if len(v.commit.recs) > 0 {
		cmd = v.commit.recs[0].Cmd
	}
	return e, v.table.event(place{n: rec.N, clock: rec.Clock, by: rec.By, cmd: cmd}, e)
}

// ofCharacters are the shared events of which nothing but the rules knows what
// they must say: where those decide again, every byte of them is compared.
var ofCharacters = func() map[string]bool {
	types := map[string]bool{}
	for name, make := range core {
		e := make()
		_, of := e.(events.CharacterEvent)
		_, tick := e.(*events.TickProcessed)
		types[name] = of && !tick
	}
	return types
}()

// evident checks the state of the ledger that a dispute was opened on. Its
// root is a checkpoint that nobody signed: when it differs, the dispute or a
// record before it is another one now.
func (v *Verifier) evident(n int64, e *events.DisputeOpened) error {
	root := v.tree.Root()
	switch {
	case e.Evidence.Size != n:
		return errors.New("its evidence is not the ledger as it stood before it")
	case e.Evidence.Root != hex.EncodeToString(root[:]):
		return &Failure{N: v.proven, Through: n, Reason: fmt.Sprintf("the first %d records are not the ones that the dispute in record %d saw", n, n)}
	case e.Roll < 0 || e.Roll >= n:
		return fmt.Errorf("there was no record %d to dispute", e.Roll)
	case e.Evidence.Leaf != hex.EncodeToString(v.leaves[e.Roll][:]):
		return fmt.Errorf("its evidence is not record %d", e.Roll)
	}
	return nil
}

// begin reads the key, the checkpoints and the rules of the campaign.
func (v *Verifier) begin(rec events.Record, e *events.CampaignCreated) error {
	v.created, v.table.campaign = *e, rec.Campaign
	key, err := merkle.ParseVKey(e.VKey)
	if err != nil {
		return err
	}
	if !ofCampaign(key.Origin, rec.Campaign) {
		return fmt.Errorf("its key is for the log %s, not for this campaign", key.Origin)
	}
	v.keys = []KeyReport{{VKey: e.VKey}}
	for _, note := range v.evidence.Kept {
		if err := v.open(note, false); err != nil {
			return err
		}
	}
	if v.evidence.Server != nil {
		if err := v.open(*v.evidence.Server, true); err != nil {
			return err
		}
	}
	if err := v.attribute(); err != nil {
		return err
	}
	v.passed(0)
	if e.Edition < 1 {
		return fmt.Errorf("the rules have no edition %d", e.Edition)
	}
	book, err := v.evidence.Library.Find(e.System, e.Edition)
	if err != nil {
		return nil // MissingEdition: about the rules nothing can be said
	}
	// The campaign's own edition alone: a newer one may be on board too.
	v.replayer = New(rules.Library{book})
	if v.again != nil {
		v.replayer.History = func(each func(payload []byte) error) error { return Again(v.again, v.replayed)(each) }
	}
	return nil
}

// ofCampaign reports whether an origin is that of a campaign's log: the first
// one, or the k-th that was begun after a loss.
func ofCampaign(origin, campaign string) bool {
	log, err := merkle.ParseOrigin(origin)
	return err == nil && log.Campaign == campaign
}

// open reads a checkpoint, which one of the campaign's keys must have signed.
func (v *Verifier) open(note Note, server bool) error {
	shown, err := merkle.Peek(note.Text)
	if err == nil && !ofCampaign(shown.Origin, v.table.campaign) {
		err = fmt.Errorf("it is one of %s", shown.Origin)
	}
	if err != nil {
		return unsigned(note, err)
	}
	v.waiting = append(v.waiting, waiting{note: note, shown: shown, server: server})
	return nil
}

func unsigned(note Note, err error) error {
	return fmt.Errorf("its key did not sign the checkpoint %s (%w)", note.Name, err)
}

// take adds a record that is good by itself to the tree and to its commit.
func (v *Verifier) take(rec events.Record, e events.Event, line []byte) {
	leaf := merkle.LeafHash(line)
	v.tree.AppendLeaf(leaf)
	v.leaves = append(v.leaves, leaf)
	v.commit.add(rec, e, line)
	v.last = rec
	v.passed(v.tree.Size())
}

// passed holds the tree against the checkpoints of its size.
func (v *Verifier) passed(size int64) {
	for ; len(v.heads) > 0 && v.heads[0].Size == size; v.heads = v.heads[1:] {
		v.hold(v.heads[0], v.tree.Root())
	}
}

// hold compares a checkpoint with the root of its size.
func (v *Verifier) hold(h head, root merkle.Hash) {
	switch {
	case v.held != nil:
	case h.Root != root:
		v.held = &Failure{N: min(v.proven, h.Size-1), Through: h.Size - 1,
			Reason: fmt.Sprintf("the first %d records are not the ones that the checkpoint %s saw", h.Size, h.name)}
	default:
		v.proven = max(v.proven, h.Size)
		v.fitting = append(v.fitting, CheckpointReport{Name: h.name, Size: h.Size, Kept: !h.server})
	}
}

// decide has the commit that has been read decided again, and gives the
// earliest failure known by then.
func (v *Verifier) decide() *Failure {
	if f := v.replay(); f != nil && (v.held == nil || f.N <= v.held.Through) {
		return f
	}
	return v.held
}

func (v *Verifier) replay() *Failure {
	if v.replayer == nil || len(v.commit.recs) == 0 {
		return nil
	}
	err := v.replayer.commit(v.commit)
	var differs *Divergence
	var unusable *Unusable
	switch {
	case err == nil:
		v.replayed += int64(len(v.commit.payload)) + 1
		v.decided++
	case errors.Is(err, rules.ErrNoHistory):
		v.replayer, v.unread = nil, err
	case errors.As(err, &differs) && differs.Field == "cmd":
		return &Failure{N: differs.N, Reason: fmt.Sprintf("the rules do not come to this: stored are %s, the rules say %s", differs.Stored, differs.Decided)}
	case errors.As(err, &differs):
		return &Failure{N: differs.N, Field: differs.Field, Reason: fmt.Sprintf("it holds %s, but the rules come to %s", differs.Stored, differs.Decided)}
	case errors.As(err, &unusable):
		return &Failure{N: unusable.N, Reason: unusable.Err.Error()}
	}
	return nil
}

// bad says that the record in hand is.
func (v *Verifier) bad(format string, a ...any) *Failure {
	return &Failure{N: v.tree.Size(), Reason: fmt.Sprintf(format, a...)}
}

// fail ends the verification, with an earlier failure if there is one: what
// has been read of the commit may differ already from what the rules decide.
// Of a commit cut short, only a difference inside a record counts.
func (v *Verifier) fail(f *Failure) error {
	v.failed = f
	if v.held != nil {
		v.failed = v.held
	}
	if found := v.replay(); found != nil && found.Field != "" && (v.held == nil || found.N <= v.held.Through) {
		v.failed = found
	}
	return v.failed
}

// End says that no record follows.
func (v *Verifier) End() (*Report, error) {
	if v.failed != nil {
		return nil, v.failed
	}
	if v.tree.Size() == 0 {
		f := v.bad("there is no record in it")
		f.Foreign = true
		return nil, v.fail(f)
	}
	if f := v.decide(); f != nil {
		v.failed = f
		return nil, f
	}
	v.commit = commit{}
	if err := v.keysHold(); err != nil {
		return nil, v.fail(&Failure{Reason: err.Error()})
	}
	for _, h := range v.heads {
		return nil, v.fail(v.bad("it is missing: the ledger ends here, and the checkpoint %s saw %d records", h.name, h.Size))
	}
	for _, c := range v.fitting {
		if !c.Kept && c.Size < v.tree.Size() {
			return nil, v.fail(&Failure{N: c.Size, Reason: fmt.Sprintf("the checkpoint %s of this export ends before it: nobody has signed it", c.Name)})
		}
	}
	return v.report(), nil
}

// lostDevice reads out of a seat.take whether it is for a lost device.
func lostDevice(cmd events.Cmd) bool {
	var d rules.SeatTake
	return cmd.Type == "seat.take" && json.Unmarshal(cmd.Data, &d) == nil && d.Lost
}
