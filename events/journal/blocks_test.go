package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// blocksOf lists the block files of any stream, in order.
func blocksOf(t testing.TB, dir, stream string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "store", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no block files of %s: %v", stream, err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// commits reads a campaign.
func commits(t testing.TB, j Journal, campaign string) (all []Commit, err error) {
	t.Helper()
	err = j.Read(soon(t), campaign, 0, func(c Commit) error { all = append(all, c); return nil })
	return all, err
}

// A block in which a bit of a sequence has flipped so high that the server would
// count up to it for ever is not opened: the error names where it is and whose it
// is, and nothing is changed. Mend puts the bit right, and nothing is lost: neither
// of the ledger nor of a bucket.
func TestRunawaySequence(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: whole, Partitions: 1})
	campaign := fill(t, j, 20, 300)
	want, err := commits(t, j, campaign)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := j.Bucket(soon(t), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := bucket.Put(soon(t), fmt.Sprint("key.", i), []byte("kept")); err != nil {
			t.Fatal(err)
		}
	}
	close()
	for _, c := range []struct{ stream, subject, campaign string }{
		{"LEDGER_0", "ledger.0." + campaign, campaign},
		{"KV_tokens", "$KV.tokens.key.", ""},
	} {
		all := slices.Collect(records(read(t, blocksOf(t, whole, c.stream)[0])))
		for _, at := range []int{1, len(all) / 2, len(all) - 1} {
			for _, bit := range []int{20, 31, 32, 47, 60, 61} {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				file := blocksOf(t, dir, c.stream)[0]
				data := read(t, file)
				data[all[at].at+4+bit/8] ^= 1 << (bit % 8)
				write(t, file, data)

				_, err := Embedded(soon(t), Options{Dir: dir})
				var bad *BlockError
				if !errors.As(err, &bad) || !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s, record %d, bit %d: opened: %v", c.stream, at, bit, err)
				}
				if bad.Stream != c.stream || bad.File != file || bad.Offset != int64(all[at].at) || bad.Campaign != c.campaign ||
					!bytes.HasPrefix([]byte(bad.Subject), []byte(c.subject)) {
					t.Errorf("%s, record %d, bit %d: %+v", c.stream, at, bit, bad)
				}
				if c.campaign != "" && !bytes.Equal(bad.Payload, want[at].Payload) {
					t.Errorf("record %d, bit %d: payload %q", at, bit, bad.Payload)
				}
				if !bytes.Equal(read(t, file), data) {
					t.Errorf("%s, record %d, bit %d: the block was changed", c.stream, at, bit)
				}
				if at != 1 && bit != 60 {
					continue // one mended for each is enough
				}
				j, close := openEmbedded(t, Options{Dir: dir, Mend: true, Logger: quiet})
				got, err := commits(t, j, campaign)
				if err != nil || len(got) != len(want) {
					t.Errorf("%s, record %d, bit %d: mended: %d commits, %v", c.stream, at, bit, len(got), err)
				}
				bucket, err := j.Bucket(soon(t), "tokens")
				if err != nil {
					t.Fatal(err)
				}
				for i := range 5 {
					if value, _, err := bucket.Get(soon(t), fmt.Sprint("key.", i)); err != nil || string(value) != "kept" {
						t.Errorf("%s, record %d, bit %d: mended: key %d: %q, %v", c.stream, at, bit, i, value, err)
					}
				}
				close()
			}
		}
	}
}

// A length that flipped makes the server take text for a record. It is the record
// with the length that is named; mended, the block is cut off there.
func TestRunawayLength(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
	campaign := fill(t, j, 3, 300)
	// What a payload may hold: 22 bytes that pass for the head of a record.
	trap := make([]byte, 64)
	binary.LittleEndian.PutUint32(trap, uint32(len(trap)))
	binary.LittleEndian.PutUint64(trap[4:], 1<<40)
	last, err := j.Last(soon(t), campaign)
	if err != nil {
		t.Fatal(err)
	}
	payload := append(bytes.Repeat([]byte("text "), 40), trap...)
	payload = append(payload, bytes.Repeat([]byte("more "), 40)...)
	if _, err := j.Append(soon(t), Entry{Campaign: campaign, ID: "trap", Expected: last, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	close()
	file := blocksOf(t, dir, "LEDGER_0")[0]
	data := read(t, file)
	trapped := slices.Collect(records(data))[3]
	into := bytes.Index(data, trap) - trapped.at
	binary.LittleEndian.PutUint32(data[trapped.at:], uint32(into)|withHeaders)
	write(t, file, data)

	_, err = Embedded(soon(t), Options{Dir: dir})
	var bad *BlockError
	if !errors.As(err, &bad) || bad.Offset != int64(trapped.at) || bad.Campaign != campaign || bad.Seq != 1<<40 {
		t.Fatalf("got error %v: %+v", err, bad)
	}
	j, _ = openEmbedded(t, Options{Dir: dir, Mend: true, Logger: quiet})
	if got, err := commits(t, j, campaign); len(got) != 3 || err == nil {
		t.Errorf("mended: %d commits, %v", len(got), err)
	}
}

// A flip that the server notices by itself is left to it.
func TestHarmlessSequence(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: whole, Partitions: 1})
	campaign := fill(t, j, 10, 300)
	close()
	file := blocksOf(t, whole, "LEDGER_0")[0]
	all := slices.Collect(records(read(t, file)))
	for _, c := range []struct{ record, bit int }{{0, 55}, {4, 2}, {4, 19}, {4, 62}, {4, 63}} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		file := blocksOf(t, dir, "LEDGER_0")[0]
		data := read(t, file)
		data[all[c.record].at+4+c.bit/8] ^= 1 << (c.bit % 8)
		write(t, file, data)
		j, close := openEmbedded(t, Options{Dir: dir, Logger: quiet})
		if got, err := commits(t, j, campaign); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: read %d commits, %v", c, len(got), err)
		}
		close()
	}
}

// What was left out before the start is looked at behind it: whoever serves is told
// once, and the next start does not begin. By then the file is remembered, as it
// would be left out again.
func TestBlocksBehindTheStart(t *testing.T) {
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
	campaign := fill(t, j, (startBytes+20<<20)/(500<<10), 500<<10)
	close()
	files := blocksOf(t, dir, "LEDGER_0")
	old := filepath.Join(filepath.Dir(files[0]), "1.blk")
	data := read(t, old)
	data[slices.Collect(records(data))[2].at+4+6] ^= 1
	write(t, old, data)
	for _, file := range files {
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}

	var told []error
	w := newBlockWatch(Options{Dir: dir, Logger: quiet, Broken: func(err error) { told = append(told, err) }})
	if err := w.atStart(false); err != nil || len(w.later) == 0 || len(w.later) > len(files)-startBytes/(8<<20) {
		t.Fatalf("at the start: %v, %d of %d left out", err, len(w.later), len(files))
	}
	w.behind()
	w.group.Wait()
	if len(told) == 1 {
		w.look(w.later)
	}
	w.close()
	var bad *BlockError
	if len(told) != 1 || !errors.As(told[0], &bad) || bad.File != old || bad.Campaign != campaign {
		t.Fatalf("told %v", told)
	}
	if _, err := Embedded(soon(t), Options{Dir: dir}); !errors.As(err, &bad) {
		t.Fatalf("the next start: %v", err)
	}
	j, close = openEmbedded(t, Options{Dir: dir, Mend: true, Logger: quiet})
	if _, err := commits(t, j, campaign); err != nil {
		t.Errorf("mended: %v", err)
	}
	close()
	openEmbedded(t, Options{Dir: dir})
	if _, err := os.Stat(filepath.Join(dir, suspectName)); !os.IsNotExist(err) {
		t.Errorf("the note is there still: %v", err)
	}
}

// A stream that does not answer has its blocks looked at. If one is bad, the journal
// refuses whatever would load it, and says why.
func TestUnansweredIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	j, _ := openEmbedded(t, Options{Dir: dir, Partitions: 1, Logger: quiet})
	campaign := fill(t, j, 5, 300)
	file := blocksOf(t, dir, "LEDGER_0")[0]
	data := read(t, file)
	data[slices.Collect(records(data))[2].at+4+6] ^= 1
	write(t, file, data)
	j.blocks.unanswered("LEDGER_0", errors.New("another"))
	j.blocks.group.Wait()
	if err := j.usable(soon(t)); err != nil {
		t.Fatalf("looked without a reason: %v", err)
	}
	j.blocks.unanswered("LEDGER_0", fmt.Errorf("asking: %w", context.DeadlineExceeded))
	j.blocks.group.Wait()
	var bad *BlockError
	if _, err := commits(t, j, campaign); !errors.As(err, &bad) {
		t.Errorf("read: %v", err)
	}
	if _, err := j.Append(soon(t), Entry{Campaign: campaign, ID: "next", Expected: 5, Payload: []byte("{}")}); !errors.As(err, &bad) {
		t.Errorf("append: %v", err)
	}
	if _, err := j.Bucket(soon(t), "tokens"); !errors.As(err, &bad) {
		t.Errorf("bucket: %v", err)
	}
	if h := j.Health(soon(t)); h.Sound() || h.Partitions[0].Problem != bad.Error() {
		t.Errorf("health: %+v", h)
	}
}

func BenchmarkCheckBlock(b *testing.B) {
	for _, size := range []int{300, 1000, 4000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			block := make([]byte, 0, 8<<20)
			for seq := uint64(1); len(block)+size <= cap(block); seq++ {
				r := make([]byte, size)
				binary.LittleEndian.PutUint32(r, uint32(size))
				binary.LittleEndian.PutUint64(r[4:], seq)
				block = append(block, r...)
			}
			file := filepath.Join(b.TempDir(), "store", "jetstream", "$G", "streams", "LEDGER_0", "msgs", "1.blk")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				b.Fatal(err)
			}
			write(b, file, block)
			w := newBlockWatch(Options{Dir: filepath.Join(file, "../../../../../../..")})
			b.SetBytes(int64(len(block)))
			for b.Loop() {
				if err := w.atStart(false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A bucket's block that the server cuts off at its start, as it does after a kill, is
// named; nobody counts the values of a bucket. One that is whole is not.
func TestCutBucketIsNamed(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: whole, Partitions: 1})
	bucket, err := j.Bucket(soon(t), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := bucket.Put(soon(t), fmt.Sprint("key.", i%7), []byte("a value")); err != nil {
			t.Fatal(err)
		}
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	close()
	reopen := func(dir string) []string {
		j, close := openEmbedded(t, Options{Dir: dir, Logger: quiet})
		defer close()
		return j.Health(soon(t)).Cut
	}
	for _, dir := range []string{whole, killed} {
		if cut := reopen(dir); len(cut) > 0 {
			t.Errorf("nothing was damaged: %v", cut)
		}
	}
	block := read(t, blocksOf(t, killed, "KV_tokens")[0])
	all := slices.Collect(records(block))
	for _, at := range []int{
		all[0].at + 40, all[len(all)/2].at + 40, all[len(all)-1].at + 40, // in the text
		all[0].at + 2, all[3].at, all[len(all)-1].at + 1, // in the length
		all[2].at + 4, all[4].at + 13, all[5].at + 25, // in the sequence, in the time, in the subject
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(blocksOf(t, dir, "KV_tokens")[0]), "index.db")); err != nil {
			t.Fatal(err) // as if it had been killed again
		}
		if cut := reopen(dir); len(cut) > 0 {
			t.Fatalf("nothing was damaged: %v", cut)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(blocksOf(t, dir, "KV_tokens")[0]), "index.db")); err != nil {
			t.Fatal(err)
		}
		damaged := slices.Clone(block)
		damaged[at] ^= 1
		write(t, blocksOf(t, dir, "KV_tokens")[0], damaged)
		if cut := reopen(dir); len(cut) != 1 || !bytes.Contains([]byte(cut[0]), []byte("bucket tokens: block file 1.blk")) {
			t.Errorf("byte %d: %v; %d of %d bytes are left", at, cut, len(read(t, blocksOf(t, dir, "KV_tokens")[0])), len(block))
		}
	}
}

// So is one that is cut off in a block before the last.
func TestCutEarlierBlockIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, close := openEmbedded(t, Options{Dir: dir, Partitions: 1})
	bucket, err := j.Bucket(soon(t), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		if _, err := bucket.Put(soon(t), fmt.Sprint("key.", i), make([]byte, 500<<10)); err != nil {
			t.Fatal(err)
		}
	}
	close()
	files := blocksOf(t, dir, "KV_tokens")
	if len(files) < 2 {
		t.Fatalf("%d block files", len(files))
	}
	block := read(t, files[0])
	block[len(block)/2+1000] ^= 1 // in a value
	write(t, files[0], block)
	if err := os.Remove(filepath.Join(filepath.Dir(files[0]), "index.db")); err != nil {
		t.Fatal(err)
	}
	j, _ = openEmbedded(t, Options{Dir: dir, Logger: quiet})
	if cut := j.Health(soon(t)).Cut; len(cut) != 1 || !bytes.Contains([]byte(cut[0]), []byte("bucket tokens: block file 1.blk")) {
		t.Errorf("cut: %v", cut)
	}
}
