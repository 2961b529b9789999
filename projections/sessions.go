package projections

import (
	"slices"

	"tallystick/events"
)

// Session is the view of one evening of play.
type Session struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Kind    string  `json:"kind" enum:"table,downtime,play-by-post"`
	Opened  Moment  `json:"opened"`
	Closed  *Moment `json:"closed,omitzero"`
	Rolls   int     `json:"rolls" doc:"from the ledger's dice"`
	TypedIn int     `json:"typed_in" doc:"thrown on a real table and typed in"`
	Records Span    `json:"records" doc:"from its opening to its closing, or to now"`
	Lanes   []Lane  `json:"lanes" doc:"in the order they were seated"`
}

// Span is a run of records, both ends included.
type Span = events.Span

// Lane is a lane of dice: whose it is and what was committed for it.
type Lane struct {
	Lane      string `json:"lane"`
	Principal string `json:"principal" doc:"whose lane it is: a handle, or system"`
	Seating   int    `json:"seating"`
	N         int    `json:"n" doc:"length of its chains"`
	S0        string `json:"s0" doc:"anchor of the server's chain"`
	C0        string `json:"c0" doc:"anchor of the roller's chain, or -"`
	X0        string `json:"x0" doc:"anchor of the witness chain, or -"`
	Joint     string `json:"joint,omitzero" doc:"joint seed of its seating, once sealed"`
}

// session is a session that may still change; a reader gets a copy.
type session struct{ Session }

// Sessions returns all sessions in the order they were opened.
func (v *Views) Sessions() []Session {
	all := make([]Session, 0, len(v.sessions))
	for _, s := range v.sessions {
		all = append(all, v.copied(s))
	}
	return all
}

// Session returns one session, and false when there is none of that id.
func (v *Views) Session(id string) (Session, bool) {
	i := slices.IndexFunc(v.sessions, func(s *session) bool { return s.ID == id })
	if i < 0 {
		return Session{}, false
	}
	return v.copied(v.sessions[i]), true
}

func (v *Views) copied(s *session) Session {
	c := s.Session
	c.Lanes = append([]Lane{}, s.Lanes...)
	if c.Closed == nil {
		c.Records.Last = v.next - 1
	}
	return c
}

func (v *Views) opened(rec events.Record, e *events.SessionOpened) {
	v.open = &session{Session{
		ID: v.word(e.Session), Title: e.Title, Kind: e.Kind,
		Opened: v.moment(rec), Records: Span{First: rec.N},
	}}
	v.sessions = append(v.sessions, v.open)
}

func (v *Views) closed(rec events.Record, e *events.SessionClosed) {
	closed := v.moment(rec)
	v.open.Closed, v.open.Records.Last = &closed, rec.N
	v.open.Rolls, v.open.TypedIn = e.Rolls, e.TypedIn
	v.open = nil
}

func (s *session) seat(e *events.SeatTaken) {
	s.Lanes = append(s.Lanes, Lane{
		Lane: e.Lane, Principal: e.Principal, Seating: e.Seating, N: e.N, S0: e.S0, C0: e.C0, X0: e.X0,
	})
}

func (s *session) seal(e *events.SeatingSealed) {
	for i := range s.Lanes {
		if s.Lanes[i].Seating == e.Seating {
			s.Lanes[i].Joint = e.Joint
		}
	}
}
