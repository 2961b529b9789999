package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// kvBucket is a Bucket in a JetStream key-value store.
type kvBucket struct {
	journal *jetStream
	kv      jetstream.KeyValue
	barrier *barrier      // nil: what the server acknowledges is durable
	highest atomic.Uint64 // revision that was given or seen

	mu      sync.Mutex // guards all below
	shorter time.Time  // since when the store ends before highest
	lost    string     // in words, once that is certain
}

// leaderPause is how long a new leader of several copies may take to know all that
// was stored.
const leaderPause = 5 * time.Second

// saw notes a revision.
func (b *kvBucket) saw(revision uint64) { raise(&b.highest, revision) }

// look says in words whether the store has lost what was put into the bucket since
// this process opened it.
func (b *kvBucket) look(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, b.journal.options.AckWait)
	defer cancel()
	highest := b.highest.Load()
	stream, err := b.journal.js.Stream(ctx, "KV_"+b.kv.Bucket())
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.barrier.problem(); err != nil {
		return fmt.Sprintf("bucket %s: %v", b.kv.Bucket(), err)
	}
	switch {
	case b.lost != "" || err != nil && !errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		b.lost = fmt.Sprintf("bucket %s: the store has it no more", b.kv.Bucket())
	case stream.CachedInfo().State.LastSeq >= highest:
		b.saw(stream.CachedInfo().State.LastSeq) // also what other nodes put
		b.shorter = time.Time{}
	case b.shorter.IsZero() && b.journal.layout.replicas > 1:
		b.shorter = time.Now()
	case time.Since(b.shorter) >= leaderPause:
		b.lost = fmt.Sprintf("bucket %s: the store ends at revision %d, and %d was stored: what was put into it is lost in part or whole",
			b.kv.Bucket(), stream.CachedInfo().State.LastSeq, highest)
	}
	return b.lost
}

// Bucket implements Journal.
func (j *jetStream) Bucket(ctx context.Context, name string) (Bucket, error) {
	if err := checkBucket(name); err != nil {
		return nil, err
	}
	if err := j.usable(ctx); err != nil {
		return nil, err
	}
	j.bucketMu.Lock()
	defer j.bucketMu.Unlock()
	if b := j.buckets[name]; b != nil {
		return b, nil
	}
	made := false
	kv, err := j.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		made = true
		kv, err = j.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:      name,
			Description: "Tallystick",
			History:     1,
			Storage:     jetstream.FileStorage,
			Replicas:    j.layout.replicas,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("journal: bucket %s: %w", name, err)
	}
	b := &kvBucket{journal: j, kv: kv}
	if j.disk != nil {
		c := &changing{dir: messagesDir(j.options.Dir, "KV_"+name), fsync: (*os.File).Sync}
		b.barrier = &barrier{sync: c.sync, disk: j.disk, stored: b.highest.Load}
	}
	if j.disk != nil && made {
		all := streamsDir(j.options.Dir)
		if err := errors.Join(syncTree(filepath.Join(all, "KV_"+name), (*os.File).Sync), syncNames(all, (*os.File).Sync)); err != nil {
			return nil, fmt.Errorf("journal: bucket %s: %w", name, err)
		}
	}
	j.buckets[name] = b
	return b, nil
}

func (b *kvBucket) check(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return b.journal.usable(ctx)
}

// checkWrite refuses what could not be made durable.
func (b *kvBucket) checkWrite(ctx context.Context, key string) error {
	if err := b.check(ctx, key); err != nil {
		return err
	}
	if err := b.barrier.problem(); err != nil {
		return fmt.Errorf("%w: bucket %s, key %s: %w", ErrFull, b.kv.Bucket(), key, err)
	}
	return nil
}

func (b *kvBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := b.check(ctx, key); err != nil {
		return nil, 0, err
	}
	m, err := b.journal.lastOf(ctx, "KV_"+b.kv.Bucket(), "$KV."+b.kv.Bucket()+"."+key)
	if err == nil {
		b.saw(m.seq)
		err = b.barrier.settled(ctx, m.seq)
	}
	if errors.Is(err, ErrNotFound) || err == nil && m.header.Get("KV-Operation") != "" { // deleted
		return nil, 0, fmt.Errorf("%w: bucket %s, key %s", ErrNotFound, b.kv.Bucket(), key)
	}
	if err != nil {
		return nil, 0, b.meaning(key, err)
	}
	return m.data, m.seq, nil
}

func (b *kvBucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.checkWrite(ctx, key); err != nil {
		return 0, err
	}
	revision, err := b.kv.Create(ctx, key, value)
	return b.stored(ctx, key, revision, err)
}

func (b *kvBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 { // a key that was deleted has a revision of its own in the store
		return b.Create(ctx, key, value)
	}
	if err := b.checkWrite(ctx, key); err != nil {
		return 0, err
	}
	next, err := b.kv.Update(ctx, key, value, revision)
	return b.stored(ctx, key, next, err)
}

func (b *kvBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.checkWrite(ctx, key); err != nil {
		return 0, err
	}
	revision, err := b.kv.Put(ctx, key, value)
	return b.stored(ctx, key, revision, err)
}

// stored is the answer to a write.
func (b *kvBucket) stored(ctx context.Context, key string, revision uint64, err error) (uint64, error) {
	if err == nil {
		b.saw(revision)
		err = b.barrier.settled(ctx, revision)
	}
	return revision, b.meaning(key, err)
}

func (b *kvBucket) Delete(ctx context.Context, key string) error {
	if err := b.checkWrite(ctx, key); err != nil {
		return err
	}
	err := b.kv.Delete(ctx, key)
	if err == nil {
		err = b.barrier.all(ctx)
	}
	return b.meaning(key, err)
}

func (b *kvBucket) Keys(ctx context.Context) ([]string, error) {
	if err := b.journal.usable(ctx); err != nil {
		return nil, err
	}
	listing, err := b.kv.ListKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("journal: keys of bucket %s: %w", b.kv.Bucket(), err)
	}
	defer listing.Stop()
	keys := []string{}
	stalled := time.NewTimer(listPause)
	defer stalled.Stop()
	for {
		select {
		case key, more := <-listing.Keys():
			if !more {
				slices.Sort(keys)
				return keys, errors.Join(ctx.Err(), b.barrier.all(ctx))
			}
			keys = append(keys, key)
			stalled.Reset(listPause)
		case <-stalled.C:
			return nil, fmt.Errorf("%w: bucket %s: its keys cannot be listed to the end, %d came", ErrDamaged, b.kv.Bucket(), len(keys))
		}
	}
}

// listPause is how long the next key of a list may take: a store that counts a
// message which it cannot read never comes to the end.
const listPause = 5 * time.Second

// meaning turns an error of the key-value store into one of ours.
func (b *kvBucket) meaning(key string, err error) error {
	if err == nil {
		return nil
	}
	kind := error(nil)
	switch code := apiCode(err); {
	case errors.Is(err, jetstream.ErrKeyExists), code == codeWrongLast, code == codeWrongLastBusy:
		kind = ErrConflict
	case code == codeNoResources, code == codeNoStorage:
		kind = ErrFull
	default:
		return fmt.Errorf("journal: bucket %s, key %s: %w", b.kv.Bucket(), key, err)
	}
	return fmt.Errorf("%w: bucket %s, key %s: %w", kind, b.kv.Bucket(), key, err)
}
