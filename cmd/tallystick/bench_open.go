package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"tallystick/api/ledger"
	"tallystick/events/journal"
	"tallystick/projections"
	"tallystick/projections/feed"
)

// open measures a cold campaign of 1,000 events among 100,000 campaigns, and the
// start of the program on such a folder against that of nats-server alone.
func (b *bench) open() (err error) {
	s, err := b.stage()
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, s.close())
		}
	}()
	played, err := ledger.OpenSnapshots(b.ctx, s.journal, benchKeys, version())
	if err != nil {
		return err
	}
	cold := make([]string, b.trials)
	if err := together(len(cold), func(i int) (err error) {
		cold[i], err = b.thousand(s, played)
		return err
	}); err != nil {
		return err
	}
	crowd := b.scale(100_000)
	if err := b.populate(s, crowd, cold[0]); err != nil {
		return err
	}
	// Another program sees no snapshot of this one's: it reads the campaign from its
	// first record on, and then has one of its own.
	updated, err := ledger.OpenSnapshots(b.ctx, s.journal, benchKeys, version()+" updated")
	if err != nil {
		return err
	}
	var opens [3][]float64
	for _, campaign := range cold {
		for i, snapshots := range []*journal.Shelf{played, updated, updated} {
			took, err := b.openCold(s, snapshots, campaign, 1000)
			if err != nil {
				return err
			}
			opens[i] = append(opens[i], took)
		}
	}
	closed = true
	if err := s.close(); err != nil {
		return err
	}
	work := fmt.Sprintf("among %d campaigns", crowd)
	for i, row := range []string{"open: a cold campaign of 1,000 events", "open: the same, from its first record", "open: the same, from a snapshot of all"} {
		if err := b.report(alone(opens[i], benchRow{Row: row, Reach: 15, AtMost: true, Unit: "ms", Work: work, Against: "–"})); err != nil {
			return err
		}
	}
	return b.start(s.dir, crowd)
}

// openCold opens a campaign of so many records in a ledger that knows nothing of it,
// and says how many milliseconds that took.
func (b *bench) openCold(s *stage, snapshots *journal.Shelf, campaign string, records int64) (took float64, err error) {
	l, err := ledger.New(b.ctx, ledger.Config{Journal: s.journal, Library: library(), Keys: benchKeys, Server: "bench.example", Snapshots: snapshots})
	if err != nil {
		return 0, err
	}
	defer l.Close() // by its end the snapshot is kept
	begun := time.Now()
	size, err := l.Size(b.ctx, campaign)
	took = micros(begun) / 1e3
	if err == nil && size != records {
		err = fmt.Errorf("the campaign has %d records", size)
	}
	return took, err
}

// thousand is a campaign of exactly 1,000 events as a game leaves it at the worst:
// its snapshot has 751 of them, and with one more there would be the next.
func (b *bench) thousand(s *stage, snapshots *journal.Shelf) (campaign string, err error) {
	if campaign, _, err = s.table(b.ctx, 10); err != nil {
		return "", err
	}
	if err := b.rollTo(s, campaign, 751); err != nil {
		return "", err
	}
	if _, err := b.openCold(s, snapshots, campaign, 751); err != nil { // keeps it
		return "", err
	}
	return campaign, b.rollTo(s, campaign, 1000)
}

// rollTo plays a campaign until it has so many records.
func (b *bench) rollTo(s *stage, campaign string, records int64) error {
	for {
		size, err := s.Size(b.ctx, campaign)
		if err != nil || size == records {
			return err
		}
		if _, err := s.give(b.ctx, campaign, newCommand("roll", `{"expression":"3d6kh2+1"}`)); err != nil {
			return err
		}
	}
}

// populate stores the first commit of many campaigns: the bytes of one, as only
// their number counts here.
func (b *bench) populate(s *stage, crowd int, model string) error {
	first, err := s.journal.First(b.ctx, model)
	if err != nil {
		return err
	}
	const writers = 1000
	return together(min(writers, crowd), func(i int) error {
		for k := i; k < crowd; k += writers {
			id := uuid.Must(uuid.NewV7()).String()
			if _, err := s.journal.Append(b.ctx, journal.Entry{Campaign: id, ID: id, Payload: first.Payload}); err != nil {
				return err
			}
		}
		return nil
	})
}

// start measures opening a folder, until a command would be taken.
func (b *bench) start(dir string, crowd int) error {
	var p pairs
	for range b.trials {
		begun := time.Now()
		bare, err := server.NewServer(&server.Options{JetStream: true, StoreDir: filepath.Join(dir, "journal", "store"), DontListen: true, SyncAlways: true, NoSigs: true})
		if err != nil {
			return err
		}
		go bare.Start()
		if !bare.ReadyForConnections(time.Minute) {
			return errors.New("nats-server did not start")
		}
		theirs := micros(begun) / 1e3
		info, err := bare.Jsz(nil)
		bare.Shutdown()
		bare.WaitForShutdown()
		if err != nil {
			return err
		}
		begun = time.Now()
		j, err := journal.Embedded(b.ctx, journal.Options{Dir: filepath.Join(dir, "journal")})
		if err != nil {
			return err
		}
		hub := feed.NewHub(j)
		err = hub.Start(b.ctx)
		if err == nil {
			_, err = ledger.New(b.ctx, ledger.Config{Journal: j, Library: library(), Keys: benchKeys, Server: "bench.example", Committed: hub.Notify})
		}
		ours := micros(begun) / 1e3
		streams := j.Health(b.ctx).Partitions
		hub.Close()
		if err := errors.Join(err, j.Close()); err != nil {
			return err
		}
		var ledger uint64
		for _, p := range streams {
			ledger += p.Messages
		}
		// The bucket of the vault is empty, that of snapshots has one of each cold
		// campaign.
		if ledger == 0 || ledger+uint64(b.trials) != info.Messages {
			return fmt.Errorf("no ratio: %d messages in the ledger, nats-server alone found %d", ledger, info.Messages)
		}
		p.add(ours, theirs)
	}
	return b.report(p.row(benchRow{
		Row: "open: start of the program", Unit: "ms", Against: "nats-server alone on the same folder",
		Work: fmt.Sprintf("a ledger of %d campaigns", crowd),
	}))
}

// memory measures what warm campaigns hold: folded, as at a table that plays.
func (b *bench) memory() (err error) {
	warm := b.scale(10_000)
	s, err := b.stage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	campaigns := make([]string, warm)
	if err := few(warm, func(i int) (err error) {
		campaigns[i], err = b.small(s)
		return err
	}); err != nil {
		return err
	}
	s.Ledger.Close()
	var each []float64
	for range min(b.trials, 3) {
		l, err := ledger.New(b.ctx, ledger.Config{Journal: s.journal, Library: library(), Keys: benchKeys, Server: "bench.example"})
		if err != nil {
			return err
		}
		hub := feed.NewHub(s.journal)
		if err := hub.Start(b.ctx); err != nil {
			return err
		}
		before := heap()
		if err := few(warm, func(i int) error { return warmUp(b.ctx, l, hub, campaigns[i]) }); err != nil {
			return err
		}
		after := heap()
		each = append(each, (float64(after)-float64(before))/float64(warm)/1024)
		if health := hub.Health(); health.Loaded != warm {
			return fmt.Errorf("%d campaigns are warm, %d wanted", health.Loaded, warm)
		}
		hub.Close()
		runtime.KeepAlive(l)
	}
	return b.report(alone(each, benchRow{
		Row: "memory: a warm campaign", Reach: 64, AtMost: true, Unit: "KiB", Against: "–",
		Work: fmt.Sprintf("%d campaigns of about 20 records, folded state, dice and views", warm),
	}))
}

// small is a campaign with a session, five people and ten rolls.
func (b *bench) small(s *stage) (campaign string, err error) {
	campaign, _, err = s.table(b.ctx, 5)
	for range 10 {
		if err == nil {
			_, err = s.give(b.ctx, campaign, newCommand("roll", `{"expression":"3d6kh2+1"}`))
		}
	}
	return campaign, err
}

func warmUp(ctx context.Context, l *ledger.Ledger, hub *feed.Hub, campaign string) error {
	roll := newCommand("roll", `{"expression":"3d6kh2+1"}`)
	if _, err := l.Execute(ctx, campaign, roll); err != nil {
		return err
	}
	return hub.View(ctx, campaign, -1, func(*projections.Views) error { return nil })
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
