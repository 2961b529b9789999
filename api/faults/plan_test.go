package faults

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

// library is what the simulated nodes have on board.
var library = append(rules.Library{rules.NewBook(rulestest.Ember())}, systems.Library()...)

// A plan is everything that a run does: the seed decides how long each thing
// takes and which fault it meets. It is written to a file as it is here.
type plan struct {
	Seed    uint64   `json:"seed"`
	Why     string   `json:"why,omitempty"` // of a scenario: what it has shown
	Nodes   int      `json:"nodes"`
	Systems []string `json:"systems"` // one campaign each
	Budget  int      `json:"budget"`  // records a node keeps in memory; 0: as many as there are
	Queue   int      `json:"queue"`   // records a follower may be behind; 0: the usual
	Odds    odds     `json:"odds"`
	Steps   []step   `json:"steps"`

	sabotage sabotage
}

// odds are how often a step meets a fault, in thousandths.
type odds struct {
	LostBefore int `json:"lost_before,omitempty"` // a request to store is lost
	LostAfter  int `json:"lost_after,omitempty"`  // it is stored and the answer is lost
	Delayed    int `json:"delayed,omitempty"`     // it arrives after everybody has given up on it
	Full       int `json:"full,omitempty"`        // the store refuses
	Blind      int `json:"blind,omitempty"`       // a read fails
	Crash      int `json:"crash,omitempty"`       // the node dies at this very step
	Impatient  int `json:"impatient,omitempty"`   // a client hangs up and asks elsewhere
	Slow       int `json:"slow,omitempty"`        // a step takes seconds
}

// each lists the odds, to be drawn and to be reduced.
func (o *odds) each() []*int {
	return []*int{&o.LostBefore, &o.LostAfter, &o.Delayed, &o.Full, &o.Blind, &o.Crash, &o.Impatient, &o.Slow}
}

// What a step does.
const (
	doCommand = "command" // a client gives a command until it is answered
	doSecret  = "secret"  // the same, seen by the commander and the game master
	doAgain   = "again"   // another client gives the command of step Of, too
	doCrash   = "crash"   // a node dies and comes back
	doStop    = "stop"    // a node is stopped in order and comes back
	doClock   = "clock"   // a node's wall clock jumps
	doRead    = "read"    // a client reads checkpoint and view
	doFollow  = "follow"  // a client follows a campaign from record Of on
)

// step is one thing that happens. N is its number in the plan it was made for:
// what follows from it stays the same when other steps are taken away.
type step struct {
	N        int             `json:"n"`
	At       int             `json:"at"` // milliseconds from the start
	Do       string          `json:"do"`
	Node     int             `json:"node"`
	Campaign int             `json:"campaign,omitempty"`
	By       string          `json:"by,omitempty"`
	Type     string          `json:"type,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Of       int             `json:"of,omitempty"`
	For      int             `json:"for,omitempty"` // milliseconds; of a clock: seconds
}

// horizon is when faults end, in milliseconds: from then on everything that was
// asked must come to an answer.
const horizon = 4_000

// mix makes a number of a seed and of what it is for.
func mix(seed uint64, parts ...any) uint64 {
	sum := sha256.Sum256(fmt.Append(nil, seed, parts))
	return binary.BigEndian.Uint64(sum[:8])
}

// uid makes a UUID of a seed and of what it is for.
func uid(seed uint64, parts ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, "id", seed, parts))
	id := uuid.UUID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}

// newPlan makes the plan of a seed.
func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0x7a117))
	p := plan{Seed: seed, Nodes: 1 + r.IntN(3), Budget: []int{0, 0, 40}[r.IntN(3)], Queue: []int{0, 1, 8}[r.IntN(3)]}
	for range 1 + r.IntN(2) {
		p.Systems = append(p.Systems, library[r.IntN(len(library))].Name())
	}
	for _, o := range p.Odds.each() {
		*o = []int{0, 0, 5, 30, 150, 300}[r.IntN(6)]
	}
	p.Odds.Crash /= 5
	p.Odds.Slow /= 3
	m := &maker{r: r, p: &p, characters: make([][]string, len(p.Systems)), commands: make([][]string, len(p.Systems))}
	m.opening()
	for range 10 + r.IntN(40) {
		m.add(m.step())
	}
	slices.SortStableFunc(p.Steps, func(a, b step) int { return a.At - b.At })
	return p
}

// maker makes the steps of a plan.
type maker struct {
	r          *rand.Rand
	p          *plan
	characters [][]string // ids by campaign, as far as their creation is planned
	commands   [][]string
}

func (m *maker) add(s step) {
	s.N = len(m.p.Steps)
	if s.Node == 0 {
		s.Node = m.r.IntN(m.p.Nodes)
	}
	if s.Do == doCommand || s.Do == doSecret {
		id := uid(m.p.Seed, s.N)
		m.commands[s.Campaign] = append(m.commands[s.Campaign], id)
		if s.Type == "character.create" {
			m.characters[s.Campaign] = append(m.characters[s.Campaign], id)
		}
	}
	m.p.Steps = append(m.p.Steps, s)
}

// opening begins each campaign's first session early on.
func (m *maker) opening() {
	for c := range m.p.Systems {
		for _, do := range []func() (string, string, string){m.join, m.sit, m.create(c)} {
			by, typ, data := do()
			m.add(step{At: m.r.IntN(horizon / 10), Do: doCommand, Campaign: c, By: by, Type: typ, Data: json.RawMessage(data)})
		}
	}
}

func (m *maker) join() (by, typ, data string) {
	return "gm", "participant.add", `{"handle":"anna","role":"player"}`
}

func (m *maker) sit() (by, typ, data string) {
	return "gm", "session.open", fmt.Sprintf(`{"title":"one","kind":"table","private":%t}`, m.r.IntN(2) == 0)
}

func (m *maker) create(c int) func() (by, typ, data string) {
	return func() (by, typ, data string) {
		for _, book := range library {
			if book.Name() == m.p.Systems[c] {
				sheet, _ := rules.Canonical(book.Example())
				return "gm", "character.create", fmt.Sprintf(`{"name":"Number %d","kind":"pc","owner":"anna","creation":"free","sheet":%s}`, len(m.p.Steps), sheet)
			}
		}
		panic("no such system: " + m.p.Systems[c])
	}
}

func (m *maker) step() step {
	s := step{At: m.r.IntN(horizon), Campaign: m.r.IntN(len(m.p.Systems))}
	switch k := m.r.IntN(100); {
	case k < 4:
		s.Do, s.For = doCrash, 1+m.r.IntN(600)
	case k < 6:
		s.Do, s.For = doStop, 1+m.r.IntN(300)
	case k < 10:
		s.Do, s.For = doClock, []int{1, -1, 3600, -3600, 86400 * 365 * 100, -86400 * 365 * 100}[m.r.IntN(6)]
	case k < 18:
		s.Do, s.Of, s.For = doFollow, m.r.IntN(12), []int{0, 0, 1, 400}[m.r.IntN(4)]
	case k < 24:
		s.Do = doRead
	case k < 34:
		s.Do, s.Of = doAgain, m.r.IntN(len(m.p.Steps))
		s.At = min(horizon, max(s.At, m.p.Steps[s.Of].At+m.r.IntN(50)))
	default:
		s.Do = doCommand
		var data string
		s.By, s.Type, data = m.command(s.Campaign)
		s.Data = json.RawMessage(data)
		if s.Type == "roll" && m.r.IntN(3) == 0 {
			s.Do = doSecret
		}
	}
	return s
}

// command is one at random. Much of it will be refused: refusals are part of it.
func (m *maker) command(c int) (by, typ, data string) {
	who := []string{"gm", "gm", "anna"}[m.r.IntN(3)]
	some := func(ids []string) string {
		if len(ids) == 0 {
			return uid(0, "nobody")
		}
		return ids[m.r.IntN(len(ids))]
	}
	hero, earlier, n := some(m.characters[c]), some(m.commands[c]), 1+m.r.IntN(2*len(m.p.Steps))
	switch m.r.IntN(22) {
	case 0:
		return m.sit()
	case 1:
		return "gm", "session.close", `{}`
	case 2:
		return m.create(c)()
	case 3, 4, 5:
		seconds := []int{1, 10, 60, 3_600, 86_400, 2_000_000}[m.r.IntN(6)]
		if m.p.Systems[c] == "ember" {
			seconds = min(seconds, 12_000)
		}
		return "gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, seconds)
	case 6, 7:
		return "gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"chance"}`, hero, 1+m.r.IntN(9))
	case 8:
		return "gm", "heal.grant", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"chance"}`, hero, 1+m.r.IntN(9))
	case 9:
		return who, "note.add", fmt.Sprintf(`{"text":"note %d"}`, n)
	case 10:
		return who, "dispute.open", fmt.Sprintf(`{"roll":%d,"question":"really?"}`, n)
	case 11:
		return "gm", "dispute.rule", fmt.Sprintf(`{"dispute":%q,"ruling":"upheld","reason":"so it is"}`, earlier)
	case 12, 13:
		return "gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"it was not so"}`, earlier)
	case 14:
		return who, "roll.open", fmt.Sprintf(`{"roll":%d,"shows_earlier":%t}`, n, m.r.IntN(2) == 0)
	case 15:
		return "gm", "target.seal", `{"target":{"value":7,"purpose":"the door"}}`
	case 16:
		return "gm", "target.open", fmt.Sprintf(`{"target":%d}`, n)
	case 17:
		return "gm", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":%d}`, hero, 1+m.r.IntN(9))
	case 18:
		return "gm", "ruling.make", fmt.Sprintf(`{"roll":%d,"outcome":"it holds","reason":"my word"}`, n)
	}
	return who, "roll", fmt.Sprintf(`{"expression":"%dd6","purpose":"luck"}`, 1+m.r.IntN(4))
}

// reduced takes away from a plan what it does not need to go on failing.
func reduced(p plan, fails func(plan) bool) plan {
	for chunk := (len(p.Steps) + 1) / 2; chunk > 0; chunk /= 2 {
		for from := 0; from < len(p.Steps); {
			less := p
			less.Steps = slices.Delete(slices.Clone(p.Steps), from, min(from+chunk, len(p.Steps)))
			if fails(less) {
				p = less
			} else {
				from += chunk
			}
		}
	}
	for i := range p.Odds.each() {
		less := p
		*less.Odds.each()[i] = 0
		if fails(less) {
			p = less
		}
	}
	return p
}

func (p plan) String() string {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}
