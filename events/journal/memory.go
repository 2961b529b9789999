package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Memory is a Journal without a disk, for tests: the same protocol, sequences,
// conflicts and faults as the real one.
type Memory struct {
	*memory
	faults    *Faults
	closed    chan struct{}
	followers sync.WaitGroup
}

// memory is what all that are connected to it share.
type memory struct {
	mu         sync.Mutex // guards all below
	partitions []memoryPartition
	campaigns  map[string][]Commit
	buckets    map[string]*memoryValues
	listeners  map[int]func(subject string, data []byte)
	listenerID int
	changed    chan struct{} // closed and replaced after every append
}

type memoryPartition struct {
	commits []Commit          // commit i has Seq i+1
	ids     map[string]uint64 // campaign:command id -> Seq
}

// NewMemory returns an empty journal with that many partitions, 1 to
// MaxPartitions; another number is a mistake of the program and panics.
func NewMemory(partitions int) *Memory {
	if err := checkPartitions(partitions); err != nil {
		panic(err)
	}
	m := &memory{
		partitions: make([]memoryPartition, partitions),
		campaigns:  map[string][]Commit{},
		buckets:    map[string]*memoryValues{},
		listeners:  map[int]func(string, []byte){},
		changed:    make(chan struct{}),
	}
	for i := range m.partitions {
		m.partitions[i].ids = map[string]uint64{}
	}
	return &Memory{memory: m, closed: make(chan struct{})}
}

// Connect returns the same store as another process sees it: with faults of its
// own, and closed on its own.
func (m *Memory) Connect(faults *Faults) *Memory {
	return &Memory{memory: m.memory, faults: faults, closed: make(chan struct{})}
}

// SetFaults puts faults in place, or takes them away with nil. It is called
// before the journal is shared.
func (m *Memory) SetFaults(faults *Faults) { m.faults = faults }

// Append implements Journal.
func (m *Memory) Append(ctx context.Context, e Entry) (uint64, error) {
	if err := checkEntry(e); err != nil {
		return 0, err
	}
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	if e.Meanwhile != nil {
		e.Meanwhile()
	}
	return place(ctx, m, e)
}

func (m *Memory) publish(_ context.Context, e Entry) (uint64, error) {
	return m.faults.inject(e, func() (uint64, error) { return m.put(e) })
}

// put stores an entry as a stream would: the expectation is checked before the id.
func (m *Memory) put(e Entry) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return 0, ErrClosed
	}
	p := &m.partitions[PartitionOf(e.Campaign, len(m.partitions))]
	if lastSeq(m.campaigns[e.Campaign]) != e.Expected {
		return 0, errMoved
	}
	key := e.Campaign + ":" + e.ID
	if seq, known := p.ids[key]; known {
		return 0, &duplicateError{seq}
	}
	c := Commit{e.Campaign, e.ID, uint64(len(p.commits)) + 1, slices.Clone(e.Payload)}
	p.commits = append(p.commits, c)
	p.ids[key] = c.Seq
	m.campaigns[e.Campaign] = append(m.campaigns[e.Campaign], c)
	close(m.changed)
	m.changed = make(chan struct{})
	return c.Seq, nil
}

func (m *Memory) next(_ context.Context, campaign string, after uint64) (Commit, error) {
	if err := m.faults.look(campaign); err != nil {
		return Commit{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isClosed() {
		return Commit{}, ErrClosed
	}
	rest := commitsAfter(m.campaigns[campaign], after)
	if len(rest) == 0 {
		return Commit{}, ErrNotFound
	}
	return copied(rest[0]), nil
}

// Read implements Journal.
func (m *Memory) Read(ctx context.Context, campaign string, after uint64, each func(Commit) error) error {
	if err := checkCampaign(campaign); err != nil {
		return err
	}
	if err := m.usable(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	rest := commitsAfter(m.campaigns[campaign], after)
	m.mu.Unlock()
	for _, c := range rest { // commits are only ever appended: no lock needed
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(copied(c)); err != nil {
			return err
		}
	}
	return nil
}

// ReadPartition implements Journal.
func (m *Memory) ReadPartition(ctx context.Context, partition int, after uint64, each func(Commit) error) error {
	if err := m.usable(ctx); err != nil {
		return err
	}
	if partition < 0 || partition >= len(m.partitions) {
		return fmt.Errorf("%w: partition %d of %d", ErrInvalid, partition, len(m.partitions))
	}
	m.mu.Lock()
	rest := commitsAfter(m.partitions[partition].commits, after)
	m.mu.Unlock()
	for _, c := range rest { // commits are only ever appended: no lock needed
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(copied(c)); err != nil {
			return err
		}
	}
	return nil
}

// Last implements Journal.
func (m *Memory) Last(ctx context.Context, campaign string) (uint64, error) {
	if err := checkCampaign(campaign); err != nil {
		return 0, err
	}
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return lastSeq(m.campaigns[campaign]), nil
}

// First implements Journal.
func (m *Memory) First(ctx context.Context, campaign string) (Commit, error) {
	if err := checkCampaign(campaign); err != nil {
		return Commit{}, err
	}
	if err := m.usable(ctx); err != nil {
		return Commit{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.campaigns[campaign]) == 0 {
		return Commit{}, fmt.Errorf("%w: campaign %s", ErrNotFound, campaign)
	}
	return copied(m.campaigns[campaign][0]), nil
}

// Campaigns implements Journal.
func (m *Memory) Campaigns(ctx context.Context, after string, limit int) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]string, 0, len(m.campaigns))
	for id := range m.campaigns {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return pageOf(ids, after, limit), nil
}

// Follow implements Journal.
func (m *Memory) Follow(ctx context.Context, each func(Commit)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	positions := make([]int, len(m.partitions))
	for i, p := range m.partitions {
		positions[i] = len(p.commits)
	}
	m.followers.Go(func() { m.follow(ctx, positions, each) })
	return nil
}

func (m *Memory) follow(ctx context.Context, positions []int, each func(Commit)) {
	for {
		m.mu.Lock()
		var fresh []Commit
		for i, p := range m.partitions {
			fresh = append(fresh, p.commits[positions[i]:]...)
			positions[i] = len(p.commits)
		}
		changed := m.changed
		m.mu.Unlock()
		for _, c := range fresh {
			if ctx.Err() != nil {
				return
			}
			each(copied(c))
		}
		select {
		case <-ctx.Done():
			return
		case <-m.closed:
			return
		case <-changed:
		}
	}
}

// Publish implements Journal: every listener is called before it returns.
func (m *Memory) Publish(ctx context.Context, subject string, data []byte) error {
	if err := checkFeed(subject); err != nil {
		return err
	}
	if err := m.usable(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, listen := range m.listeners {
		listen(subject, slices.Clone(data))
	}
	return nil
}

// Listen hands everything that is published from now on to listen, until the
// returned function is called. It must not call the journal.
func (m *Memory) Listen(listen func(subject string, data []byte)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listenerID++
	id := m.listenerID
	m.listeners[id] = listen
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, id)
	}
}

// Health implements Journal.
func (m *Memory) Health(context.Context) Health {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := Health{Sync: SyncNone, Reachable: !m.isClosed()}
	for i, p := range m.partitions {
		n := uint64(len(p.commits))
		h.Partitions = append(h.Partitions, PartitionHealth{Stream: streamName(i), First: min(1, n), Last: n, Messages: n})
	}
	return h
}

// Close implements Journal.
func (m *Memory) Close() error {
	m.mu.Lock()
	if !m.isClosed() {
		close(m.closed)
	}
	m.mu.Unlock()
	m.followers.Wait()
	return nil
}

func (m *Memory) isClosed() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

func (m *Memory) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.isClosed() {
		return ErrClosed
	}
	return nil
}

// copied gives a commit a payload that the reader may keep and change.
func copied(c Commit) Commit {
	c.Payload = slices.Clone(c.Payload)
	return c
}

func lastSeq(commits []Commit) uint64 {
	if len(commits) == 0 {
		return 0
	}
	return commits[len(commits)-1].Seq
}

func commitsAfter(commits []Commit, after uint64) []Commit {
	i, found := slices.BinarySearchFunc(commits, after, func(c Commit, seq uint64) int {
		switch {
		case c.Seq < seq:
			return -1
		case c.Seq > seq:
			return 1
		}
		return 0
	})
	if found {
		i++
	}
	return commits[i:]
}

// pageOf returns up to limit of the sorted ids that are greater than after.
func pageOf(ids []string, after string, limit int) []string {
	from, found := slices.BinarySearch(ids, after)
	if found {
		from++
	}
	ids = ids[from:]
	if limit > 0 && limit < len(ids) {
		ids = ids[:limit]
	}
	return slices.Clone(ids)
}

// memoryBucket is a Bucket without a disk.
type memoryBucket struct {
	journal *Memory
	*memoryValues
}

// memoryValues is what all that opened a bucket share.
type memoryValues struct {
	mu       sync.Mutex // guards all below
	revision uint64     // of the last change of any key
	values   map[string]memoryValue
}

type memoryValue struct {
	data     []byte
	revision uint64
}

// Bucket implements Journal.
func (m *Memory) Bucket(ctx context.Context, name string) (Bucket, error) {
	if err := checkBucket(name); err != nil {
		return nil, err
	}
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buckets[name] == nil {
		m.buckets[name] = &memoryValues{values: map[string]memoryValue{}}
	}
	return &memoryBucket{m, m.buckets[name]}, nil
}

// enter checks that the bucket can be used and takes its lock.
func (b *memoryBucket) enter(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := b.journal.usable(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	return nil
}

func (b *memoryBucket) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	if err := b.enter(ctx, key); err != nil {
		return nil, 0, err
	}
	defer b.mu.Unlock()
	v, ok := b.values[key]
	if !ok {
		return nil, 0, fmt.Errorf("%w: key %s", ErrNotFound, key)
	}
	return slices.Clone(v.data), v.revision, nil
}

func (b *memoryBucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b *memoryBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := b.enter(ctx, key); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	if at := b.values[key].revision; at != revision {
		return 0, fmt.Errorf("%w: key %s is at revision %d, expected %d", ErrConflict, key, at, revision)
	}
	return b.set(key, value), nil
}

func (b *memoryBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.enter(ctx, key); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	return b.set(key, value), nil
}

func (b *memoryBucket) set(key string, value []byte) uint64 {
	b.revision++
	b.values[key] = memoryValue{slices.Clone(value), b.revision}
	return b.revision
}

func (b *memoryBucket) Delete(ctx context.Context, key string) error {
	if err := b.enter(ctx, key); err != nil {
		return err
	}
	defer b.mu.Unlock()
	b.revision++
	delete(b.values, key)
	return nil
}

func (b *memoryBucket) Keys(ctx context.Context) ([]string, error) {
	if err := b.journal.usable(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := make([]string, 0, len(b.values))
	for key := range b.values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}
