package archive

import (
	"context"
	"crypto/sha256"
	"fmt"

	"tallystick/events/journal"
)

func hashOf(payload []byte) hash { return sha256.Sum256(payload) }

// State says how a partition's stream and the archive compare at their ends.
type State string

// The states.
const (
	Equal   State = "equal"
	Behind  State = "behind"  // the archive has yet to copy the stream's last commits
	Shorter State = "shorter" // the stream has lost commits at its end
	Differs State = "differs" // under the archive's last number the stream has another commit
	Unread  State = "unread"  // the stream cannot read the archive's last commit
)

// Comparison is one partition's.
type Comparison struct {
	Partition int
	Stream    uint64 // last sequence of the stream
	Archive   uint64 // last sequence of the archive
	State     State
	Gap       string // what the journal's health says of missing messages, or empty
}

// Sound reports whether the stream has lost nothing as far as its end shows.
func (c Comparison) Sound() bool {
	return c.Gap == "" && (c.State == Equal || c.State == Behind)
}

// Report is what opening an archive found. Its cost does not grow with the
// ledger.
type Report struct {
	Segments   int
	Cut        *Damage  // what was torn at the end and was cut, nil if nothing was
	Damage     []Damage // in the segments that were read
	Lost       uint64   // commits that the journal was found to have lost before
	Partitions []Comparison
}

// Sound reports whether nothing is lost as far as a start can see. A torn end
// is nothing lost: the journal still has it.
func (r Report) Sound() bool {
	if len(r.Damage) > 0 || r.Lost > 0 {
		return false
	}
	for _, c := range r.Partitions {
		if !c.Sound() {
			return false
		}
	}
	return true
}

// Problems says in words what is not as it should be, a line each.
func (r Report) Problems() []string {
	var lines []string
	if r.Cut != nil {
		lines = append(lines, "the torn end was cut: "+r.Cut.String())
	}
	for _, d := range r.Damage {
		lines = append(lines, "damage: "+d.String())
	}
	if r.Lost > 0 {
		lines = append(lines, fmt.Sprintf("the journal had lost %d commits before this start", r.Lost))
	}
	for _, c := range r.Partitions {
		if !c.Sound() {
			lines = append(lines, fmt.Sprintf("partition %d: the stream ends at %d, the archive at %d: %s %s", c.Partition, c.Stream, c.Archive, c.State, c.Gap))
		}
	}
	return lines
}

// compare compares the ends of the streams and of the archive.
func compare(ctx context.Context, j journal.Journal, health journal.Health, s *state) ([]Comparison, error) {
	var found []Comparison
	for p, of := range health.Partitions {
		c := Comparison{Partition: p, Stream: of.Last, Archive: s.at[p].seq}
		if of.Gap {
			c.Gap = of.Problem
		}
		var err error
		if c.State, err = compareEnd(ctx, j, len(health.Partitions), p, of.Last, s.at[p]); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

func compareEnd(ctx context.Context, j journal.Journal, partitions, p int, last uint64, t tip) (State, error) {
	state := Equal
	switch {
	case last < t.seq:
		return Shorter, nil
	case last > t.seq:
		state = Behind
	}
	if t.campaign == "" { // nothing, or a mark, came last
		return state, nil
	}
	same, err := holds(ctx, j, reference{journal.Commit{Campaign: t.campaign, Seq: t.seq}, t.sum})
	if err != nil || same {
		return state, err
	}
	other := Unread
	err = readPartition(ctx, j, partitions, p, t.seq-1, t.seq, func(c journal.Commit) error {
		other = Differs
		if hashOf(c.Payload) == t.sum { // a copy of the stream that lagged has it now
			other = state
		}
		return nil
	})
	return other, err
}

// Kind says what a Finding is.
type Kind string

// The kinds. What is only NotCopied is no damage: the archive is written
// behind the journal.
const (
	NotInJournal Kind = "not in the journal"      // the archive has it
	NotInArchive Kind = "not in the archive"      // damaged there; the journal has it
	NotCopied    Kind = "not copied yet"          // newer than the archive's end
	Lost         Kind = "lost"                    // neither has it, but there are records after it
	Forked       Kind = "stored with other bytes" // the two disagree about a record
	Unreadable   Kind = "not a ledger's records"  // a payload does not say its number
	Short        Kind = "short of its checkpoint" // fewer records than were signed
	OtherRoot    Kind = "not what was signed"     // the root under the checkpoint differs
)

// Finding is a piece of one campaign that is not in both places alike.
type Finding struct {
	Kind      Kind
	Campaign  string
	Partition int
	N         int64  // of its first record, -1 unknown
	Records   int64  // how many, 0 unknown
	Seq       uint64 // of its first commit, 0 if it has none
	Commits   int
}

// String says in one line what was found.
func (f Finding) String() string {
	return fmt.Sprintf("campaign %s, n %d, %d records (partition %d, sequence %d, %d commits): %s", f.Campaign, f.N, f.Records, f.Partition, f.Seq, f.Commits, f.Kind)
}

// Comparisons is the full comparison of a journal and an archive.
type Comparisons struct {
	Partitions []Comparison
	Findings   []Finding // by campaign, then n
	Damage     []Damage  // of the archive
	Commits    uint64    // compared
}

// Sound reports whether nothing is lost or damaged.
func (c Comparisons) Sound() bool {
	for _, p := range c.Partitions {
		if !p.Sound() {
			return false
		}
	}
	for _, f := range c.Findings {
		if f.Kind != NotCopied {
			return false
		}
	}
	return len(c.Damage) == 0
}

// Check reads all of the archive and of the journal and compares them commit
// by commit. It keeps about 200 bytes a commit in memory.
func (a *Archive) Check(ctx context.Context) (Comparisons, error) {
	position := a.Position()
	c, _, err := fullCheck(ctx, a.journal, a.dir, &position)
	return c, err
}

// Check is Archive.Check of an archive that nobody writes to.
func Check(ctx context.Context, j journal.Journal, dir string) (Comparisons, error) {
	c, _, err := fullCheck(ctx, j, dir, nil)
	return c, err
}

func fullCheck(ctx context.Context, j journal.Journal, dir string, until *Position) (Comparisons, *merged, error) {
	m, err := merge(ctx, j, dir, until)
	if err != nil {
		return Comparisons{}, nil, err
	}
	c := Comparisons{Findings: m.findings, Damage: m.damage, Commits: m.commits}
	c.Partitions, err = compare(ctx, j, m.health, &m.end)
	return c, m, err
}
