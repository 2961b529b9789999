package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"tallystick/events/journal"
	"tallystick/events/merkle"
)

// signedLog is a campaign's tree and its signer.
type signedLog struct {
	name   string
	tree   merkle.Tree
	signer *merkle.Signer
}

func newLog(t testing.TB, name string) *signedLog {
	t.Helper()
	signer, err := merkle.NewSigner("test.example", name, bytes.Repeat([]byte{7}, merkle.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return &signedLog{name: name, signer: signer}
}

// grow adds records and signs the head.
func (l *signedLog) grow(t testing.TB, records ...string) Head {
	t.Helper()
	for _, r := range records {
		l.tree.Append([]byte(r))
	}
	return l.head(t)
}

func (l *signedLog) head(t testing.TB) Head {
	t.Helper()
	signed, err := l.signer.Sign(l.tree.Size(), l.tree.Root())
	if err != nil {
		t.Fatal(err)
	}
	return Head{merkle.Checkpoint{Origin: l.signer.Origin(), Size: l.tree.Size(), Root: l.tree.Root()}, signed}
}

func (l *signedLog) prove(from int64) ([]merkle.Hash, error) {
	return l.tree.Consistency(from, l.tree.Size())
}

func (l *signedLog) put(t testing.TB, h *Heads) error {
	return h.Put(soon(t), l.name, l.head(t), l.prove)
}

func openHeads(t testing.TB, j journal.Journal, path string, o Options) *Heads {
	t.Helper()
	h, err := OpenHeads(soon(t), j, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func get(t testing.TB, h *Heads, name string) Kept {
	t.Helper()
	kept, err := h.Get(soon(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func flush(t testing.TB, h *Heads) {
	t.Helper()
	if err := h.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
}

func TestHeadsAreKeptTwice(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	path := filepath.Join(t.TempDir(), "heads")
	h := openHeads(t, j, path, quick)
	a, b := newLog(t, uuid.NewString()), newLog(t, uuid.NewString())
	if _, err := h.Get(soon(t), a.name); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("got error %v", err)
	}
	for i := range 20 {
		want := a.grow(t, fmt.Sprint(i))
		if err := a.put(t, h); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			b.grow(t, fmt.Sprint("b", i))
			if err := b.put(t, h); err != nil {
				t.Fatal(err)
			}
			flush(t, h)
			kept := get(t, h, a.name)
			if kept.Checkpoint != want.Checkpoint || kept.Disagree() != "" {
				t.Errorf("kept %+v, want %+v", kept, want)
			}
			if open, err := merkle.Open(kept.Signed, a.signer.VKey()); err != nil || open != want.Checkpoint {
				t.Errorf("signed: %v, %v", open, err)
			}
		}
	}
	mustClose(t, h)
	h = openHeads(t, j, path, quick)
	if kept := get(t, h, a.name); kept.File.Size != 20 || kept.Bucket.Size != 20 {
		t.Errorf("opened again: %+v", kept)
	}
	logs, err := h.Logs(soon(t))
	if want := []string{min(a.name, b.name), max(a.name, b.name)}; err != nil || !slices.Equal(logs, want) {
		t.Errorf("logs %v, %v", logs, err)
	}
	if damage, err := h.Damage(soon(t)); err != nil || len(damage) > 0 {
		t.Errorf("damage %v, %v", damage, err)
	}
}

// Neither a smaller tree nor another one is kept, whatever the store knows
// from: this run, the file or the bucket.
func TestHeadsRefuseRollbackAndFork(t *testing.T) {
	name := uuid.NewString()
	long, short, forked := newLog(t, name), newLog(t, name), newLog(t, name)
	for i := range 9 {
		long.grow(t, fmt.Sprint(i))
		if i < 5 {
			short.grow(t, fmt.Sprint(i))
		}
		forked.grow(t, fmt.Sprint(i, i == 4))
	}
	forked.grow(t, "more")
	check := func(where string, h *Heads) {
		t.Helper()
		if err := short.put(t, h); !errors.Is(err, merkle.ErrRollback) {
			t.Errorf("%s: a smaller tree: %v", where, err)
		}
		if err := forked.put(t, h); !errors.Is(err, merkle.ErrFork) {
			t.Errorf("%s: another tree: %v", where, err)
		}
		if err := long.put(t, h); err != nil {
			t.Errorf("%s: the same again: %v", where, err)
		}
		flush(t, h)
		if kept := get(t, h, name); kept.Size != 9 || kept.Disagree() != "" {
			t.Errorf("%s: %+v", where, kept)
		}
	}
	j, _ := memory(t, 1, 1, 1)
	path := filepath.Join(t.TempDir(), "heads")
	h := openHeads(t, j, path, quick)
	if err := long.put(t, h); err != nil {
		t.Fatal(err)
	}
	check("this run", h)
	mustClose(t, h)
	other, _ := memory(t, 1, 1, 1)
	check("the file", openHeads(t, other, path, quick))
	check("the bucket", openHeads(t, j, filepath.Join(t.TempDir(), "heads"), quick))
}

// A stop between the two writes leaves one place behind; the larger counts.
func TestHeadsDisagree(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	path := filepath.Join(t.TempDir(), "heads")
	log := newLog(t, uuid.NewString())
	h := openHeads(t, j, path, quick)
	log.grow(t, "0", "1")
	if err := log.put(t, h); err != nil {
		t.Fatal(err)
	}
	mustClose(t, h)
	old := readFile(t, path)

	bucket, err := j.Bucket(soon(t), HeadsBucket)
	if err != nil {
		t.Fatal(err)
	}
	head := log.grow(t, "2")
	if _, err := bucket.Put(soon(t), log.name, []byte(headText(log.name, head))); err != nil {
		t.Fatal(err)
	}
	h = openHeads(t, j, path, quick)
	kept := get(t, h, log.name)
	if kept.Size != 3 || kept.File.Size != 2 || !strings.Contains(kept.Disagree(), "2 records, the bucket 3") {
		t.Errorf("%+v, %s", kept, kept.Disagree())
	}
	log.grow(t, "3")
	if err := log.put(t, h); err != nil {
		t.Fatal(err)
	}
	flush(t, h)
	if kept := get(t, h, log.name); kept.Size != 4 || kept.Disagree() != "" {
		t.Errorf("%+v", kept)
	}
	mustClose(t, h)

	// The file alone is ahead: the bucket was lost.
	if err := bucket.Delete(soon(t), log.name); err != nil {
		t.Fatal(err)
	}
	h = openHeads(t, j, path, quick)
	if kept := get(t, h, log.name); kept.Size != 4 || kept.Disagree() == "" {
		t.Errorf("%+v", kept)
	}
	mustClose(t, h)

	// Both are of the same size and of two trees.
	other := newLog(t, log.name)
	head = other.grow(t, "other", "tree")
	if _, err := bucket.Put(soon(t), log.name, []byte(headText(log.name, head))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, old)
	h = openHeads(t, j, path, quick)
	if _, err := h.Get(soon(t), log.name); !errors.Is(err, merkle.ErrFork) {
		t.Errorf("got error %v", err)
	}
}

// Two nodes keep heads of one log: the bucket holds the larger one in the end,
// and a fork between them is an error.
func TestHeadsOfTwoNodes(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	one := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), Options{Strict: true})
	two := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), Options{Strict: true})
	log := newLog(t, uuid.NewString())
	for i := range 10 {
		log.grow(t, fmt.Sprint(i))
		node := one
		if i%3 == 0 {
			node = two
		}
		if err := log.put(t, node); err != nil {
			t.Fatal(err)
		}
		if kept := get(t, node, log.name); kept.Size != int64(i+1) || kept.Disagree() != "" {
			t.Errorf("%d: %+v", i, kept)
		}
	}
	forked := newLog(t, log.name)
	for i := range 9 {
		forked.grow(t, fmt.Sprint(i))
	}
	forked.grow(t, "another")
	// The second node knows 10 records; the third has seen none of them.
	three := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), Options{Strict: true})
	if err := forked.put(t, three); !errors.Is(err, merkle.ErrFork) {
		t.Errorf("got error %v", err)
	}
}

// A node that is late does not put its smaller head over another's.
func TestHeadsOfALateNode(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	late := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), Options{Delay: time.Hour})
	other := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), Options{Strict: true})
	log := newLog(t, uuid.NewString())
	log.grow(t, "0")
	if err := log.put(t, other); err != nil {
		t.Fatal(err)
	}
	log.grow(t, "1")
	if err := log.put(t, late); err != nil {
		t.Fatal(err)
	}
	log.grow(t, "2")
	if err := log.put(t, other); err != nil {
		t.Fatal(err)
	}
	late.hurry()
	flush(t, late)
	if kept := get(t, late, log.name); kept.Bucket.Size != 3 || kept.File.Size != 2 {
		t.Errorf("%+v", kept)
	}
}

func TestHeadsStrictAndConcurrent(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	for _, o := range []Options{{Strict: true}, {Records: 4, Delay: 10 * time.Millisecond}} {
		path := filepath.Join(t.TempDir(), "heads")
		h := openHeads(t, j, path, o)
		var group sync.WaitGroup
		var logs []*signedLog
		for range 8 {
			logs = append(logs, newLog(t, uuid.NewString()))
		}
		for _, log := range logs {
			group.Go(func() {
				for i := range 15 {
					log.grow(t, fmt.Sprint(i))
					if err := log.put(t, h); err != nil {
						t.Error(err)
						return
					}
					if kept, err := h.Get(context.Background(), log.name); o.Strict && (err != nil || kept.Size != int64(i+1) || kept.Disagree() != "") {
						t.Errorf("%d: %+v, %v", i, kept, err)
					}
				}
			})
		}
		group.Wait()
		flush(t, h)
		if health := h.Health(); health != (HeadsHealth{}) {
			t.Errorf("health: %+v", health)
		}
		mustClose(t, h)
		h = openHeads(t, j, path, o)
		for _, log := range logs {
			if kept := get(t, h, log.name); kept.Size != 15 || kept.Disagree() != "" {
				t.Errorf("%+v", kept)
			}
		}
	}
}

func TestHeadsRefuseWhatIsNotTheirs(t *testing.T) {
	j, _ := memory(t, 1, 1, 1)
	h := openHeads(t, j, filepath.Join(t.TempDir(), "heads"), quick)
	log := newLog(t, uuid.NewString())
	head := log.grow(t, "0")
	other := log.grow(t, "1")
	for name, put := range map[string]struct {
		log  string
		head Head
	}{
		"another log":     {uuid.NewString(), head},
		"a bad log":       {log.name + "/1", head},
		"another text":    {log.name, Head{other.Checkpoint, head.Signed}},
		"no signed note":  {log.name, Head{head.Checkpoint, []byte("x")}},
		"an empty signed": {log.name, Head{head.Checkpoint, nil}},
	} {
		if err := h.Put(soon(t), put.log, put.head, log.prove); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	anew := newLog(t, log.name+"/2")
	anew.grow(t, "0")
	if err := anew.put(t, h); err != nil {
		t.Errorf("a log begun anew: %v", err)
	}
}

// A bit flipped anywhere in the file is reported, and no log's checkpoint
// becomes another one than was put.
func TestEveryFlippedBitOfHeadsIsReported(t *testing.T) {
	random := seeded(t)
	j, _ := memory(t, 1, 1, 1)
	path := filepath.Join(t.TempDir(), "heads")
	h := openHeads(t, j, path, quick)
	logs := []*signedLog{newLog(t, uuid.NewString()), newLog(t, uuid.NewString()), newLog(t, uuid.NewString())}
	put := map[merkle.Checkpoint]bool{}
	for i := range 12 {
		log := logs[i%3]
		put[log.grow(t, fmt.Sprint(i)).Checkpoint] = true
		if err := log.put(t, h); err != nil {
			t.Fatal(err)
		}
		flush(t, h)
	}
	mustClose(t, h)
	good := readFile(t, path)
	for range 500 {
		at := random.IntN(len(good))
		bit := random.IntN(8)
		flip(t, path, at, bit)
		f, err := openHeadsFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f.take(string(readFile(t, path)))
		if len(f.damage) == 0 {
			t.Fatalf("byte %d: not reported", at)
		}
		for log := range f.index {
			if head, err := f.read(log); err != nil || !put[head.Checkpoint] {
				t.Fatalf("byte %d: %s has %+v, %v", at, log, head, err)
			}
		}
		f.close()
		flip(t, path, at, bit)
	}
	// The bucket still has them all.
	writeFile(t, path, append(bytes.Clone(good[:100]), good[101:]...))
	h = openHeads(t, j, path, quick)
	for _, log := range logs {
		if kept := get(t, h, log.name); kept.Size != 4 {
			t.Errorf("%+v", kept)
		}
	}
}

func TestHeadsTornAtEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heads")
	logs := []*signedLog{newLog(t, uuid.NewString()), newLog(t, uuid.NewString())}
	var whole []byte
	var ends []int
	for i := range 3 {
		log := logs[i%2]
		whole = append(whole, headText(log.name, log.grow(t, fmt.Sprint(i)))...)
		ends = append(ends, len(whole))
	}
	for size := range len(whole) {
		boundary := size == 0 || slices.Contains(ends, size)
		f := &headsFile{path: path, file: new(appendFile), index: map[string]place{}}
		f.take(string(whole[:size]))
		if (len(f.damage) == 0) != boundary {
			t.Fatalf("torn at %d: %v", size, f.damage)
		}
		if size%61 != 0 { // the rest waits for the disk
			continue
		}
		writeFile(t, path, whole[:size])
		f, err := openHeadsFile(path)
		if err == nil {
			err = f.load()
		}
		if err != nil || (len(f.damage) == 0) != boundary {
			t.Fatalf("torn at %d: %v, %v", size, f.damage, err)
		}
		if next := logs[0].head(t); f.write(map[string]Head{logs[0].name: next}) != nil || !bytes.HasSuffix(readFile(t, path), []byte(headText(logs[0].name, next))) {
			t.Fatalf("torn at %d: cannot be written", size)
		}
		f.close()
		g, _ := openHeadsFile(path)
		if err := g.load(); err != nil || len(g.damage) > 0 {
			t.Fatalf("torn at %d, then written: %v, %v", size, g.damage, err)
		}
		g.close()
		for _, aside := range asides(path) {
			os.Remove(aside)
		}
	}
}

func asides(path string) []string {
	files, _ := filepath.Glob(path + ".*")
	return files
}

// A file of old lines is written anew; a damaged one is kept beside.
func TestHeadsCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heads")
	log, idle := newLog(t, uuid.NewString()), newLog(t, uuid.NewString())
	f, err := openHeadsFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write(map[string]Head{idle.name: idle.grow(t, "0")}); err != nil {
		t.Fatal(err)
	}
	line := headText(log.name, log.grow(t, "0"))
	f.close()
	old := strings.Repeat(line, compactFrom/len(line)+1)
	broken := strings.Replace(line, "size=1", "size=2", 1)
	writeFile(t, path, []byte(string(readFile(t, path))+old+broken))
	if f, err = openHeadsFile(path); err == nil {
		err = f.load()
	}
	if err != nil || len(f.damage) != 1 || f.damage[0].Campaign != log.name {
		t.Fatal(f.damage, err)
	}
	head := log.grow(t, "1")
	for range 2 {
		if err := f.write(map[string]Head{log.name: head}); err != nil {
			t.Fatal(err)
		}
	}
	if f.file.size > 4096 || int64(len(readFile(t, path))) != f.file.size {
		t.Errorf("size %d", f.file.size)
	}
	for want, log := range map[int64]*signedLog{1: idle, 2: log} {
		if got, err := f.read(log.name); err != nil || got.Size != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	f.close()
	if kept := asides(path); len(kept) != 1 || !strings.HasSuffix(string(readFile(t, kept[0])), broken) {
		t.Errorf("kept %v", kept)
	}
}

func FuzzParseHead(f *testing.F) {
	log := newLog(f, "c")
	f.Add(strings.TrimSuffix(headText("c", log.grow(f, "0")), "\n"))
	f.Add("head log=c size=1 signed= sum=")
	f.Fuzz(func(t *testing.T, text string) {
		head, err := parseHead("c", text)
		if err == nil && headText("c", head) != text+"\n" {
			t.Errorf("%q is taken as %+v", text, head)
		}
	})
}
