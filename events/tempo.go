package events

// Whose lives stop a clock that follows the wall clock.
const (
	HoldPC   = "pc"   // those of player characters
	HoldNone = "none" // nobody's
)

// TempoSet ties the campaign's clock to the clock on the wall until the
// session closes: so much game time passes in so much time on the wall.
type TempoSet struct {
	Game  int64  `json:"game"`           // game seconds that pass
	Wall  int64  `json:"wall"`           // in so many seconds on the wall
	Quiet *Quiet `json:"quiet,omitzero"` // when no game time passes
	Warn  int64  `json:"warn,omitzero"`  // seconds on the wall by which a lethal check is announced; 0: not at all
	Hold  string `json:"hold"`           // HoldPC or HoldNone
}

// Quiet are the hours and days at which game time stands still, by the clock
// on the wall of a time zone.
type Quiet struct {
	Zone string   `json:"zone" minLength:"1" maxLength:"64" doc:"IANA name of the time zone, such as Europe/Berlin or UTC"`
	From string   `json:"from,omitzero" maxLength:"5" doc:"local time at which the quiet hours begin, such as 22:00"`
	To   string   `json:"to,omitzero" maxLength:"5" doc:"local time at which they end, on the next day if it is the earlier one"`
	Days []string `json:"days,omitzero" maxItems:"6" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" doc:"days that are quiet from midnight to midnight"`
}

// TempoPaused lets game time stand still.
type TempoPaused struct {
	Reason string `json:"reason,omitzero"`
}

// TempoResumed lets it go on, from this moment on the wall.
type TempoResumed struct{}

// TempoWarned says that a check could kill a character, before it falls due.
type TempoWarned struct {
	Subject
	Due  int64  `json:"due"`  // game seconds
	Kind string `json:"kind"` // of the check, in the words of the rules
	When string `json:"when"` // on the wall it falls due then, if nothing is done; RFC 3339 with its offset
}

// TempoHeld stops game time before a check that could kill a player character
// nobody may have looked at.
type TempoHeld struct {
	Subject
	Due  int64  `json:"due"` // game seconds
	Kind string `json:"kind"`
}

// Followed says up to which moment on the wall game time has passed by an
// advance.
type Followed struct {
	At    string `json:"at"`             // as the server's clock showed it, TimeFormat
	Carry int64  `json:"carry,omitzero"` // what is left over of a game second, in 1/(1000 × wall) of it
}

func (*TempoSet) Type() string     { return "tempo.set" }
func (*TempoPaused) Type() string  { return "tempo.paused" }
func (*TempoResumed) Type() string { return "tempo.resumed" }
func (*TempoWarned) Type() string  { return "tempo.warned" }
func (*TempoHeld) Type() string    { return "tempo.held" }

// tempo reads the events of a clock that follows the wall clock.
func tempo() map[string]func() Event {
	return map[string]func() Event{
		"tempo.set":     func() Event { return new(TempoSet) },
		"tempo.paused":  func() Event { return new(TempoPaused) },
		"tempo.resumed": func() Event { return new(TempoResumed) },
		"tempo.warned":  func() Event { return new(TempoWarned) },
		"tempo.held":    func() Event { return new(TempoHeld) },
	}
}
