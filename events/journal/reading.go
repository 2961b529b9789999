package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// One answer to a read holds at most so many messages and, give or take one, bytes.
const (
	pageMessages = 512
	pageBytes    = 4 << 20
	firstPage    = 256 // messages of the first page: many readers want no more
)

// nextRequest asks for up to batch messages of a subject with a sequence above
// after; a batch of 0 asks for one in the form of a single answer.
func nextRequest(subject string, after uint64, batch int) []byte {
	request := struct {
		Seq      uint64 `json:"seq"`
		Subject  string `json:"next_by_subj"`
		Batch    int    `json:"batch,omitempty"`
		MaxBytes int    `json:"max_bytes,omitempty"`
	}{after + 1, subject, batch, 0}
	if batch > 0 {
		request.MaxBytes = pageBytes
	}
	data, err := json.Marshal(request)
	if err != nil {
		panic("journal: " + err.Error()) // numbers and a subject always marshal
	}
	return data
}

// lastRequest asks for the last message of a subject, which needs no escaping.
func lastRequest(subject string) []byte {
	return []byte(`{"last_by_subj":"` + subject + `"}`)
}

// Read implements Journal. It asks for pages by the exact subject, and has a consumer
// made when much is left after the first. Each commit says which one it follows, so
// one that is missing is noticed whatever the server says.
func (j *jetStream) Read(ctx context.Context, campaign string, after uint64, each func(Commit) error) error {
	return j.read(ctx, campaign, after, firstPage, each)
}

func (j *jetStream) read(ctx context.Context, campaign string, after uint64, pageSize int, each func(Commit) error) error {
	if err := checkCampaign(campaign); err != nil {
		return err
	}
	r := reader{j, campaign, after, after, each}
	owed := false // the store said that there is more
	consumed := false
	for {
		if err := j.usable(ctx); err != nil {
			return err
		}
		page, pending, err := j.page(ctx, campaign, r.position, pageSize)
		if err != nil {
			return fmt.Errorf("journal: read campaign %s after %d: %w", campaign, r.position, err)
		}
		if len(page) == 0 && owed && j.layout.replicas == 1 {
			return j.unreadable(campaign, fmt.Sprintf("commits after sequence %d cannot be read", r.position))
		}
		if err := r.deliver(ctx, page); err != nil {
			return err
		}
		owed = true
		if pending >= longRead && !consumed {
			consumed = true
			handed, err := r.consume(ctx)
			if err != nil {
				return err
			}
			pending -= min(pending, handed)
		}
		if pageSize = pageMessages; pending > 0 {
			continue
		}
		if more, err := r.rest(ctx); err != nil || !more {
			return err
		}
	}
}

// reader is one Read under way.
type reader struct {
	journal  *jetStream
	campaign string
	after    uint64
	position uint64 // sequence of the last commit delivered, at first after
	each     func(Commit) error
}

// deliver hands on messages, each checked to be the next of the campaign.
func (r *reader) deliver(ctx context.Context, messages []rawMessage) error {
	for _, m := range messages {
		c, err := r.check(m)
		if err != nil {
			return err
		}
		if err := r.hand(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// check makes a commit of a message and checks that it is the next of the campaign.
func (r *reader) check(m rawMessage) (Commit, error) {
	if err := follows(m, r.position, r.position == r.after); err != nil {
		return Commit{}, fmt.Errorf("journal: read campaign %s: %w", r.campaign, err)
	}
	c, err := commitOf(r.campaign, m.seq, m.header, m.data)
	if err != nil {
		return Commit{}, fmt.Errorf("journal: read: %w", err)
	}
	return c, nil
}

// hand hands on a commit that is durable.
func (r *reader) hand(ctx context.Context, c Commit) error {
	if err := r.journal.writer(r.campaign).settled(ctx, c.Seq); err != nil {
		return fmt.Errorf("journal: read campaign %s: %w", r.campaign, err)
	}
	r.position = c.Seq
	return r.each(c)
}

// rest reports whether there is more after all when a store says that there is not.
//
// One copy says "no more" of messages that it cannot read, too, and of those behind
// them, and may even forget those: the campaign's last commit must be the one that was
// read, and the stream not shorter than it was. Of several copies the one that was asked may lag, and the
// leader has the last word: what it gives is handed on.
func (r *reader) rest(ctx context.Context) (more bool, err error) {
	j := r.journal
	if j.layout.replicas == 1 {
		last, err := j.Last(ctx, r.campaign)
		if err != nil || last > r.position {
			return true, err
		}
		return false, j.whole(ctx, r.campaign)
	}
	m, err := j.askLeader(ctx, j.layout.stream(r.campaign), nextRequest(j.layout.subject(r.campaign), r.position, 0))
	if errors.Is(err, ErrNotFound) && r.position == 0 {
		return false, j.none(ctx, r.campaign)
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("journal: read campaign %s after %d: %w", r.campaign, r.position, err)
	}
	return true, r.deliver(ctx, []rawMessage{m})
}

// rawMessage is a message as a direct get answers it.
type rawMessage struct {
	seq    uint64
	header nats.Header
	data   []byte
}

// follows checks that a message was stored as the next of its campaign after
// position. The first message of a read may follow one before the position asked
// for, as that need not be the sequence of a commit.
func follows(m rawMessage, position uint64, first bool) error {
	expected, err := strconv.ParseUint(m.header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: sequence %d does not say what it follows", ErrDamaged, m.seq)
	}
	if m.seq <= position || expected > position || !first && expected != position {
		return fmt.Errorf("%w: sequence %d follows %d, which is missing after %d", ErrDamaged, m.seq, expected, position)
	}
	return nil
}

// ReadPartition implements Journal. What the server does not give is left out.
func (j *jetStream) ReadPartition(ctx context.Context, partition int, after uint64, each func(Commit) error) error {
	if partition < 0 || partition >= j.layout.partitions {
		return fmt.Errorf("%w: partition %d of %d", ErrInvalid, partition, j.layout.partitions)
	}
	for {
		page, _, err := j.pageOf(ctx, streamName(partition), ">", after, pageMessages)
		if err != nil {
			return fmt.Errorf("journal: read partition %d after %d: %w", partition, after, err)
		}
		for _, m := range page {
			after = m.seq
			campaign := strings.TrimPrefix(m.header.Get(jetstream.SubjectHeader), subjectPrefix(partition))
			c, err := commitOf(campaign, m.seq, m.header, m.data)
			if err != nil {
				continue // left out, too
			}
			if err := j.writers[partition].settled(ctx, m.seq); err != nil {
				return fmt.Errorf("journal: read partition %d: %w", partition, err)
			}
			if err := each(c); err != nil {
				return err
			}
		}
		if len(page) > 0 {
			continue
		}
		// The server says that there is no more when it cannot read the next one.
		state, err := j.state(ctx, partition)
		if err != nil || state.LastSeq <= after {
			return err
		}
		after++
	}
}

// page returns the next messages of a campaign and how many there are after them.
func (j *jetStream) page(ctx context.Context, campaign string, after uint64, limit int) ([]rawMessage, uint64, error) {
	return j.pageOf(ctx, j.layout.stream(campaign), j.layout.subject(campaign), after, limit)
}

// pageOf returns the next messages of a stream and how many there are after them.
func (j *jetStream) pageOf(ctx context.Context, stream, subject string, after uint64, limit int) ([]rawMessage, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	inbox := j.conn.NewInbox()
	// Room for what is asked for. A subscription's own channel would be made for 64 Ki
	// messages, every time.
	answers := make(chan *nats.Msg, limit+1)
	sub, err := j.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, 0, err
	}
	defer sub.Unsubscribe()
	if err := j.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, nextRequest(subject, after, limit)); err != nil {
		return nil, 0, err
	}
	var page []rawMessage
	for {
		reply, ok := receive(ctx, answers)
		if !ok {
			err := cmp.Or(ctx.Err(), ErrClosed)
			j.blocks.unanswered(stream, err)
			return nil, 0, err
		}
		switch status := reply.Header.Get("Status"); status {
		case "":
			m, err := rawOf(reply)
			if err != nil {
				return nil, 0, err
			}
			page = append(page, m)
		case "204": // the end of the page
			return endOfPage(page, reply.Header)
		case "404":
			return nil, 0, nil
		default:
			return nil, 0, fmt.Errorf("the store answered %s %s", status, reply.Header.Get("Description"))
		}
	}
}

// endOfPage checks that no message of the page was lost on its way.
func endOfPage(page []rawMessage, header nats.Header) ([]rawMessage, uint64, error) {
	pending, err := strconv.ParseUint(header.Get("Nats-Num-Pending"), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("number pending: %w", err)
	}
	last, err := strconv.ParseUint(header.Get("Nats-Last-Sequence"), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("last sequence: %w", err)
	}
	if len(page) == 0 || page[len(page)-1].seq != last {
		return nil, 0, errors.New("messages were lost between the store and here")
	}
	return page, pending, nil
}

func rawOf(reply *nats.Msg) (rawMessage, error) {
	seq, err := strconv.ParseUint(reply.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return rawMessage{}, fmt.Errorf("sequence of a message: %w", err)
	}
	return rawMessage{seq, reply.Header, reply.Data}, nil
}

// Last implements Journal.
func (j *jetStream) Last(ctx context.Context, campaign string) (uint64, error) {
	if err := checkCampaign(campaign); err != nil {
		return 0, err
	}
	if err := j.usable(ctx); err != nil {
		return 0, err
	}
	m, err := j.lastMessage(ctx, campaign)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, j.none(ctx, campaign)
	case err != nil:
		return 0, fmt.Errorf("journal: last commit of campaign %s: %w", campaign, err)
	}
	if err := j.writer(campaign).settled(ctx, m.seq); err != nil {
		return 0, fmt.Errorf("journal: last commit of campaign %s: %w", campaign, err)
	}
	return m.seq, nil
}

func (j *jetStream) lastMessage(ctx context.Context, campaign string) (rawMessage, error) {
	return j.lastOf(ctx, j.layout.stream(campaign), j.layout.subject(campaign))
}

// lastOf is the last message of a subject. Of several copies the one that answers
// may lag: then the leader is asked, whose answer takes three times as long to read.
func (j *jetStream) lastOf(ctx context.Context, stream, subject string) (rawMessage, error) {
	if j.layout.replicas > 1 {
		return j.askLeader(ctx, stream, lastRequest(subject))
	}
	ctx, cancel := context.WithTimeout(ctx, j.options.AckWait)
	defer cancel()
	reply, err := j.conn.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		j.blocks.unanswered(stream, err)
		return rawMessage{}, err
	}
	switch status := reply.Header.Get("Status"); status {
	case "":
		return rawOf(reply)
	case "404":
		return rawMessage{}, ErrNotFound
	default:
		return rawMessage{}, fmt.Errorf("the store answered %s %s", status, reply.Header.Get("Description"))
	}
}

// whole returns ErrDamaged if the campaign's stream is known to have lost its end.
func (j *jetStream) whole(ctx context.Context, campaign string) error {
	p := PartitionOf(campaign, j.layout.partitions)
	if _, err := j.state(ctx, p); err != nil {
		return err
	}
	if why := j.writers[p].halted.Load(); why != nil && errors.Is(*why, ErrDamaged) {
		return *why
	}
	return nil
}

// none returns ErrDamaged if the stream counts commits of a campaign of which it
// found none.
func (j *jetStream) none(ctx context.Context, campaign string) error {
	p := PartitionOf(campaign, j.layout.partitions)
	info, err := j.info(ctx, p, j.layout.subject(campaign))
	if err != nil {
		return err
	}
	if n := info.State.Subjects[j.layout.subject(campaign)]; n > 0 {
		return j.unreadable(campaign, fmt.Sprintf("%d commits, of which none can be read", n))
	}
	return nil
}

// unreadable is the error about commits that the store counts and does not give. A
// server that has stopped writing counts the one that it could not write, too, which
// nobody was told is stored: ErrFull, until it is started anew.
func (j *jetStream) unreadable(campaign, what string) error {
	if j.writeError != nil {
		if why := j.writeError(j.layout.stream(campaign)); why != nil {
			return fmt.Errorf("%w: %w", ErrFull, why)
		}
	}
	return fmt.Errorf("%w: campaign %s: %s", ErrDamaged, campaign, what)
}

// First implements Journal.
func (j *jetStream) First(ctx context.Context, campaign string) (Commit, error) {
	var first Commit
	stop := errors.New("enough")
	err := j.read(ctx, campaign, 0, 1, func(c Commit) error { first = c; return stop })
	switch {
	case err == nil:
		return Commit{}, fmt.Errorf("%w: campaign %s", ErrNotFound, campaign)
	case err != stop:
		return Commit{}, err
	}
	return first, nil
}

// campaignList is a cache of all campaign ids. A campaign never vanishes, so a list
// as long as the stream has subjects is the right one.
type campaignList struct {
	mu     sync.Mutex
	lists  [][]string // sorted ids by partition, nil until asked for; guarded by mu
	merged []string   // all of them sorted, nil when a list has changed; guarded by mu
}

// add notes a campaign of which this process stored the first commit.
func (l *campaignList) add(campaign string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := PartitionOf(campaign, len(l.lists))
	if l.lists[p] == nil {
		return
	}
	at, found := slices.BinarySearch(l.lists[p], campaign)
	if !found {
		l.lists[p] = slices.Insert(l.lists[p], at, campaign)
		l.merged = nil
	}
}

// Campaigns implements Journal. The list is loaded at the first call and again for
// a partition in which another process has begun campaigns.
func (j *jetStream) Campaigns(ctx context.Context, after string, limit int) ([]string, error) {
	l := &j.campaigns
	for p := range j.layout.partitions {
		state, err := j.state(ctx, p)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		known := l.lists[p] != nil && uint64(len(l.lists[p])) >= state.NumSubjects
		l.mu.Unlock()
		if known {
			continue
		}
		ids, err := j.subjects(ctx, p)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		if len(ids) > len(l.lists[p]) || l.lists[p] == nil {
			l.lists[p], l.merged = ids, nil
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.merged == nil {
		l.merged = slices.Sorted(slices.Values(slices.Concat(l.lists...)))
	}
	return pageOf(l.merged, after, limit), nil
}

// subjects returns the sorted campaign ids of a partition, never nil, when their
// first commits are durable.
func (j *jetStream) subjects(ctx context.Context, p int) ([]string, error) {
	info, err := j.info(ctx, p, subjectPrefix(p)+"*")
	if err != nil {
		return nil, err
	}
	if err := j.writers[p].settled(ctx, info.State.LastSeq); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		ids = append(ids, strings.TrimPrefix(subject, subjectPrefix(p)))
	}
	slices.Sort(ids)
	return ids, nil
}

// info returns what the server says of a partition's stream, and how many messages
// there are of each subject that the filter matches.
func (j *jetStream) info(ctx context.Context, p int, filter string) (*jetstream.StreamInfo, error) {
	stream, err := j.js.Stream(ctx, streamName(p))
	if err != nil {
		return nil, fmt.Errorf("journal: stream %s: %w", streamName(p), err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, fmt.Errorf("journal: stream %s: %w", streamName(p), err)
	}
	return info, nil
}
