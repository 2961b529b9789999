package merkle_test

import (
	"bytes"
	"testing"

	"tallystick/events/merkle"
)

// warm is a campaign of an ordinary size; a record has 400 bytes.
const warm = 10_000

var benchRecord = bytes.Repeat([]byte("r"), 400)

func warmTree(b *testing.B) *merkle.Tree {
	tree := new(merkle.Tree)
	for range warm {
		tree.Append(benchRecord)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return tree
}

// BenchmarkCommand is the share of this package in one command with one
// record: append, root, checkpoint, receipt.
func BenchmarkCommand(b *testing.B) {
	signer := readVectors(b).signer(b)
	tree := warmTree(b)
	for range b.N {
		tree.Append(benchRecord)
		size := tree.Size()
		checkpoint, err := signer.Sign(size, tree.Root())
		if err != nil {
			b.Fatal(err)
		}
		proof, err := tree.Inclusion(size-1, size)
		if err != nil {
			b.Fatal(err)
		}
		_ = merkle.Receipt{Index: size - 1, Proof: proof, Checkpoint: checkpoint}.Format()
	}
}

func BenchmarkAppend(b *testing.B) {
	tree := warmTree(b)
	for range b.N {
		tree.Append(benchRecord)
	}
}

func BenchmarkRoot(b *testing.B) {
	tree := warmTree(b)
	for i := range b.N {
		if _, err := tree.RootAt(int64(i % warm)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInclusion(b *testing.B) {
	tree := warmTree(b)
	for i := range b.N {
		if _, err := tree.Inclusion(int64(i%warm), warm); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConsistency(b *testing.B) {
	tree := warmTree(b)
	for i := range b.N {
		if _, err := tree.Consistency(int64(i%warm), warm); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	signer := readVectors(b).signer(b)
	b.ReportAllocs()
	for range b.N {
		if _, err := signer.Sign(warm, merkle.EmptyRoot); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	v := readVectors(b)
	checkpoint := []byte(v.Ledger.Checkpoint7)
	b.ReportAllocs()
	for range b.N {
		if _, err := merkle.Open(checkpoint, v.Ledger.VKey); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFrontierAppend(b *testing.B) {
	var frontier merkle.Frontier
	b.ReportAllocs()
	for range b.N {
		frontier.Append(benchRecord)
	}
}
