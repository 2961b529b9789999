package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tallystick/events/journal"
)

// piece is one commit of the union of an archive and a journal.
type piece struct {
	campaign  string
	partition int
	era       int    // how often the stream's numbers had begun anew before it
	seq       uint64 // order is by era, then seq
	n         int64
	records   int
	sum       hash
	segment   string // empty: not in the archive
	offset    int64
	stream    *journal.Commit // set if only the journal has it, or it is not certain what the archive has
	orphan    bool            // archived under a number that the stream has used anew
	unproven  bool            // of its line in the archive only the payload is certain
}

func (p *piece) compare(q *piece) int {
	return cmp.Or(cmp.Compare(p.era, q.era), cmp.Compare(p.seq, q.seq))
}

// merged is the union, campaign by campaign, as far as each is whole.
type merged struct {
	health     journal.Health
	partitions int
	eras       [][]uint64          // by partition: after which number each era begins
	archived   map[string][]*piece // by campaign, in the archive's order
	chosen     map[string][]*piece // by campaign, n without a gap from 0 on
	findings   []Finding
	damage     []Damage
	commits    uint64
	end        state // of the archive
}

// merge reads an archive and a journal and joins them.
func merge(ctx context.Context, j journal.Journal, dir string, until *Position) (*merged, error) {
	health := j.Health(ctx)
	if !health.Reachable {
		return nil, errUnreachable
	}
	m := &merged{
		health: health, partitions: len(health.Partitions), eras: make([][]uint64, journal.MaxPartitions),
		archived: map[string][]*piece{}, chosen: map[string][]*piece{}, end: newState(),
	}
	for p := range m.eras {
		m.eras[p] = []uint64{0}
	}
	if err := scanLines(ctx, dir, until, m.line, func(d Damage) { m.damage = append(m.damage, d) }); err != nil {
		return nil, err
	}
	if made := m.end.partitions; made != 0 && made != m.partitions {
		return nil, otherPartitions(made, m.partitions)
	}
	known, err := j.Campaigns(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(known, slices.Collect(maps.Keys(m.archived)))
	slices.Sort(all)
	for _, campaign := range slices.Compact(all) {
		stored, err := m.stored(ctx, j, campaign)
		if err != nil {
			return nil, fmt.Errorf("archive: compare campaign %s: %w", campaign, err)
		}
		m.join(campaign, stored)
		m.archived[campaign] = nil // only what was chosen is kept
	}
	return m, nil
}

// line takes one line of the archive.
func (m *merged) line(l *line, e Entry) error {
	m.end.take(l)
	eras := &m.eras[l.partition]
	switch l.word {
	case wordRewound:
		*eras = append(*eras, l.to)
		for _, pieces := range m.archived {
			for _, p := range pieces {
				p.orphan = p.orphan || p.partition == l.partition && p.seq > l.to
			}
		}
	case wordCommit:
		m.archived[e.Campaign] = append(m.archived[e.Campaign], &piece{
			campaign: e.Campaign, partition: l.partition, era: len(*eras) - 1, seq: l.from,
			n: l.n, records: l.records, sum: l.sum, segment: e.Segment, offset: e.Offset, unproven: l.unproven,
		})
	}
	return nil
}

// eraOf is the era of a number that the stream holds now.
func (m *merged) eraOf(partition int, seq uint64) int {
	eras := m.eras[partition]
	for era := len(eras) - 1; era > 0; era-- {
		if seq > eras[era] {
			return era
		}
	}
	return 0
}

// stored reads what the journal can read of a campaign. Where it cannot, the
// archive's numbers say where to go on.
func (m *merged) stored(ctx context.Context, j journal.Journal, campaign string) ([]*piece, error) {
	partition := journal.PartitionOf(campaign, m.partitions)
	doubt := slices.ContainsFunc(m.archived[campaign], func(p *piece) bool { return p.unproven })
	inArchive := map[uint64]hash{}
	var numbers []uint64
	for _, p := range m.archived[campaign] {
		if !p.orphan {
			inArchive[p.seq] = p.sum
			numbers = append(numbers, p.seq)
		}
	}
	slices.Sort(numbers)
	var stored []*piece
	position := uint64(0)
	for {
		err := j.Read(ctx, campaign, position, func(c journal.Commit) error {
			position = c.Seq
			p := &piece{
				campaign: campaign, partition: partition, era: m.eraOf(partition, c.Seq), seq: c.Seq,
				n: -1, records: countRecords(c.Payload), sum: hashOf(c.Payload),
			}
			if _, n, ok := firstRecord(c.Payload); ok {
				p.n = n
			}
			if sum, ok := inArchive[c.Seq]; !ok || sum != p.sum || doubt {
				p.stream = &c
			}
			stored = append(stored, p)
			return nil
		})
		if err == nil {
			return stored, nil
		}
		if !errors.Is(err, journal.ErrDamaged) {
			return nil, err
		}
		next, _ := slices.BinarySearch(numbers, position+1)
		if next == len(numbers) {
			return stored, nil
		}
		position = numbers[next]
	}
}

// join chooses the commits of a campaign, from n 0 on, as long as one follows
// the other, and notes what is not in both places alike.
func (m *merged) join(campaign string, stored []*piece) {
	partition := journal.PartitionOf(campaign, m.partitions)
	note := func(kind Kind, n int64, records int64, p *piece) { m.note(kind, campaign, partition, n, records, p) }
	held, clash := byNumber(m.archived[campaign])
	if clash != nil {
		note(Forked, clash.n, int64(clash.records), clash)
	}
	live, clashLive := byNumber(stored)
	if clashLive != nil {
		note(Forked, clashLive.n, int64(clashLive.records), clashLive)
	}
	numbers := slices.Concat(slices.Collect(maps.Keys(held)), slices.Collect(maps.Keys(live)))
	slices.Sort(numbers)
	expected := int64(0)
	var last *piece
	for _, n := range slices.Compact(numbers) {
		a, s := held[n], live[n]
		p := cmp.Or(a, s)
		if a != nil && a.unproven && s != nil && a.sum == s.sum {
			p = s // what else its line says may be wrong
		}
		m.commits++
		switch {
		case n < 0:
			note(Unreadable, -1, 0, p)
			return
		case n > expected:
			note(Lost, expected, n-expected, nil)
			return
		case n < expected, a != nil && s != nil && a.sum != s.sum, last != nil && last.compare(p) >= 0,
			clash != nil && n >= clash.n, clashLive != nil && n >= clashLive.n:
			note(Forked, n, int64(p.records), p)
			return
		case s == nil:
			note(NotInJournal, n, int64(p.records), p)
		case a == nil && s.seq > m.end.at[partition].seq:
			note(NotCopied, n, int64(p.records), p)
		case a == nil:
			note(NotInArchive, n, int64(p.records), p)
		}
		m.chosen[campaign] = append(m.chosen[campaign], p)
		expected, last = n+int64(p.records), p
	}
}

// byNumber maps pieces by the number of their first record. A clash is one of
// two that have the same number and other bytes.
func byNumber(pieces []*piece) (by map[int64]*piece, clash *piece) {
	by = make(map[int64]*piece, len(pieces))
	for _, p := range pieces {
		first := by[p.n]
		switch {
		case first == nil:
			by[p.n] = p
		case first.sum != p.sum:
			if clash == nil || p.n < clash.n {
				clash = p
			}
		}
	}
	return by, clash
}

// note adds to the findings; what continues the last one is joined to it.
func (m *merged) note(kind Kind, campaign string, partition int, n, records int64, p *piece) {
	f := Finding{Kind: kind, Campaign: campaign, Partition: partition, N: n, Records: records}
	if p != nil {
		f.Seq, f.Commits = p.seq, 1
	}
	if k := len(m.findings) - 1; k >= 0 {
		last := &m.findings[k]
		if last.Kind == kind && last.Campaign == campaign && last.N+last.Records == n {
			last.Records += records
			last.Commits += f.Commits
			return
		}
	}
	m.findings = append(m.findings, f)
}

// order lists the chosen commits of a partition as they are to be appended.
func (m *merged) order(partition int) []*piece {
	var pieces []*piece
	for campaign, chosen := range m.chosen {
		if journal.PartitionOf(campaign, m.partitions) == partition {
			pieces = append(pieces, chosen...)
		}
	}
	slices.SortFunc(pieces, (*piece).compare)
	return pieces
}
