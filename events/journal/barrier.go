package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// A barrier makes what was written to a stream's files durable. The server in this
// process hands each message to the system before it acknowledges it, and leaves the
// disk to us: one sync serves all who wait for it. Nothing that was not behind a
// barrier may leave the journal, neither as stored nor as read.
type barrier struct {
	sync    func() error  // makes durable what was written before it is called
	free    func() error  // gives up what sync holds; nil for nothing
	disk    *sync.Mutex   // held during a sync: the barriers of one disk take turns
	durable atomic.Uint64 // sequence of the stream known to be behind the barrier
	stored  func() uint64 // sequence known to be stored, whoever knows it; nil for none

	mu      sync.Mutex // guards all below
	arrived uint64     // how many have come
	through uint64     // how many of them are through: what they had seen is durable
	known   uint64     // highest sequence that any of them knew to be stored
	company bool       // the last sync served more than one
	turn    chan struct{}
	broken  error // of a sync; stays: what the system has dropped then, nobody knows
}

// settled returns when a sequence that the store gave, and all before it, is durable.
func (b *barrier) settled(ctx context.Context, seq uint64) error {
	if b == nil || seq <= b.durable.Load() {
		return nil
	}
	return b.pass(ctx, seq)
}

// all returns when all that was written before the call is durable.
func (b *barrier) all(ctx context.Context) error {
	if b == nil {
		return nil
	}
	return b.pass(ctx, unknown)
}

// unknown stands for the sequence of what somebody wrote: no sync that was under way
// before is known to have it.
const unknown = math.MaxUint64

// pass returns when a sequence is durable, or all that was written before the call. A
// call that finds no sync under way makes one at once; the others wait for it, and
// one of them makes the next for those whom it did not serve: who reads a message may
// have begun a sync before who wrote it has heard that it is stored. An error of the
// disk is the answer to everybody from then on.
func (b *barrier) pass(ctx context.Context, seq uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived++
	me := b.arrived
	if seq != unknown {
		b.known = max(b.known, seq)
	}
	for b.through < me && b.durable.Load() < seq && b.broken == nil {
		if b.turn == nil {
			b.lead()
			continue
		}
		turn := b.turn
		b.mu.Unlock()
		select {
		case <-turn:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			return ctx.Err()
		}
	}
	if b.through >= me || b.durable.Load() >= seq {
		return nil
	}
	return b.broken
}

// gathering is how often who makes a sync lets others run first, when there were
// several the last time. Who can run now may be about to come here, too, and a sync
// costs the system much more than a message.
const gathering = 10

// lead makes a sync for all who have arrived when it begins. The caller holds mu, which
// is free meanwhile.
func (b *barrier) lead() {
	turn := make(chan struct{})
	b.turn = turn
	b.mu.Unlock()
	b.disk.Lock()
	if b.company {
		for range gathering {
			runtime.Gosched()
		}
	}
	b.mu.Lock()
	all, known := b.arrived, b.known
	b.company = all-b.through > 1
	if b.stored != nil {
		known = max(known, b.stored())
	}
	b.mu.Unlock()
	err := b.sync()
	b.disk.Unlock()
	b.mu.Lock()
	b.turn = nil
	close(turn)
	if err != nil {
		b.broken = fmt.Errorf("sync to disk: %w", err)
		return
	}
	b.through = all
	b.durable.Store(max(b.durable.Load(), known))
}

// problem is the error of a sync, or nil.
func (b *barrier) problem() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

// close lets a sync under way end and refuses any other.
func (b *barrier) close() error {
	b.mu.Lock()
	b.broken = cmp.Or(b.broken, ErrClosed)
	turn := b.turn
	b.mu.Unlock()
	if turn != nil {
		<-turn
	}
	if b.free == nil {
		return nil
	}
	return b.free()
}

// messagesDir is the folder with a stream's block files in an embedded store.
func messagesDir(dir, stream string) string {
	return filepath.Join(streamsDir(dir), stream, messagesName)
}

const messagesName = "msgs"

// streamsDir is the folder of all streams of an embedded store.
func streamsDir(dir string) string {
	return filepath.Join(dir, storeName, "jetstream", server.DEFAULT_GLOBAL_ACCOUNT, "streams")
}

// growing are the block files of a stream that only grows: the server appends to the
// newest, and begins the next, with the next number, when it is full.
type growing struct {
	dir    string
	fsync  func(*os.File) error // of files and of the folder
	newest *os.File             // nil until there is one
	number int                  // its
}

// sync makes durable what was written before, in the newest block and in those that
// it followed since the last time. At first that is any of them: another process may
// have written it and been killed.
func (g *growing) sync() error {
	if g.newest == nil {
		return g.begin()
	}
	begun := false
	for {
		next, err := openBlock(g.dir, g.number+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := g.fsync(g.newest); err != nil {
			return errors.Join(err, closeIf(next))
		}
		if next == nil {
			break
		}
		if err := g.newest.Close(); err != nil {
			return errors.Join(err, next.Close())
		}
		g.newest, g.number, begun = next, g.number+1, true
	}
	if !begun {
		return nil
	}
	return syncNames(g.dir, g.fsync)
}

// begin syncs all that there is and finds the newest block.
func (g *growing) begin() error {
	files, err := os.ReadDir(g.dir)
	if err != nil {
		return err
	}
	newest := 0
	for _, file := range files {
		digits, is := strings.CutSuffix(file.Name(), ".blk")
		if n, err := strconv.Atoi(digits); is && err == nil {
			newest = max(newest, n)
		}
	}
	if newest > 0 { // held before it is synced, so that a next one is not missed
		if g.newest, err = openBlock(g.dir, newest); err != nil {
			return err
		}
		g.number = newest
	}
	return syncFolder(g.dir, g.fsync)
}

func (g *growing) close() error { return closeIf(g.newest) }

func closeIf(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// openBlock opens a block file to sync it, for which some systems want it writable.
func openBlock(dir string, number int) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, strconv.Itoa(number)+".blk"), os.O_RDWR, 0)
}

// syncTree makes a folder and all that is in it, at any depth, durable, but for
// messages: those have a barrier.
func syncTree(dir string, fsync func(*os.File) error) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if entry.Name() == messagesName {
				return fs.SkipDir
			}
			err = syncFolder(path, fsync)
		}
		if errors.Is(err, fs.ErrNotExist) { // the server works meanwhile
			return nil
		}
		return err
	})
}

// syncFolder makes the files of a folder and their names durable.
func syncFolder(dir string, fsync func(*os.File) error) error {
	return (&changing{dir: dir, fsync: fsync}).sync()
}

// changing are the files of a folder in which the server appends to some, and
// replaces and removes others. None is written over in place.
type changing struct {
	dir    string
	fsync  func(*os.File) error // of files and of the folder
	synced map[string]fs.FileInfo
}

// sync makes durable what was written before, in the files that are not as they were
// the last time, and their names where one is new or gone. What the server has removed
// meanwhile is not missed.
func (c *changing) sync() error {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	synced := map[string]fs.FileInfo{}
	renamed := len(files) != len(c.synced)
	for _, file := range files {
		path, was := filepath.Join(c.dir, file.Name()), c.synced[file.Name()]
		info, err := os.Lstat(path) // before it is synced
		renamed = renamed || err != nil || was == nil || !os.SameFile(was, info)
		if err == nil && info.Mode().IsRegular() && !unchanged(was, info) {
			err = syncFile(path, c.fsync)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		synced[file.Name()] = info
	}
	if renamed || len(files) == 0 {
		if err := syncNames(c.dir, c.fsync); err != nil {
			return err
		}
	}
	c.synced = synced
	return nil
}

// unchanged reports whether a file is the one that it was, and as long.
func unchanged(was, is fs.FileInfo) bool {
	return was != nil && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

func syncFile(path string, fsync func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}

// syncNames makes the names in a folder durable. Windows has no such thing, and
// needs none.
func syncNames(dir string, fsync func(*os.File) error) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(fsync(f), f.Close())
}
