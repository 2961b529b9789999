package rules

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"tallystick/events"
)

// Limits of an advance.
const (
	// MaxAdvance is the longest advance by one command: a thousand years of
	// 365¼ days, in seconds.
	MaxAdvance = 31_557_600_000
	// MaxTicks is the most ticks one command decides; the clock stops at the
	// last of them.
	MaxTicks = 100_000
)

// ClockAdvance is the data of clock.advance: one of its members.
type ClockAdvance struct {
	Seconds *int64 `json:"seconds,omitzero" minimum:"1" maximum:"31557600000" doc:"how long, in game seconds"`
	By      string `json:"by,omitzero" maxLength:"64" doc:"how long, such as 3d4h: weeks w, days d, hours h, minutes m, seconds s"`
	To      *int64 `json:"to,omitzero" minimum:"1" maximum:"9007199254740991" doc:"until when, in game seconds from the campaign's start"`
}

// ClockResume is the data of clock.resume.
type ClockResume struct {
	Command string `json:"command"`
	Part    int    `json:"part"`
}

func advance(t *Turn, d *ClockAdvance) error {
	to, err := d.target(t.c.Clock)
	if err != nil {
		return err
	}
	return t.advance(t.c.Clock, to, 0, nil)
}

func resume(t *Turn, d *ClockResume) error {
	p := t.c.Pending
	if p == nil || p.Command != d.Command || p.Parts != d.Part {
		return Reject("nothing_pending", "", "no advance of the clock is waiting for this part")
	}
	return t.advance(p.From, p.To, p.Ticks, p.Followed)
}

// target is the game time an advance goes to.
func (d *ClockAdvance) target(now int64) (int64, error) {
	given, field := 0, ""
	var seconds int64
	if d.Seconds != nil {
		given, field, seconds = given+1, "seconds", *d.Seconds
	}
	if d.By != "" {
		given, field = given+1, "by"
		var err error
		if seconds, err = ParseDuration(d.By); err != nil {
			return 0, &Invalid{Field: field, Reason: err.Error()}
		}
	}
	if d.To != nil {
		given, field = given+1, "to"
		if *d.To <= now {
			return 0, Reject("clock_runs_forward", "", "the clock stands at %d already", now).On(field)
		}
		seconds = *d.To - now
	}
	switch {
	case given != 1:
		return 0, &Invalid{Field: "seconds", Reason: "or by or to must be given: exactly one of the three"}
	case seconds > MaxAdvance:
		return 0, &Invalid{Field: field, Reason: fmt.Sprintf("is %d seconds: one command advances at most %d, a thousand years", seconds, int64(MaxAdvance))}
	case seconds > events.MaxInteger-now:
		return 0, &Invalid{Field: field, Reason: "is beyond the end of game time"}
	}
	return now + seconds, nil
}

var (
	duration = regexp.MustCompile(`^(?:\d+[wdhms])+$`)
	part     = regexp.MustCompile(`(\d+)([wdhms])`)
	units    = map[string]int64{"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
)

// ParseDuration reads a span of game time such as 2w3d4h5m6s.
func ParseDuration(s string) (int64, error) {
	if !duration.MatchString(s) {
		return 0, fmt.Errorf("is %s: must be numbers with w, d, h, m or s behind them, such as 3d4h", strconv.Quote(s))
	}
	var sum int64
	for _, m := range part.FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		unit := units[m[2]]
		if err != nil || n > (events.MaxInteger-sum)/unit {
			return 0, fmt.Errorf("is %s: one command advances at most %d seconds, a thousand years", strconv.Quote(s), int64(MaxAdvance))
		}
		sum += n * unit
	}
	if sum == 0 {
		return 0, fmt.Errorf("is %s: must be longer than nothing", strconv.Quote(s))
	}
	return sum, nil
}

// dueTick is a tick in the queue of an advance.
type dueTick struct {
	Tick
	character string
}

func (a dueTick) compare(b dueTick) int {
	return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.character, b.character), cmp.Compare(a.Ordinal, b.Ordinal))
}

// agenda is a heap of the next tick of every character.
type agenda []dueTick

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].compare(a[j]) < 0 }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(dueTick)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// advance lets time pass from where the clock stands to a target, and decides
// what falls due on the way in the order (due time, character id, ordinal).
// When the commit is full it stops, and the next part goes on. When it is the
// wall clock that is followed, it stops before a tick that nobody may have seen
// coming (see holds).
func (t *Turn) advance(from, to int64, ticks int, followed *events.Followed) error {
	t.end()
	due := t.agenda()
	start := len(t.facts)
	for len(due) > 0 && due[0].Due <= to {
		if ticks == MaxTicks {
			t.Emit(&events.ClockAdvanced{From: from, To: t.c.Clock, Ticks: ticks, Stopped: fmt.Sprintf("after %d ticks", MaxTicks), Followed: followed})
			return nil
		}
		if t.full() {
			return t.cut(start, from, to, followed)
		}
		next := due[0]
		if next.Due < t.c.Clock {
			panic(fmt.Sprintf("rules: a tick of %s was due at %d, and it is %d", next.character, next.Due, t.c.Clock))
		}
		if followed != nil && t.holds(next) {
			return t.hold(next, from, ticks, followed)
		}
		if err := t.tick(next, to); err != nil {
			return err
		}
		ticks++
		ch, _ := t.c.Character(next.character)
		if tick, ok := t.c.nextTick(ch); ok {
			due[0].Tick = tick
			heap.Fix(&due, 0)
		} else {
			heap.Pop(&due)
		}
	}
	t.c.Clock = to
	t.Emit(&events.ClockAdvanced{From: from, To: to, Ticks: ticks, Followed: followed})
	return nil
}

func (t *Turn) agenda() agenda {
	var due agenda
	for _, id := range t.c.Characters() {
		ch, _ := t.c.Character(id)
		if tick, ok := t.c.nextTick(ch); ok {
			due = append(due, dueTick{tick, id})
		}
	}
	heap.Init(&due)
	return due
}

// needsSession says why letting time pass needs one.
func needsSession(err error) error {
	var no *Rejection
	if errors.As(err, &no) && no.Code == noSession {
		return Reject(noSession, "", "checks fall due on the way that need dice: open a session first (session.open; kind downtime will do)")
	}
	return err
}

func (t *Turn) tick(next dueTick, to int64) error {
	t.c.Clock = max(t.c.Clock, next.Due)
	t.begin(SystemPrincipal)
	if t.again != nil {
		t.scope.given = t.again.Tick(next.character, next.Tick)
	}
	before := len(t.facts)
	ch, _ := t.c.Character(next.character)
	t.c.Book.DecideTick(t, ch, next.Tick)
	if t.err == nil && len(t.facts) == before {
		panic("rules: a tick of " + next.character + " made no event")
	}
	t.end()
	if t.err != nil || t.again != nil {
		t.err = needsSession(t.err)
		return t.err
	}
	for i := before; i < len(t.facts); i++ {
		if err := t.writer.Encode(&t.facts[i]); err != nil {
			return err
		}
		t.bytes += len(t.facts[i].Data) + recordOverhead
	}
	return nil
}

// recordOverhead is more than a record holds beside its event's data.
const recordOverhead = 400

// full reports whether one more tick might not fit into the commit: room is
// kept for a tick's roll, its consequences, a renewal of the lane and the end.
func (t *Turn) full() bool {
	if t.again != nil {
		return false // it is not stored
	}
	return len(t.facts) > events.MaxCommitEvents-32 || t.bytes > events.MaxCommitBytes-64<<10
}

// cut ends a commit in the middle of an advance. The first one says where the
// advance goes.
func (t *Turn) cut(start int, from, to int64, followed *events.Followed) error {
	if t.cmd.Dice != nil {
		return Reject("too_long_by_hand", "", "so many ticks fall due that they take more than one commit: advance in shorter steps when dice are typed in").On("dice")
	}
	if t.c.Session == nil {
		return Reject(noSession, "", "so much falls due that it takes more than one commit: open a session first (session.open, kind downtime)")
	}
	if t.c.Pending == nil {
		begun := events.Fact{Clock: from, Event: &events.ClockAdvancing{From: from, To: to, Followed: followed}}
		t.facts = slices.Insert(t.facts, start, begun)
	}
	return nil
}
