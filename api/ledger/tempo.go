package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // every machine knows the time zones

	"github.com/google/uuid"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/tempo"
)

// TempoBucket has a key for every campaign whose clock may follow the one on
// the wall, and the lease of the node that sees to it.
const TempoBucket = "TEMPO"

// following is what a node remembers of a campaign whose clock follows the one
// on the wall. All of it can be found out anew.
type following struct {
	at      string        // moment on the wall up to which the clock has followed
	ran     time.Duration // what Elapsed showed at that moment
	looked  int64         // records that the outlook is of
	outlook tempo.Outlook
	idle    int64     // records with which there is nothing to do
	until   time.Time // before this moment, reckoned on from at
	stuck   string    // why no time passes, as it was logged last
}

// moment is now. What has passed since the clock was followed last is reckoned
// by a clock that nobody can move, except over a restart and from another
// node: then by the clocks on the wall.
func (l *Ledger) moment(e *entry) tempo.Moment {
	now, ran := l.cfg.Now().UTC().Truncate(time.Millisecond), l.cfg.Elapsed()
	if f := &e.tempo; f.at != e.state.Tempo.At {
		passed := now.Sub(tempo.Since(e.state))
		if before := l.begun.Sub(tempo.Since(e.state)); before > 0 { // what came after no clock on the wall is asked
			passed = before + ran - l.ranThen
		}
		f.at, f.ran = e.state.Tempo.At, ran-max(0, passed)
	}
	return tempo.Moment{At: now, Passed: (ran - e.tempo.ran).Truncate(time.Millisecond)}
}

// settle brings the clock to where it belongs before a command is decided, if
// the command is a new one that its giver may give. That it cannot be is no
// reason to refuse the command.
func (l *Ledger) settle(ctx context.Context, e *entry, cmd rules.Command) error {
	if e.state.Tempo == nil {
		return nil
	}
	if _, known := e.state.Known(cmd.ID); known || e.state.May(cmd) != nil {
		return nil
	}
	return l.unlessStuck(e, l.follow(ctx, e))
}

// follow lets game time pass until it is what it should be now.
func (l *Ledger) follow(ctx context.Context, e *entry) error {
	for range maxAttempts {
		if err := l.finish(e); err != nil {
			return err
		}
		if !e.state.Tempo.Running() {
			return nil
		}
		pace, err := paceOf(e.state.Tempo)
		if err != nil {
			return err
		}
		m := l.moment(e)
		d := tempo.Follow(e.state, pace, m)
		if d == nil {
			return nil
		}
		due := e.state.Clock + d.Seconds
		if next := tempo.Next(e.state); next != nil && next.At < due {
			due = next.At
		}
		if err := l.byItself(ctx, e, rules.FollowType, due, d); err != nil {
			return err
		}
		if t := e.state.Tempo; t != nil && t.At == d.At {
			e.tempo.at, e.tempo.ran = d.At, e.tempo.ran+m.Passed
		}
	}
	return fmt.Errorf("campaign %s: the clock does not come to where it belongs", e.campaign)
}

// byItself gives a command that time asks for. Its id follows from the
// campaign, what is due, and the ledger so far, so that two nodes, or one before
// and after a crash, give one and the same, and nobody can use it up before. That
// another node was faster is as good.
func (l *Ledger) byItself(ctx context.Context, e *entry, typ string, due int64, d any) error {
	space, err := uuid.Parse(e.campaign)
	if err != nil {
		return err
	}
	data, err := rules.Canonical(d)
	if err != nil {
		return err
	}
	id := uuid.NewSHA1(space, fmt.Appendf(nil, "%s due %d after %x", typ, due, e.tree.Root()))
	_, err = l.execute(ctx, e, rules.Command{ID: id.String(), By: rules.SystemPrincipal, Type: typ, Data: data})
	var no *rules.Rejection
	if errors.Is(err, ErrReused) || errors.As(err, &no) && no.Code == rules.CodeFollowed {
		return nil
	}
	return err
}

// unlessStuck keeps the rules' refusal to let time pass from being an error.
// It is logged once, and time stands still until what is in the way is done
// with.
func (l *Ledger) unlessStuck(e *entry, err error) error {
	var no *rules.Rejection
	var unknown *rules.Invalid
	if !errors.As(err, &no) && !errors.As(err, &unknown) {
		if err == nil {
			e.tempo.stuck = ""
		}
		return err
	}
	if why := err.Error(); e.tempo.stuck != why {
		e.tempo.stuck = why
		l.cfg.Log.Warn("the clock cannot follow the one on the wall", "campaign", e.campaign, "reason", why)
	}
	return nil
}

// outlook is what lies ahead of the campaign as it stands.
func (e *entry) outlook() tempo.Outlook {
	if e.tempo.looked != e.state.Next {
		e.tempo.looked, e.tempo.outlook = e.state.Next, tempo.Look(e.state, e.tempo.outlook)
	}
	return e.tempo.outlook
}

// Tick does for a campaign what the passing of time asks for by now: checks
// that are due are decided, in their order and with one advance of the clock,
// and those that could kill somebody are announced. It reports whether the
// clock follows the one on the wall.
func (l *Ledger) Tick(ctx context.Context, campaign string) (running bool, err error) {
	err = l.write(ctx, campaign, func(e *entry) error {
		if err := l.catchUpFrom(ctx, e); err != nil { // another node may have gone on
			e.stale = true
			return err
		}
		err := l.unlessStuck(e, l.tick(ctx, e))
		running = e.state.Tempo.Running()
		return err
	})
	return running, err
}

func (l *Ledger) tick(ctx context.Context, e *entry) error {
	for range maxAttempts {
		if err := l.finish(e); err != nil {
			return err
		}
		if !e.state.Tempo.Running() {
			return nil
		}
		pace, err := paceOf(e.state.Tempo)
		if err != nil {
			return err
		}
		m := l.moment(e)
		since := tempo.Since(e.state)
		if e.tempo.idle == e.state.Next && since.Add(m.Passed).Before(e.tempo.until) && !m.Moved(since) {
			return nil
		}
		switch plan := tempo.Make(e.state, e.outlook(), pace, m); {
		case plan.Warn != nil:
			err = l.byItself(ctx, e, rules.WarnType, plan.Warn.Due, plan.Warn)
		case plan.Follow != nil:
			err = l.follow(ctx, e)
		default:
			e.tempo.idle, e.tempo.until = e.state.Next, plan.Next
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Following is how a campaign's clock follows the one on the wall, now.
type Following struct {
	Tempo   *rules.Tempo // nil: it does not
	Pace    tempo.Pace
	Now     time.Time // on the wall, in the time zone of the quiet hours
	Clock   int64     // game time, with what has passed since the last record
	Outlook tempo.Outlook
	// When is when on the wall it is a game time; zero: not within tempo.Horizon,
	// or the clock does not run.
	When  func(clock int64) time.Time
	Stuck string // why no time passes although it should
}

// Following looks at how a campaign's clock follows the one on the wall.
func (l *Ledger) Following(ctx context.Context, campaign string) (f Following, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		if err := l.catchUpFrom(ctx, e); err != nil {
			e.stale = true
			return err
		}
		f = Following{
			Tempo: e.state.Tempo, Now: l.cfg.Now().UTC(), Clock: e.state.Clock, Outlook: e.outlook(), Stuck: e.tempo.stuck,
			When: func(int64) time.Time { return time.Time{} },
		}
		if f.Tempo == nil {
			return nil
		}
		if f.Pace, err = paceOf(f.Tempo); err != nil {
			return err
		}
		f.Now = f.Now.In(f.Pace.Zone())
		if !f.Tempo.Running() {
			return nil
		}
		f.Clock = tempo.Now(e.state, f.Pace, l.moment(e))
		since, from, carry := tempo.Since(e.state), f.Tempo.From, f.Tempo.Carry
		f.When = func(clock int64) time.Time { return f.Pace.When(since, clock-from, carry) }
		return nil
	})
	return f, err
}

// tying executes a command, and notes for the ticker if the campaign's clock
// may follow the one on the wall from it on: before, so that a crash loses no
// note, and after, because the ticker may have found in between that the clock
// does not follow.
func (l *Ledger) tying(ctx context.Context, e *entry, cmd rules.Command, execute func() error) error {
	if cmd.Type != "tempo.set" && cmd.Type != "tempo.resume" || e.state.May(cmd) != nil {
		return execute()
	}
	if err := l.note(ctx, e.campaign); err != nil {
		return err
	}
	if err := execute(); err != nil || !e.state.Tempo.Running() {
		return err
	}
	l.moment(e) // from here on nobody can move the clock unnoticed
	return l.note(ctx, e.campaign)
}

func (l *Ledger) note(ctx context.Context, campaign string) error {
	if _, err := l.tempos.Put(ctx, campaign, []byte("{}")); err != nil {
		return fmt.Errorf("campaign %s: note for the ticker: %w", campaign, err)
	}
	return nil
}

// paceOf is the pace of a tempo. A time zone that this machine does not know
// is an *rules.Invalid.
func paceOf(t *rules.Tempo) (tempo.Pace, error) {
	if t.Quiet == nil {
		return tempo.PaceOf(t.TempoSet, time.UTC), nil
	}
	zone, err := zoneOf(t.Quiet)
	return tempo.PaceOf(t.TempoSet, zone), err
}

var zones sync.Map // *time.Location by name

func zoneOf(q *events.Quiet) (*time.Location, error) {
	if zone, known := zones.Load(q.Zone); known {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(q.Zone)
	if err != nil || q.Zone == "" || q.Zone == "Local" {
		return nil, &rules.Invalid{Field: "quiet.zone", Reason: fmt.Sprintf("is %q: must be the name of a time zone, such as Europe/Berlin or UTC", q.Zone)}
	}
	zones.Store(q.Zone, zone)
	return zone, nil
}

// checkZone refuses a tempo in a time zone that there is not. The rules have
// no list of them.
func checkZone(cmd rules.Command) error {
	var d rules.TempoSet
	if rules.Unmarshal(cmd.Data, &d) != nil || d.Quiet == nil {
		return nil // said elsewhere
	}
	_, err := zoneOf(d.Quiet)
	return err
}
