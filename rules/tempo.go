package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"tallystick/events"
)

// Commands by which the program lets a clock follow the one on the wall.
const (
	FollowType = "clock.follow"
	WarnType   = "tempo.warn"
)

// Limits of a tempo.
const (
	// MaxTempo is how many times faster than the wall clock game time may run.
	MaxTempo = 1_000
	// MaxTempoSpan is the longest span that a ratio may name, and the longest
	// warning, in seconds: 366 days.
	MaxTempoSpan = 366 * 86_400
	// defaultWarn is how long ahead a lethal check is announced, in seconds.
	defaultWarn = 86_400
)

// PlayByPost is the kind of session in which a clock can follow the one on the
// wall.
const PlayByPost = "play-by-post"

// Tempo is how a campaign's clock follows the one on the wall. Values of it
// are never changed.
type Tempo struct {
	events.TempoSet
	Paused bool
	Held   *events.TempoHeld // nil: not held
	// At is the moment on the wall, in events.TimeFormat, at which it was From
	// in the game, and Carry/(1000 × Wall) of a game second more.
	At    string
	From  int64
	Carry int64
	// Seen are characters whose danger a game master has let happen, Warned
	// when the check is due that a character was warned of. Both are forgotten
	// with the next wound.
	Seen   map[string]bool
	Warned map[string]int64
}

// Running reports whether game time passes by itself.
func (t *Tempo) Running() bool { return t != nil && !t.Paused && t.Held == nil }

// keepTempo keeps the tempo up with a fact, before the fact is applied.
func (c *Campaign) keepTempo(clock int64, e events.Event) {
	if set, ok := e.(*events.TempoSet); ok {
		c.Tempo = &Tempo{TempoSet: *set, From: c.Clock}
		return
	}
	if c.Tempo == nil {
		return
	}
	t := *c.Tempo
	switch e := e.(type) {
	case *events.SessionClosed:
		c.Tempo = nil
		return
	case *events.TempoPaused:
		t.Paused = true
	case *events.TempoResumed:
		if t.Held != nil {
			t.Seen = with(t.Seen, t.Held.Character, true)
		}
		t.Paused, t.Held, t.From, t.Carry = false, nil, c.Clock, 0
	case *events.TempoHeld:
		t.Held = e
	case *events.TempoWarned:
		t.Warned = with(t.Warned, e.Character, e.Due)
	case *events.WoundInflicted:
		t.Seen, t.Warned = without(t.Seen, e.Character), without(t.Warned, e.Character)
	case *events.ClockAdvanced:
		switch {
		case e.Followed == nil: // somebody put the clock on
			t.From += e.To - e.From
		case e.Stopped == "":
			t.At, t.From, t.Carry = e.Followed.At, e.To, e.Followed.Carry
		}
	case *events.CorrectionMade:
		t.From += clock - e.From
	default:
		return
	}
	c.Tempo = &t
}

func with[V any](m map[string]V, key string, v V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

func without[V any](m map[string]V, key string) map[string]V {
	if _, there := m[key]; !there {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// TempoSet is the data of tempo.set.
type TempoSet struct {
	Game  string        `json:"game" maxLength:"64" doc:"how much game time passes, such as 1h: weeks w, days d, hours h, minutes m, seconds s"`
	Wall  string        `json:"wall" maxLength:"64" doc:"in how much time on the wall, such as 1d for a day of posts"`
	Quiet *events.Quiet `json:"quiet,omitzero" doc:"hours and days at which no game time passes"`
	Warn  string        `json:"warn,omitzero" maxLength:"64" doc:"how long ahead, on the wall, a check is announced that could kill somebody; none: not at all; left out: 1d"`
	Hold  string        `json:"hold,omitzero" enum:"pc,none" doc:"pc, or left out: the clock stops before a check that could kill a player character, until tempo.resume; none: it does not"`
}

func setTempo(t *Turn, d *TempoSet) error {
	set := &events.TempoSet{Quiet: d.Quiet, Warn: defaultWarn, Hold: events.HoldPC}
	var err error
	if set.Game, err = tempoSpan("game", d.Game); err != nil {
		return err
	}
	if set.Wall, err = tempoSpan("wall", d.Wall); err != nil {
		return err
	}
	if set.Game > MaxTempo*set.Wall {
		return &Invalid{Field: "game", Reason: fmt.Sprintf("is %s in %s: game time runs at most %d times as fast as the wall clock", d.Game, d.Wall, MaxTempo)}
	}
	if err := checkQuiet(d.Quiet); err != nil {
		return within("quiet", err)
	}
	switch d.Warn {
	case "":
	case "none":
		set.Warn = 0
	default:
		if set.Warn, err = tempoSpan("warn", d.Warn); err != nil {
			return err
		}
	}
	if d.Hold != "" {
		set.Hold = d.Hold
	}
	switch s := t.c.Session; {
	case s == nil || s.Kind != PlayByPost:
		return Reject("not_play_by_post", "", "the clock follows the one on the wall in a play-by-post session only: open one first (session.open, kind play-by-post)")
	case s.Open != nil:
		return Reject("seats_open", "", "the seats of the session are still open: checks that fall due need dice (seating.close)")
	}
	t.Emit(set)
	return nil
}

func tempoSpan(field, text string) (int64, error) {
	n, err := ParseDuration(text)
	switch {
	case err != nil:
		return 0, &Invalid{Field: field, Reason: err.Error()}
	case n > MaxTempoSpan:
		return 0, &Invalid{Field: field, Reason: fmt.Sprintf("is %s: must be at most 366 days", text)}
	}
	return n, nil
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// checkQuiet refuses quiet hours that cannot be meant. Whether there is such a
// time zone is for who has a list of them.
func checkQuiet(q *events.Quiet) error {
	switch {
	case q == nil:
		return nil
	case (q.From == "") != (q.To == ""):
		return &Invalid{Field: "to", Reason: "and from belong together"}
	case q.From == "" && len(q.Days) == 0:
		return &Invalid{Field: "from", Reason: "and to, or days, must be given: else nothing is quiet"}
	case q.From != "" && !timeOfDay.MatchString(q.From):
		return &Invalid{Field: "from", Reason: fmt.Sprintf("is %q: must be a time of day such as 22:00", q.From)}
	case q.To != "" && !timeOfDay.MatchString(q.To):
		return &Invalid{Field: "to", Reason: fmt.Sprintf("is %q: must be a time of day such as 07:00", q.To)}
	case q.From != "" && q.From == q.To:
		return &Invalid{Field: "to", Reason: "is the same as from: no time would be left to play in"}
	}
	for i, day := range q.Days {
		if slices.Contains(q.Days[:i], day) {
			return &Invalid{Field: fmt.Sprintf("days.%d", i), Reason: "is named twice"}
		}
	}
	return nil
}

// TempoPause is the data of tempo.pause.
type TempoPause struct {
	Reason string `json:"reason,omitzero" maxLength:"4000"`
}

func pauseTempo(t *Turn, d *TempoPause) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	if err := t.needsTempo(); err != nil {
		return err
	}
	if t.c.Tempo.Paused {
		return Reject("tempo_paused", "", "game time stands still already")
	}
	t.Emit(&events.TempoPaused{Reason: d.Reason})
	return nil
}

// TempoResume is the data of tempo.resume.
type TempoResume struct{}

func resumeTempo(t *Turn, _ *TempoResume) error {
	if err := t.needsTempo(); err != nil {
		return err
	}
	if t.c.Tempo.Running() {
		return Reject("tempo_running", "", "game time passes already")
	}
	t.Emit(&events.TempoResumed{})
	return nil
}

func (t *Turn) needsTempo() error {
	if t.c.Tempo == nil {
		return Reject("no_tempo", "", "the clock does not follow the one on the wall: set a tempo first (tempo.set)")
	}
	return nil
}

// ClockFollow is the data of clock.follow.
type ClockFollow struct {
	Since   string `json:"since"` // moment on the wall up to which the wall clock was followed before
	Seconds int64  `json:"seconds" minimum:"0" maximum:"31557600000"`
	events.Followed
}

// CodeFollowed is the code of a clock.follow that came too late: the clock was
// followed from that moment already, or does not follow any more.
const CodeFollowed = "followed_already"

// follow lets time pass as it has on the wall. What that is says who has a
// clock; here counts that no time passes twice.
func follow(t *Turn, d *ClockFollow) error {
	// When a command is decided again apart from the ledger, time is as it was.
	if t.again == nil && (!t.c.Tempo.Running() || t.c.Tempo.At != d.Since) {
		return Reject(CodeFollowed, "", "the wall clock was followed from %s already", d.Since)
	}
	if d.Seconds > events.MaxInteger-t.c.Clock {
		return &Invalid{Field: "seconds", Reason: "is beyond the end of game time"}
	}
	return t.advance(t.c.Clock, t.c.Clock+d.Seconds, 0, &d.Followed)
}

// holds reports whether the clock has to stop before a tick: it could kill a
// player character, and no game master has let that happen.
func (t *Turn) holds(next dueTick) bool {
	tempo := t.c.Tempo
	if t.again != nil || tempo == nil || tempo.Hold != events.HoldPC || tempo.Seen[next.character] {
		return false
	}
	ch, _ := t.c.Character(next.character)
	return ch.Kind == "pc" && Lethal(t.c, ch, next.Tick)
}

// hold ends an advance right before a tick.
func (t *Turn) hold(next dueTick, from int64, ticks int, followed *events.Followed) error {
	t.c.Clock = max(t.c.Clock, next.Due-1)
	ch, _ := t.c.Character(next.character)
	t.Emit(&events.ClockAdvanced{
		From: from, To: t.c.Clock, Ticks: ticks, Followed: followed,
		Stopped: fmt.Sprintf("before a check that could kill %s", ch.Name),
	})
	t.Emit(&events.TempoHeld{Subject: events.Subject{Character: ch.ID}, Due: next.Due, Kind: next.Kind})
	return t.err
}

// Lethal reports whether a character who is alive can die by a tick. What is
// too large to be told counts as if.
func Lethal(c *Campaign, ch *Character, tick Tick) bool {
	if !c.Vitals(ch).Alive {
		return false
	}
	ways, err := BranchTick(c, ch, tick)
	return err != nil || slices.ContainsFunc(ways, func(b Branch) bool { return !b.After.Alive(ch.ID) })
}

// Alive reports whether a character is there and lives.
func (c *Campaign) Alive(character string) bool {
	ch, there := c.Character(character)
	return there && c.Vitals(ch).Alive
}

// Tick is the next check of a character, if time changes anything.
func (c *Campaign) Tick(ch *Character) (Tick, bool) { return c.nextTick(ch) }

// TempoWarn is the data of tempo.warn.
type TempoWarn struct {
	Character string `json:"character"`
	Due       int64  `json:"due"`
	Kind      string `json:"kind"`
	When      string `json:"when"`
}

func warn(t *Turn, d *TempoWarn) error {
	if err := t.needsTempo(); err != nil {
		return err
	}
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	if d.Due < t.c.Clock {
		return Reject("too_late", "", "it is %d already", t.c.Clock).On("due")
	}
	t.Emit(&events.TempoWarned{Subject: events.Subject{Character: ch.ID}, Due: d.Due, Kind: d.Kind, When: d.When})
	return nil
}
