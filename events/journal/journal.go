// Package journal keeps the commits of every campaign, in order, for ever.
//
// It is the only package that knows NATS. It promises that an entry is on disk
// when Append returns nil, that a campaign's commits form one line without a
// fork, and that a damaged store is reported and never read as if it were whole.
// What a payload says is none of its business. It imports nothing of Tallystick.
package journal

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Limits and defaults. All of them are checked before anything is sent.
const (
	// MaxPayload is the largest payload of one entry in bytes: a commit of 512 KiB
	// and room for one last record of 64 KiB that crosses that line.
	MaxPayload = 576 << 10
	// MaxPartitions is the largest number of partitions a ledger may be made with.
	MaxPartitions = 64
	// DefaultPartitions is the number of partitions of a ledger made without saying.
	DefaultPartitions = 4
	// maxCommandID is the largest length of a command id in bytes.
	maxCommandID = 128
)

// Errors that callers tell apart with errors.Is. A message that wraps one of
// them names the campaign and the sequences involved.
var (
	// ErrConflict: the campaign has moved past the expected sequence and the entry
	// is not stored under it; or a bucket's key has another revision.
	ErrConflict = errors.New("journal: conflict")
	// ErrNotFound: the campaign has no commit, or the bucket has no such key.
	ErrNotFound = errors.New("journal: not found")
	// ErrFull: the store refused to write, for want of room or after a failed write.
	// Nothing was stored; reading goes on. A full embedded store takes writes again
	// after room was made and it was opened anew.
	ErrFull = errors.New("journal: the store cannot take more")
	// ErrTooLarge: the payload is larger than MaxPayload.
	ErrTooLarge = errors.New("journal: payload too large")
	// ErrInvalid: an argument cannot be stored; the message names the field.
	ErrInvalid = errors.New("journal: invalid")
	// ErrDamaged: commits that were stored cannot be read any more.
	ErrDamaged = errors.New("journal: damaged")
	// ErrInUse: another tallystick serves the folder.
	ErrInUse = errors.New("journal: another tallystick serves this folder")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("journal: closed")
)

// UnclearError says that an entry may or may not be stored: its answer was lost
// and so was every answer to asking again. The caller reads the campaign's tail,
// or appends the very same entry once more, which stores it at most once. It
// matches no other error: what is unclear must not pass for a refusal.
type UnclearError struct {
	Campaign string
	ID       string // command id
	Err      error  // the last thing that went wrong
}

// Error implements error.
func (e *UnclearError) Error() string {
	return fmt.Sprintf("journal: campaign %s: command %s may or may not be stored: %v", e.Campaign, e.ID, e.Err)
}

// Commit is all records of one command as they are stored.
type Commit struct {
	Campaign string
	ID       string // command id
	Seq      uint64 // sequence in the campaign's JetStream stream; grows, not without gaps
	Payload  []byte // records joined by LF
}

// Entry is a commit that asks to be stored.
type Entry struct {
	Campaign string // lower-case UUID text
	ID       string // command id: 1 to 128 visible ASCII characters
	Expected uint64 // Seq of the campaign's last commit, 0 for none
	Payload  []byte // 1 to MaxPayload bytes
	// Meanwhile, if not nil, is called once by Append, at the latest before it
	// returns nil, and as a rule while the store works: what the caller would do next
	// then costs no time of its own. It must not append.
	Meanwhile func()
}

// Journal is the contract of a store of commits; package journaltest has the
// suite that every implementation passes. All methods may be called at once by
// many goroutines. A slice that is handed over is not changed by anyone after.
type Journal interface {
	// Append stores an entry; it is durable when the error is nil. An entry that
	// is already stored after Expected with the same bytes is a success with the
	// sequence it has. Errors: ErrConflict, *UnclearError, ErrFull, ErrTooLarge,
	// ErrInvalid, ErrClosed, ErrDamaged when the stream has lost its end and is not
	// written any more, or the context's own when nothing was sent yet.
	// A command id is looked for after Expected only: that no command is stored
	// twice under two expectations is for the caller, who knows all ids.
	Append(ctx context.Context, entry Entry) (seq uint64, err error)

	// Read hands every commit of the campaign with Seq > after to each, in order,
	// and stops with the first error of each. ErrDamaged: one is missing between
	// others, or cannot be read. A last commit that the store has lost and forgotten
	// leaves no trace in the campaign; Health and what is kept elsewhere tell.
	Read(ctx context.Context, campaign string, after uint64, each func(Commit) error) error

	// Last returns the Seq of the campaign's last commit, 0 when it has none.
	Last(ctx context.Context, campaign string) (seq uint64, err error)

	// First returns the campaign's first commit, or ErrNotFound.
	First(ctx context.Context, campaign string) (Commit, error)

	// Campaigns returns up to limit ids greater than after in byte order; a limit
	// of 0 or less means all. The first call pays for the list, opening does not.
	Campaigns(ctx context.Context, after string, limit int) ([]string, error)

	// Follow returns once it is established. From then on every commit stored
	// later is handed to each exactly once, one call at a time, in the order of
	// Seq within a partition, until ctx ends. It resumes by itself where it was
	// when a connection or a consumer is lost. A message missing from the stream
	// is reported by Health; what comes after it is still delivered.
	Follow(ctx context.Context, each func(Commit)) error

	// Bucket opens a small key-value store, made if there is none of that name.
	Bucket(ctx context.Context, name string) (Bucket, error)

	// Publish sends a courtesy message on a subject that starts with "feed.".
	// It is not stored and may be lost.
	Publish(ctx context.Context, subject string, data []byte) error

	// Health reports how the store is. Its cost does not grow with the ledger.
	Health(ctx context.Context) Health

	// Close refuses new appends, lets those under way finish, ends all other use and
	// frees the folder. A follower must not call it.
	Close() error
}

// Bucket is a small key-value store, as durable as the ledger. A key is made of
// letters, digits and -/_=. and neither starts nor ends with a dot. An error
// other than those named leaves open whether the change was made.
type Bucket interface {
	// Get returns the value and revision of key as last changed, or ErrNotFound.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Create stores the value if the key has none, else ErrConflict.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update stores the value if the key is at that revision, else ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Put stores the value whatever was there.
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Delete removes the key; it is no error if there is none.
	Delete(ctx context.Context, key string) error
	// Keys returns all keys in byte order. On a store of several copies it may lag
	// a moment behind the last change.
	Keys(ctx context.Context) ([]string, error)
}

// Sync modes of a store, as Health reports them.
const (
	SyncAlways  = "always"  // every write is on disk before it is acknowledged
	SyncRelaxed = "relaxed" // a power cut loses acknowledged writes: tests only
	SyncUnknown = "unknown" // a server elsewhere, which does not tell
	SyncNone    = "none"    // memory
)

// Health is a report on a journal.
type Health struct {
	Partitions  []PartitionHealth
	Sync        string   // one of the Sync constants
	Reachable   bool     // every partition answered
	FollowError string   // what last disturbed a Follow and is not mended, or empty
	Cut         []string // of which buckets the server cut an end off at its start, in words
	Lost        []string // which buckets went back since, or cannot be synced to disk, in words
}

// PartitionHealth is a report on one JetStream stream.
type PartitionHealth struct {
	Stream   string
	First    uint64 // first sequence, 0 or 1 in a whole stream
	Last     uint64 // last sequence
	Messages uint64
	Gap      bool   // messages != last − first + 1, the first is not 1, or a follower missed one
	Problem  string // in words, empty when all is well
}

// Sound reports whether nothing is wrong.
func (h Health) Sound() bool {
	for _, p := range h.Partitions {
		if p.Gap || p.Problem != "" {
			return false
		}
	}
	return h.Reachable && h.FollowError == ""
}

// Whole reports whether no partition is known to have lost anything.
func (h Health) Whole() bool {
	return !slices.ContainsFunc(h.Partitions, func(p PartitionHealth) bool { return p.Gap })
}

// Writable reports whether no partition refuses to write for another reason.
func (h Health) Writable() bool {
	return !slices.ContainsFunc(h.Partitions, func(p PartitionHealth) bool { return p.Problem != "" && !p.Gap })
}

// gap reports whether a stream that never deletes has lost messages.
func (p PartitionHealth) gap() bool {
	return p.Messages != p.Last || p.First > 1
}

// PartitionOf returns the partition of a campaign: FNV-1a (32 bits) of its id
// modulo the number of partitions. It is fixed for ever: it is part of the
// subjects under which commits are stored.
func PartitionOf(campaign string, partitions int) int {
	h := fnv.New32a()
	h.Write([]byte(campaign))
	return int(h.Sum32() % uint32(partitions))
}

// streamName returns the name of a partition's JetStream stream.
func streamName(partition int) string { return fmt.Sprintf("LEDGER_%d", partition) }

func checkCampaign(campaign string) error {
	id, err := uuid.Parse(campaign)
	if err != nil || id.String() != campaign {
		return fmt.Errorf("%w: campaign %q is not a lower-case UUID", ErrInvalid, campaign)
	}
	return nil
}

func checkEntry(e Entry) error {
	if err := checkCampaign(e.Campaign); err != nil {
		return err
	}
	if len(e.ID) == 0 || len(e.ID) > maxCommandID || strings.IndexFunc(e.ID, notVisible) >= 0 {
		return fmt.Errorf("%w: command id %q is not 1 to %d visible ASCII characters", ErrInvalid, e.ID, maxCommandID)
	}
	if len(e.Payload) == 0 {
		return fmt.Errorf("%w: payload of command %s is empty", ErrInvalid, e.ID)
	}
	if len(e.Payload) > MaxPayload {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(e.Payload), MaxPayload)
	}
	return nil
}

func notVisible(r rune) bool { return r <= ' ' || r >= 0x7f }

func checkPartitions(partitions int) error {
	if partitions < 1 || partitions > MaxPartitions {
		return fmt.Errorf("%w: partitions %d, want 1 to %d", ErrInvalid, partitions, MaxPartitions)
	}
	return nil
}

var (
	bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	bucketKey  = regexp.MustCompile(`^[-/_=A-Za-z0-9]+(\.[-/_=A-Za-z0-9]+)*$`)
	feedToken  = regexp.MustCompile(`^feed(\.[^\s.*>]+)+$`)
)

func checkBucket(name string) error {
	if !bucketName.MatchString(name) {
		return fmt.Errorf("%w: bucket name %q", ErrInvalid, name)
	}
	return nil
}

func checkKey(key string) error {
	if !bucketKey.MatchString(key) {
		return fmt.Errorf("%w: bucket key %q", ErrInvalid, key)
	}
	return nil
}

func checkFeed(subject string) error {
	if !feedToken.MatchString(subject) {
		return fmt.Errorf("%w: feed subject %q", ErrInvalid, subject)
	}
	return nil
}
