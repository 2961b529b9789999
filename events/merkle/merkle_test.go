package merkle_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"tallystick/events/merkle"
)

func record(n int64) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) }

func grow(size int64) *merkle.Tree {
	tree := new(merkle.Tree)
	for n := range size {
		tree.Append(record(n))
	}
	return tree
}

// rfcRoot is the definition of RFC 6962, section 2.1, word for word.
func rfcRoot(records [][]byte) merkle.Hash {
	switch n := len(records); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, records[0]...))
	default:
		k := 1
		for 2*k < n {
			k *= 2
		}
		left, right := rfcRoot(records[:k]), rfcRoot(records[k:])
		return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
	}
}

const exhaustive = 300 // every size, record and pair of sizes up to here

func TestRootsFollowTheDefinition(t *testing.T) {
	var records [][]byte
	tree, frontier := grow(exhaustive), merkle.Frontier{}
	for size := range int64(exhaustive + 1) {
		want := rfcRoot(records)
		if got, err := tree.RootAt(size); err != nil || got != want {
			t.Fatalf("root of %d: got %v, %v; want %v", size, got, err, want)
		}
		if got := frontier.Root(); got != want {
			t.Fatalf("frontier root of %d: got %v, want %v", size, got, want)
		}
		records = append(records, record(size))
		frontier.AppendLeaf(merkle.LeafHash(record(size)))
	}
}

func TestEveryInclusionProof(t *testing.T) {
	tree := grow(exhaustive)
	for size := int64(1); size <= exhaustive; size++ {
		root, _ := tree.RootAt(size)
		for n := range size {
			proof, err := tree.Inclusion(n, size)
			if err != nil {
				t.Fatal(err)
			}
			if err := merkle.CheckInclusion(proof, size, root, n, merkle.LeafHash(record(n))); err != nil {
				t.Fatalf("record %d of %d: %v", n, size, err)
			}
		}
	}
}

func TestEveryConsistencyProof(t *testing.T) {
	tree := grow(exhaustive)
	for to := range int64(exhaustive + 1) {
		toRoot, _ := tree.RootAt(to)
		for from := range to + 1 {
			fromRoot, _ := tree.RootAt(from)
			proof, err := tree.Consistency(from, to)
			if err != nil {
				t.Fatal(err)
			}
			if err := merkle.CheckConsistency(proof, from, fromRoot, to, toRoot); err != nil {
				t.Fatalf("%d to %d: %v", from, to, err)
			}
		}
	}
}

// flip changes one byte of a copy.
func flip(t *rapid.T, what string, b []byte) []byte {
	changed := bytes.Clone(b)
	at := rapid.IntRange(0, len(b)-1).Draw(t, what)
	changed[at] ^= rapid.ByteRange(1, 255).Draw(t, "change")
	return changed
}

func flipHash(t *rapid.T, what string, h merkle.Hash) merkle.Hash {
	return merkle.Hash(flip(t, what, h[:]))
}

// flipProof changes a byte of the proof, or its length.
func flipProof(t *rapid.T, proof []merkle.Hash) []merkle.Hash {
	changed := append([]merkle.Hash{}, proof...)
	if len(proof) == 0 || rapid.Bool().Draw(t, "longer") {
		return append(changed, merkle.EmptyRoot)
	}
	if rapid.Bool().Draw(t, "shorter") {
		return changed[:len(changed)-1]
	}
	at := rapid.IntRange(0, len(proof)-1).Draw(t, "hash")
	changed[at] = flipHash(t, "byte of proof", changed[at])
	return changed
}

func TestAnyChangeBreaksInclusion(t *testing.T) {
	tree := grow(exhaustive)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, exhaustive).Draw(t, "size")
		n := rapid.Int64Range(0, size-1).Draw(t, "n")
		root, _ := tree.RootAt(size)
		proof, _ := tree.Inclusion(n, size)
		leaf := merkle.LeafHash(record(n))

		other := (n + rapid.Int64Range(1, exhaustive).Draw(t, "other")) % size
		refused := map[string]error{
			"record": merkle.CheckInclusion(proof, size, root, n, merkle.LeafHash(flip(t, "byte of record", record(n)))),
			"proof":  merkle.CheckInclusion(flipProof(t, proof), size, root, n, leaf),
			"root":   merkle.CheckInclusion(proof, size, flipHash(t, "byte of root", root), n, leaf),
			"size":   merkle.CheckInclusion(proof, n, root, n, leaf),
		}
		if other != n {
			refused["n"] = merkle.CheckInclusion(proof, size, root, other, leaf)
		}
		for what, err := range refused {
			if err == nil {
				t.Errorf("another %s passes", what)
			}
		}
	})
}

func TestAnyChangeBreaksConsistency(t *testing.T) {
	tree := grow(exhaustive)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Int64Range(1, exhaustive).Draw(t, "to")
		from := rapid.Int64Range(1, to).Draw(t, "from")
		fromRoot, _ := tree.RootAt(from)
		toRoot, _ := tree.RootAt(to)
		proof, _ := tree.Consistency(from, to)
		refused := map[string]error{
			"proof":      merkle.CheckConsistency(flipProof(t, proof), from, fromRoot, to, toRoot),
			"first root": merkle.CheckConsistency(proof, from, flipHash(t, "byte of first", fromRoot), to, toRoot),
			"last root":  merkle.CheckConsistency(proof, from, fromRoot, to, flipHash(t, "byte of last", toRoot)),
		}
		for what, err := range refused {
			if !errors.Is(err, merkle.ErrProof) {
				t.Errorf("another %s: got %v, want ErrProof", what, err)
			}
		}
	})
}

// One byte of a signed checkpoint or of a receipt changed, anywhere: refused.
func TestEveryByteOfCheckpointCounts(t *testing.T) {
	v := readVectors(t)
	for at := range len(v.Ledger.Checkpoint7) {
		for change := 1; change < 256; change++ {
			if testing.Short() && bits.OnesCount(uint(change)) > 1 {
				continue // a flipped bit only
			}
			changed := []byte(v.Ledger.Checkpoint7)
			changed[at] ^= byte(change)
			if head, err := merkle.Open(changed, v.Ledger.VKey); err == nil {
				t.Fatalf("byte %d changed by %#x opens as %v", at, change, head)
			}
		}
	}
}

func TestEveryByteOfReceiptCounts(t *testing.T) {
	v := readVectors(t)
	record := []byte(v.Ledger.Records[3])
	for at := range len(v.Ledger.ReceiptOf3) {
		for bit := range 8 {
			changed := []byte(v.Ledger.ReceiptOf3)
			changed[at] ^= 1 << bit
			receipt, err := merkle.ParseReceipt(changed)
			if err == nil && receipt.Check(record, v.Ledger.VKey) == nil {
				t.Fatalf("byte %d, bit %d changed: the receipt passes", at, bit)
			}
		}
	}
	receipt, _ := merkle.ParseReceipt([]byte(v.Ledger.ReceiptOf3))
	for at := range record {
		changed := bytes.Clone(record)
		changed[at] ^= 1
		if !errors.Is(receipt.Check(changed, v.Ledger.VKey), merkle.ErrProof) {
			t.Fatalf("byte %d of the record changed: the receipt passes", at)
		}
	}
}

// signText signs any text as the log of the vectors would.
func signText(t testing.TB, v vectors, name, text string) []byte {
	t.Helper()
	seed := unhex(t, v.Ledger.KeySeed)
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	vkey, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Split(vkey, "+")[1]
	key := base64.StdEncoding.EncodeToString(append([]byte{1}, seed...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + name + "+" + id + "+" + key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A good signature does not make a bad text good.
func TestOpenRefusesSignedButNotCanonical(t *testing.T) {
	v := readVectors(t)
	origin := v.Ledger.Origin
	root7 := strings.Split(v.Ledger.Checkpoint7, "\n")[2]
	if _, err := merkle.Open(signText(t, v, origin, origin+"\n7\n"+root7+"\n"), v.Ledger.VKey); err != nil {
		t.Fatal("the good text:", err)
	}
	texts := map[string]string{
		"extension line":      origin + "\n7\n" + root7 + "\nmore\n",
		"empty line":          origin + "\n7\n" + root7 + "\n\n",
		"two lines":           origin + "\n7\n",
		"leading zero":        origin + "\n07\n" + root7 + "\n",
		"plus sign":           origin + "\n+7\n" + root7 + "\n",
		"negative":            origin + "\n-7\n" + root7 + "\n",
		"blank":               origin + "\n7 \n" + root7 + "\n",
		"too large":           origin + "\n9007199254740992\n" + root7 + "\n",
		"beyond int64":        origin + "\n9223372036854775808\n" + root7 + "\n",
		"root without pad":    origin + "\n7\n" + strings.TrimRight(root7, "=") + "\n",
		"root's unused bits":  origin + "\n7\n" + root7[:42] + "R=\n",
		"short root":          origin + "\n7\nAAAA\n",
		"empty but with root": origin + "\n0\n" + root7 + "\n",
		"another origin":      server + "/campaign/other\n7\n" + root7 + "\n",
		"no origin":           "\n7\n" + root7 + "\n",
	}
	for name, text := range texts {
		if head, err := merkle.Open(signText(t, v, origin, text), v.Ledger.VKey); err == nil {
			t.Errorf("%s: opens as %v", name, head)
		}
	}
}

// The same server key under another campaign's name is another key.
func TestOpenRefusesAnotherLog(t *testing.T) {
	v := readVectors(t)
	other, err := merkle.NewSigner(server, "other", unhex(t, v.Ledger.KeySeed))
	if err != nil {
		t.Fatal(err)
	}
	root := v.tree().Root()
	checkpoint, _ := other.Sign(7, root)
	if _, err := merkle.Open(checkpoint, v.Ledger.VKey); err == nil {
		t.Error("a checkpoint of another campaign opens")
	}
	if _, err := merkle.Open([]byte(v.Ledger.Checkpoint7), other.VKey()); err == nil {
		t.Error("a checkpoint opens with another campaign's key")
	}
	if _, err := merkle.Open([]byte(v.Ledger.Checkpoint7)); err == nil {
		t.Error("a checkpoint opens without a key")
	}
	// Signed by a known key, but not by the one its origin names.
	forged := signText(t, v, other.Origin(), strings.Split(v.Ledger.Checkpoint7, "\n\n")[0]+"\n")
	if _, err := merkle.Open(forged, other.VKey(), v.Ledger.VKey); err == nil {
		t.Error("a checkpoint opens that another campaign's key has signed")
	}
}

// While a key rotates, checkpoints carry both signatures, and cosignatures of
// strangers are passed over.
func TestOpenWithTwoSignatures(t *testing.T) {
	v := readVectors(t)
	seed := bytes.Repeat([]byte{7}, merkle.SeedSize)
	fresh, err := merkle.NewSigner(server, v.Campaign, seed)
	if err != nil {
		t.Fatal(err)
	}
	second, err := fresh.Sign(7, v.tree().Root())
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(second), "\n\n")
	both := v.Ledger.Checkpoint7 + line
	for _, keys := range [][]string{{v.Ledger.VKey}, {fresh.VKey()}, {fresh.VKey(), v.Ledger.VKey, fresh.VKey()}} {
		if head, err := merkle.Open([]byte(both), keys...); err != nil || head.Size != 7 {
			t.Errorf("%d keys: got %v, %v", len(keys), head, err)
		}
	}
	broken := strings.Replace(both, line, strings.Replace(line, "A", "B", 1), 1)
	if broken == both {
		t.Fatal("nothing broken")
	}
	if _, err := merkle.Open([]byte(broken), v.Ledger.VKey, fresh.VKey()); err == nil {
		t.Error("a wrong signature of a known key is passed over")
	}
}

func TestNewSignerRefuses(t *testing.T) {
	seed := make([]byte, merkle.SeedSize)
	cases := []struct{ field, server, campaign string }{
		{"server", "", "c"}, {"server", "a b", "c"}, {"server", "a+b", "c"}, {"server", "a\nb", "c"},
		{"server", "a\u00a0b", "c"}, {"server", "a\x01", "c"}, {"server", "a\xff", "c"},
		{"campaign", "s", ""}, {"campaign", "s", "a\n7"}, {"campaign", "s", "a+b"},
	}
	for _, c := range cases {
		if _, err := merkle.NewSigner(c.server, c.campaign, seed); err == nil || !strings.HasPrefix(err.Error(), c.field+":") {
			t.Errorf("%q, %q: got %v, want an error naming %s", c.server, c.campaign, err, c.field)
		}
	}
	if _, err := merkle.NewSigner("s", "c", seed[:31]); err == nil {
		t.Error("a seed of 31 bytes is taken")
	}
	signer, err := merkle.NewSigner("würfel.example:8037/spiel", "c/2", seed)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, _ := signer.Sign(0, merkle.EmptyRoot)
	if head, err := merkle.Open(checkpoint, signer.VKey()); err != nil || head != (merkle.Guard{Origin: signer.Origin()}).First() {
		t.Errorf("the first checkpoint: got %v, %v", head, err)
	}
	for _, size := range []int64{-1, 0, merkle.MaxSize + 1} {
		if _, err := signer.Sign(size, merkle.Hash{1}); err == nil {
			t.Errorf("signs size %d", size)
		}
	}
}

func TestParseVKey(t *testing.T) {
	v := readVectors(t)
	vkey, err := merkle.ParseVKey(v.Ledger.VKey)
	if err != nil || vkey.Origin != v.Ledger.Origin || vkey.String() != v.Ledger.VKey {
		t.Errorf("got %v, %v", vkey, err)
	}
	good := v.Ledger.VKey
	at := strings.Index(good, "+")
	for name, text := range map[string]string{
		"empty":           "",
		"no key":          good[:at],
		"upper-case id":   good[:at] + strings.ToUpper(good[at:at+9]) + good[at+9:],
		"another name":    "x" + good,
		"line end":        good + "\n",
		"second spelling": good[:at+20] + "\r" + good[at+20:],
	} {
		if _, err := merkle.ParseVKey(text); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestParseReceiptRefuses(t *testing.T) {
	good := readVectors(t).Ledger.ReceiptOf3
	hash := strings.Split(good, "\n")[2] + "\n"
	for name, text := range map[string]string{
		"empty":         "",
		"other version": strings.Replace(good, "@v1", "@v2", 1),
		"extra data":    strings.Replace(good, "index", "extra AAAA\nindex", 1),
		"no index":      strings.Replace(good, "index 3\n", "", 1),
		"leading zero":  strings.Replace(good, "index 3", "index 03", 1),
		"negative":      strings.Replace(good, "index 3", "index -3", 1),
		"huge":          strings.Replace(good, "index 3", "index 9007199254740991", 1),
		"CRLF":          strings.ReplaceAll(good, "\n", "\r\n"),
		"54 hashes":     strings.Replace(good, hash, strings.Repeat(hash, 52), 1),
		"bad hash":      strings.Replace(good, hash, "AAAA\n", 1),
		"no checkpoint": good[:strings.Index(good, "\n\n")+2],
	} {
		if _, err := merkle.ParseReceipt([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestGuard(t *testing.T) {
	const origin = "ledger.example/campaign/c"
	guard := merkle.Guard{Origin: origin}
	tree := grow(exhaustive)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Int64Range(0, exhaustive).Draw(t, "to")
		from := rapid.Int64Range(0, to).Draw(t, "from")
		fromRoot, _ := tree.RootAt(from)
		toRoot, _ := tree.RootAt(to)
		proof, _ := tree.Consistency(from, to)
		last := merkle.Checkpoint{Origin: origin, Size: from, Root: fromRoot}
		if err := guard.Next(last, to, toRoot, proof); err != nil {
			t.Errorf("the same tree grown from %d to %d: %v", from, to, err)
		}
		if from > 0 {
			rewritten := last
			rewritten.Root = flipHash(t, "byte of root", last.Root)
			if err := guard.Next(rewritten, to, toRoot, proof); !errors.Is(err, merkle.ErrFork) {
				t.Errorf("another history: got %v, want ErrFork", err)
			}
		}
		if from < to {
			back := merkle.Checkpoint{Origin: origin, Size: to, Root: toRoot}
			if err := guard.Next(back, from, fromRoot, proof); !errors.Is(err, merkle.ErrRollback) {
				t.Errorf("a smaller tree: got %v, want ErrRollback", err)
			}
		}
		last.Origin = "ledger.example/campaign/d"
		if err := guard.Next(last, to, toRoot, proof); err == nil {
			t.Error("a checkpoint of another log passes")
		}
	})
	if err := guard.Next(guard.First(), 3, merkle.Hash{}, nil); err != nil {
		t.Errorf("the first tree: %v", err)
	}
	if err := guard.Next(merkle.Checkpoint{Origin: origin}, 3, merkle.Hash{}, nil); !errors.Is(err, merkle.ErrFork) {
		t.Errorf("an empty tree with a root of zeros: got %v, want ErrFork", err)
	}
}

// A history rewritten before the kept checkpoint has no proof, whatever record
// was changed and however the tree went on.
func TestRewrittenHistoryHasNoProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := rapid.Int64Range(1, 60).Draw(t, "kept")
		size := rapid.Int64Range(kept, 80).Draw(t, "size")
		at := rapid.Int64Range(0, kept-1).Draw(t, "rewritten")
		honest, forged := grow(kept), new(merkle.Tree)
		for n := range size {
			if n == at {
				forged.Append([]byte("another roll"))
				continue
			}
			forged.Append(record(n))
		}
		guard := merkle.Guard{Origin: "o"}
		proof, err := forged.Consistency(kept, size)
		if err != nil {
			t.Fatal(err)
		}
		last := merkle.Checkpoint{Origin: "o", Size: kept, Root: honest.Root()}
		if err := guard.Next(last, size, forged.Root(), proof); !errors.Is(err, merkle.ErrFork) {
			t.Errorf("got %v, want ErrFork", err)
		}
	})
}

func TestBoundsNameTheField(t *testing.T) {
	tree := grow(5)
	_, errRoot := tree.RootAt(6)
	_, errSize := tree.Inclusion(0, 6)
	_, errN := tree.Inclusion(5, 5)
	_, errTo := tree.Consistency(1, 6)
	_, errFrom := tree.Consistency(4, 3)
	_, errIndex := tree.ReadHashes([]int64{99})
	cases := []struct {
		field string
		err   error
	}{
		{"size", errRoot}, {"size", errSize}, {"n", errN}, {"to", errTo}, {"from", errFrom}, {"indexes", errIndex},
		{"n", merkle.CheckInclusion(nil, 0, merkle.EmptyRoot, 0, merkle.Hash{})},
		{"size", merkle.CheckInclusion(nil, math.MaxInt64, merkle.Hash{}, 0, merkle.Hash{})},
		{"n", merkle.CheckInclusion(nil, 5, merkle.Hash{}, -1, merkle.Hash{})},
		{"to", merkle.CheckConsistency(nil, 1, merkle.Hash{}, math.MaxInt64, merkle.Hash{})},
		{"size", merkle.CheckInclusion(nil, merkle.MaxSize+1, merkle.Hash{}, 0, merkle.Hash{})},
		{"to", merkle.CheckConsistency(nil, 1, merkle.Hash{}, merkle.MaxSize+1, merkle.Hash{})},
		{"from", merkle.CheckConsistency(nil, 3, merkle.Hash{}, 2, merkle.Hash{})},
	}
	for i, c := range cases {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.field+":") {
			t.Errorf("case %d: got %v, want an error naming %s", i, c.err, c.field)
		}
	}
}

func FuzzOpen(f *testing.F) {
	v := readVectors(f)
	f.Add([]byte(v.Ledger.Checkpoint5))
	f.Add([]byte(v.Ledger.Checkpoint7))
	f.Add([]byte(v.Ledger.Checkpoint7 + "— witness.example AAAAAAAA\n"))
	f.Add([]byte("\n\n— "))
	signed := map[string]bool{}
	for _, checkpoint := range []string{v.Ledger.Checkpoint5, v.Ledger.Checkpoint7} {
		text, _, _ := strings.Cut(checkpoint, "\n\n")
		signed[text+"\n"] = true
	}
	f.Fuzz(func(t *testing.T, checkpoint []byte) {
		head, err := merkle.Open(checkpoint, v.Ledger.VKey)
		if err != nil {
			return
		}
		// Only these two texts were ever signed with this key.
		if text := fmt.Sprintf("%s\n%d\n%s\n", head.Origin, head.Size, head.Root); !signed[text] {
			t.Errorf("opened what was never signed: %q", checkpoint)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	v := readVectors(f)
	f.Add([]byte(v.Ledger.ReceiptOf3), []byte(v.Ledger.Records[3]))
	f.Add([]byte("c2sp.org/tlog-proof@v1\nindex 0\n\nx"), []byte(v.Ledger.Records[0]))
	f.Add([]byte("c2sp.org/tlog-proof@v1\nindex 0\n\n\n\n"), []byte{})
	f.Fuzz(func(t *testing.T, text, record []byte) {
		receipt, err := merkle.ParseReceipt(text)
		if err != nil {
			return
		}
		if got := receipt.Format(); !bytes.Equal(got, text) {
			t.Errorf("parsed %q, formatted %q", text, got)
		}
		if receipt.Check(record, v.Ledger.VKey) != nil {
			return
		}
		if n := receipt.Index; n >= int64(len(v.Ledger.Records)) || string(record) != v.Ledger.Records[n] {
			t.Errorf("a receipt passes for a record that is not in the ledger: %q", record)
		}
	})
}

// Records added in advance and taken back leave no trace.
func TestTruncate(t *testing.T) {
	for size := range int64(40) {
		for more := range int64(9) {
			var whole, cut merkle.Tree
			for n := range size {
				whole.Append([]byte{byte(n)})
				cut.Append([]byte{byte(n)})
			}
			for range more {
				cut.Append([]byte("in advance"))
			}
			cut.Truncate(size)
			whole.Append([]byte("next"))
			cut.Append([]byte("next"))
			if whole.Root() != cut.Root() || whole.Size() != cut.Size() {
				t.Fatalf("%d records, %d taken back: another tree", size, more)
			}
		}
	}
}
