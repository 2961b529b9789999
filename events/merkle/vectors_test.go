package merkle_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"testing"

	"github.com/go-json-experiment/json"

	"tallystick/events/merkle"
)

// vectors are the published values of the fair-dice specification, made by an
// implementation that is not this one.
type vectors struct {
	Campaign, Session string
	Ledger            struct {
		Records     []string
		LeafHashes  []string `json:"leaf_hashes"`
		Roots       []string
		Origin      string
		VKey        string   `json:"vkey"`
		KeySeed     string   `json:"key_seed"`
		Checkpoint5 string   `json:"checkpoint_5"`
		Checkpoint7 string   `json:"checkpoint_7"`
		ReceiptOf3  string   `json:"receipt_of_3"`
		Consistency []string `json:"consistency_5_7"`
	}
	Seal struct{ Salt, Payload, Seal string }
	// What the test of the check scripts plays a session from.
	Lanes []struct {
		Lane        string
		N           int
		Tail        string
		RollerTail  string `json:"roller_tail"`
		WitnessTail string `json:"witness_tail"`
		WitnessN    int    `json:"witness_n"`
	}
	Seatings []struct{ Joint string }
	Rolls    []struct {
		Name, Lane, S, C, W string
		I                   int
		Draws               [][2]int64
	}
}

const server = "ledger.example"

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return v
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v vectors) signer(t testing.TB) *merkle.Signer {
	t.Helper()
	signer, err := merkle.NewSigner(server, v.Campaign, unhex(t, v.Ledger.KeySeed))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func (v vectors) tree() *merkle.Tree {
	tree := new(merkle.Tree)
	for _, record := range v.Ledger.Records {
		tree.Append([]byte(record))
	}
	return tree
}

func TestVectorLeavesAndRoots(t *testing.T) {
	v := readVectors(t)
	var tree merkle.Tree
	var frontier merkle.Frontier
	for i, record := range v.Ledger.Records {
		leaf, root := v.Ledger.LeafHashes[i], v.Ledger.Roots[i]
		if got := merkle.LeafHash([]byte(record)); hex.EncodeToString(got[:]) != leaf {
			t.Errorf("leaf %d: got %x, want %s", i, got, leaf)
		}
		tree.Append([]byte(record))
		frontier.Append([]byte(record))
		if got := tree.Root(); hex.EncodeToString(got[:]) != root {
			t.Errorf("root of %d: got %x, want %s", i+1, got, root)
		}
		if got := frontier.Root(); hex.EncodeToString(got[:]) != root {
			t.Errorf("frontier root of %d: got %x, want %s", i+1, got, root)
		}
	}
	if tree.Size() != 7 || frontier.Size() != 7 {
		t.Errorf("sizes %d and %d, want 7", tree.Size(), frontier.Size())
	}
}

// Published roots of the certificate-transparency reference tree.
func TestReferenceRoots(t *testing.T) {
	records := []string{"", "\x00", "\x10", "\x20\x21", "\x30\x31", "\x40\x41\x42\x43",
		"\x50\x51\x52\x53\x54\x55\x56\x57", "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"}
	roots := []string{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
	var tree merkle.Tree
	for size, want := range roots {
		if got := tree.Root(); hex.EncodeToString(got[:]) != want {
			t.Errorf("root of %d: got %x, want %s", size, got, want)
		}
		if size < len(records) {
			tree.Append([]byte(records[size]))
		}
	}
}

func TestVectorSigner(t *testing.T) {
	v := readVectors(t)
	signer, tree := v.signer(t), v.tree()
	if signer.Origin() != v.Ledger.Origin || signer.VKey() != v.Ledger.VKey {
		t.Errorf("got %s, %s; want %s, %s", signer.Origin(), signer.VKey(), v.Ledger.Origin, v.Ledger.VKey)
	}
	for size, want := range map[int64]string{5: v.Ledger.Checkpoint5, 7: v.Ledger.Checkpoint7} {
		root, err := tree.RootAt(size)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint, err := signer.Sign(size, root)
		if err != nil {
			t.Fatal(err)
		}
		if string(checkpoint) != want {
			t.Errorf("checkpoint of %d: got\n%s\nwant\n%s", size, checkpoint, want)
		}
		head, err := merkle.Open(checkpoint, v.Ledger.VKey)
		if want := (merkle.Checkpoint{Origin: v.Ledger.Origin, Size: size, Root: root}); err != nil || head != want {
			t.Errorf("open: got %v, %v; want %v", head, err, want)
		}
	}
}

func TestVectorConsistency(t *testing.T) {
	v := readVectors(t)
	tree := v.tree()
	proof, err := tree.Consistency(5, 7)
	if err != nil {
		t.Fatal(err)
	}
	if len(proof) != len(v.Ledger.Consistency) {
		t.Fatalf("%d hashes, want %d", len(proof), len(v.Ledger.Consistency))
	}
	for i, want := range v.Ledger.Consistency {
		if got := base64.StdEncoding.EncodeToString(proof[i][:]); got != want {
			t.Errorf("hash %d: got %s, want %s", i, got, want)
		}
	}
	root5, _ := tree.RootAt(5)
	if err := merkle.CheckConsistency(proof, 5, root5, 7, tree.Root()); err != nil {
		t.Error(err)
	}
}

func TestVectorReceipt(t *testing.T) {
	v := readVectors(t)
	tree := v.tree()
	proof, err := tree.Inclusion(3, 7)
	if err != nil {
		t.Fatal(err)
	}
	receipt := merkle.Receipt{Index: 3, Proof: proof, Checkpoint: []byte(v.Ledger.Checkpoint7)}
	if got := receipt.Format(); string(got) != v.Ledger.ReceiptOf3 {
		t.Errorf("got\n%s\nwant\n%s", got, v.Ledger.ReceiptOf3)
	}
	parsed, err := merkle.ParseReceipt([]byte(v.Ledger.ReceiptOf3))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Check([]byte(v.Ledger.Records[3]), v.Ledger.VKey); err != nil {
		t.Error(err)
	}
	if err := parsed.Check([]byte(v.Ledger.Records[4]), v.Ledger.VKey); err == nil {
		t.Error("the receipt of record 3 passes for record 4")
	}
}

func TestVectorSeal(t *testing.T) {
	v := readVectors(t)
	salt, payload, seal := unhex(t, v.Seal.Salt), []byte(v.Seal.Payload), unhex(t, v.Seal.Seal)
	if got := merkle.Seal(salt, payload); !bytes.Equal(got, seal) {
		t.Errorf("got %x, want %x", got, seal)
	}
	if err := merkle.CheckSeal(seal, salt, payload); err != nil {
		t.Error(err)
	}
	refused := map[string]error{
		"another payload": merkle.CheckSeal(seal, salt, append(bytes.Clone(payload), ' ')),
		"longer salt":     merkle.CheckSeal(seal, append(bytes.Clone(salt), 0), payload),
		"shorter salt":    merkle.CheckSeal(seal, salt[:31], payload),
		"cut seal":        merkle.CheckSeal(seal[:31], salt, payload),
		"no seal":         merkle.CheckSeal(nil, salt, payload),
	}
	for name, err := range refused {
		if err == nil {
			t.Errorf("%s: passes", name)
		}
	}
}
