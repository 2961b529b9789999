// Package merkle makes the ledger of one campaign tamper-evident: the RFC 6962
// tree over its records, signed checkpoints, receipts and proofs.
//
// Whoever keeps one checkpoint notices any change to what lies before it. The
// formats are public ones (C2SP tlog-checkpoint and tlog-proof@v1), so tools
// that are not ours can check them. The package is pure: records and keys come
// in as bytes; it reads no clock, file, network or random source, and imports
// nothing of ours.
package merkle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// A Hash is a SHA-256 value of the tree: a leaf, a node or a root. Its text
// form is standard base64.
type Hash = tlog.Hash

// MaxSize is the largest number of records a tree may hold: record numbers are
// JSON integers that every reader keeps exactly.
const MaxSize = 1<<53 - 1

// EmptyRoot is the root of a tree without records: SHA-256 of nothing.
var EmptyRoot = Hash(sha256.Sum256(nil))

// ErrProof says that a proof does not lead to the root it was given for.
var ErrProof = errors.New("the proof does not lead to this root")

// LeafHash is the leaf of a record: SHA-256(0x00, record). The record is the
// exact bytes stored, without the LF that separates records.
func LeafHash(record []byte) Hash { return tlog.RecordHash(record) }

// A Tree is the Merkle tree of one campaign, held in memory with 64 bytes a
// record. The zero Tree is empty and ready for use. It is not safe for
// concurrent use while records are appended.
type Tree struct {
	hashes []Hash // in the order of tlog.StoredHashIndex
	size   int64
}

// Append adds a record, whose number is the size of the tree before.
func (t *Tree) Append(record []byte) { t.AppendLeaf(LeafHash(record)) }

// AppendLeaf adds a record by its leaf hash.
func (t *Tree) AppendLeaf(leaf Hash) {
	t.hashes = append(t.hashes, leaf)
	// Each trailing 1 bit of the record's number is a subtree that it completes.
	node := leaf
	for level := range bits.TrailingZeros64(uint64(t.size + 1)) {
		left := t.hashes[tlog.StoredHashIndex(level, t.size>>level-1)]
		node = tlog.NodeHash(left, node)
		t.hashes = append(t.hashes, node)
	}
	t.size++
}

// Truncate takes back the records behind the first size: those that were added
// in advance and then not stored. A size that the tree has not reached leaves
// it as it is.
func (t *Tree) Truncate(size int64) {
	if size >= 0 && size < t.size {
		t.hashes, t.size = t.hashes[:tlog.StoredHashCount(size)], size
	}
}

// Size is the number of records.
func (t *Tree) Size() int64 { return t.size }

// Root is the root over all records; EmptyRoot if there are none.
func (t *Tree) Root() Hash { return t.root(t.size) }

// RootAt is the root that the tree had when it held size records.
func (t *Tree) RootAt(size int64) (Hash, error) {
	if err := t.holds("size", size); err != nil {
		return Hash{}, err
	}
	return t.root(size), nil
}

// root joins the perfect subtrees of the first size records, smallest first.
func (t *Tree) root(size int64) Hash {
	if size == 0 {
		return EmptyRoot
	}
	root := t.lastPeak(size)
	for rest := size & (size - 1); rest > 0; rest &= rest - 1 {
		root = tlog.NodeHash(t.lastPeak(rest), root)
	}
	return root
}

// lastPeak is the smallest of the perfect subtrees that make up size records.
func (t *Tree) lastPeak(size int64) Hash {
	level := bits.TrailingZeros64(uint64(size))
	return t.hashes[tlog.StoredHashIndex(level, size>>level-1)]
}

// Leaf is the hash of record n.
func (t *Tree) Leaf(n int64) (Hash, error) {
	if n < 0 || n >= t.size {
		return Hash{}, fmt.Errorf("n: record %d is not among the first %d", n, t.size)
	}
	return t.hashes[tlog.StoredHashIndex(0, n)], nil
}

// Inclusion proves that record n is in the tree of the first size records: the
// hashes from the leaf's sibling up to the child of the root (RFC 6962, 2.1.1).
func (t *Tree) Inclusion(n, size int64) ([]Hash, error) {
	if err := t.holds("size", size); err != nil {
		return nil, err
	}
	if n < 0 || n >= size {
		return nil, fmt.Errorf("n: record %d is not among the first %d", n, size)
	}
	return tlog.ProveRecord(size, n, t)
}

// Consistency proves that the tree of the first from records is a beginning of
// the tree of the first to records (RFC 6962, 2.1.2). The proof is empty if the
// two are the same or the first is empty.
func (t *Tree) Consistency(from, to int64) ([]Hash, error) {
	if err := t.holds("to", to); err != nil {
		return nil, err
	}
	if from < 0 || from > to {
		return nil, fmt.Errorf("from: %d is not between 0 and %d", from, to)
	}
	if from == 0 {
		return []Hash{}, nil
	}
	return tlog.ProveTree(to, from, t)
}

// ReadHashes gives the stored hashes at the given places, in the order of
// tlog.StoredHashIndex. It makes a Tree a tlog.HashReader.
func (t *Tree) ReadHashes(indexes []int64) ([]Hash, error) {
	hashes := make([]Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(t.hashes)) {
			return nil, fmt.Errorf("indexes: no hash is stored at %d", index)
		}
		hashes[i] = t.hashes[index]
	}
	return hashes, nil
}

func (t *Tree) holds(field string, size int64) error {
	if size < 0 || size > t.size {
		return fmt.Errorf("%s: %d is not between 0 and the %d records of the tree", field, size, t.size)
	}
	return nil
}

// A Frontier is the right edge of a tree: enough to append and to know the
// root, not to prove. It takes 32 bytes for each doubling of the size, so that
// a verifier can stream a million records. The zero Frontier is empty.
type Frontier struct {
	peaks []Hash // perfect subtrees, largest first
	size  int64
}

// Append adds a record.
func (f *Frontier) Append(record []byte) { f.AppendLeaf(LeafHash(record)) }

// AppendLeaf adds a record by its leaf hash.
func (f *Frontier) AppendLeaf(leaf Hash) {
	node := leaf
	for range bits.TrailingZeros64(uint64(f.size + 1)) {
		last := len(f.peaks) - 1
		node = tlog.NodeHash(f.peaks[last], node)
		f.peaks = f.peaks[:last]
	}
	f.peaks = append(f.peaks, node)
	f.size++
}

// Size is the number of records.
func (f *Frontier) Size() int64 { return f.size }

// Root is the root over all records; EmptyRoot if there are none.
func (f *Frontier) Root() Hash {
	if f.size == 0 {
		return EmptyRoot
	}
	last := len(f.peaks) - 1
	root := f.peaks[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(f.peaks[i], root)
	}
	return root
}

// CheckInclusion checks that record n with this leaf hash is in the tree with
// this size and root. A proof that fails gives ErrProof.
func CheckInclusion(proof []Hash, size int64, root Hash, n int64, leaf Hash) error {
	// The bound also keeps a hostile size from looping in tlog, which doubles
	// a power of two until it reaches the size.
	if size < 0 || size > MaxSize {
		return fmt.Errorf("size: %d is not between 0 and %d", size, int64(MaxSize))
	}
	if n < 0 || n >= size {
		return fmt.Errorf("n: record %d is not among the first %d", n, size)
	}
	if tlog.CheckRecord(proof, size, root, n, leaf) != nil {
		return ErrProof
	}
	return nil
}

// CheckConsistency checks that the tree with size from and root fromRoot is a
// beginning of the tree with size to and root toRoot. A proof that fails gives
// ErrProof.
func CheckConsistency(proof []Hash, from int64, fromRoot Hash, to int64, toRoot Hash) error {
	if to < 0 || to > MaxSize { // see CheckInclusion
		return fmt.Errorf("to: %d is not between 0 and %d", to, int64(MaxSize))
	}
	if from < 0 || from > to {
		return fmt.Errorf("from: %d is not between 0 and %d", from, to)
	}
	if from == 0 {
		return checkFromEmpty(proof, fromRoot, to, toRoot)
	}
	if tlog.CheckTree(proof, to, toRoot, from, fromRoot) != nil {
		return ErrProof
	}
	return nil
}

// checkFromEmpty: every tree continues the empty one, and no proof is needed.
func checkFromEmpty(proof []Hash, fromRoot Hash, to int64, toRoot Hash) error {
	if len(proof) > 0 || fromRoot != EmptyRoot || to == 0 && toRoot != EmptyRoot {
		return ErrProof
	}
	return nil
}
