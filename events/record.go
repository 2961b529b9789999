package events

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of what is stored. A record beyond them is refused before it is
// appended; a reader refuses it too.
const (
	// Version is the record version this binary writes.
	Version = 1
	// MaxRecord is the largest record in bytes: an entry of a transparency
	// log bundle carries its length in two bytes.
	MaxRecord = 65_535
	// MaxCommitEvents and MaxCommitBytes bound one commit, so that a long
	// advance of the clock is many small messages and none that cannot be sent.
	MaxCommitEvents = 1_000
	MaxCommitBytes  = 512 << 10
	// MaxInteger is the largest magnitude of an integer in a record: what
	// every JSON reader holds exactly.
	MaxInteger = 1<<53 - 1
)

// TimeFormat is how wall-clock times are written: UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// A Record is an event as it is stored: who, when, by which command, what.
type Record struct {
	V        int            `json:"v"`
	Campaign string         `json:"campaign"`
	N        int64          `json:"n"`     // position in the campaign, from 0 without gaps; the Merkle leaf index
	ID       string         `json:"id"`    // UUIDv7
	At       string         `json:"at"`    // wall clock, TimeFormat, never earlier than the record before
	By       string         `json:"by"`    // handle of who commanded it
	Clock    int64          `json:"clock"` // game time in seconds from the campaign's start
	Cmd      Cmd            `json:"cmd"`
	Type     string         `json:"type"`
	Data     jsontext.Value `json:"data"`
}

// Cmd is the command of a record. The first record of a commit carries all of
// it, so that a replay can decide it again; the others carry the id alone.
type Cmd struct {
	ID         string         `json:"id"`
	Type       string         `json:"type,omitzero"`
	Data       jsontext.Value `json:"data,omitzero"`
	Dice       *Hand          `json:"dice,omitzero"`
	Seat       *Seat          `json:"seat,omitzero"`
	Visibility jsontext.Value `json:"visibility,omitzero"`
}

// Hand is dice thrown on a real table and typed in, in the order the rules
// ask for them.
type Hand struct {
	Faces []int `json:"faces" minItems:"1" maxItems:"1000" doc:"faces in the order the rules ask for the dice"`
}

// Seat is what a participant's device adds to a command that throws dice: the
// link of its own chain that is due.
type Seat struct {
	Lane string `json:"lane" maxLength:"63"`
	I    int    `json:"i" minimum:"1" maximum:"65536" doc:"index of the roll in the lane"`
	C    string `json:"c" maxLength:"64" doc:"element i of the device's chain, 64 hex digits"`
}

// A Fact is an event with the game time at which it happened.
type Fact struct {
	Clock int64
	Event Event
	// Data is the event's JSON when it has been encoded already.
	Data jsontext.Value
}

// Encode fills Data when it is empty.
func (f *Fact) Encode() error {
	if f.Data != nil {
		return nil
	}
	return new(Encoder).Encode(f)
}

// An Encoder encodes facts into memory that they share: for many in turn it costs less
// than Fact.Encode. The zero value is ready for use.
type Encoder struct{ room []byte }

// encoderRoom is how many bytes facts share, when there are many.
const encoderRoom = 16 << 10

// Encode fills the fact's Data when it is empty.
func (enc *Encoder) Encode(f *Fact) error {
	if f.Data != nil {
		return nil
	}
	if cap(enc.room)-len(enc.room) < 2*usualData {
		enc.room = make([]byte, 0, min(max(2*usualData, 4*cap(enc.room)), encoderRoom))
	}
	begun := len(enc.room)
	room, err := appendEvent(enc.room, f.Event)
	if err != nil {
		return fmt.Errorf("encode %s: %w", f.Event.Type(), err)
	}
	enc.room, f.Data = room, jsontext.Value(room[begun:len(room):len(room)])
	return nil
}

// Head is what the records of one commit have in common.
type Head struct {
	Campaign string
	N        int64  // of the first record
	At       string // TimeFormat
	By       string
	Cmd      Cmd
}

// usualRecord is how many bytes most records take beside their command.
const usualRecord = 768

// EncodeCommit writes the records of one command, joined by LF: the bytes
// that are stored, hashed and exported. id gives the id of the i-th record.
func EncodeCommit(h Head, facts []Fact, id func(i int) string) ([]byte, error) {
	return AppendCommit(make([]byte, 0, len(h.Cmd.Data)+len(facts)*usualRecord), h, facts, id)
}

// AppendCommit appends to out what EncodeCommit writes.
func AppendCommit(out []byte, h Head, facts []Fact, id func(i int) string) ([]byte, error) {
	if len(facts) == 0 {
		return nil, errors.New("a commit without events")
	}
	if len(facts) > MaxCommitEvents {
		return nil, fmt.Errorf("a commit of %d events: the limit is %d", len(facts), MaxCommitEvents)
	}
	begun, cmd := len(out), h.Cmd
	for i := range facts {
		if i > 0 {
			out = append(out, '\n')
			cmd = Cmd{ID: h.Cmd.ID}
		}
		start := len(out)
		var err error
		if out, err = appendRecord(out, h, h.N+int64(i), id(i), cmd, &facts[i]); err != nil {
			return nil, fmt.Errorf("encode record %d: %w", h.N+int64(i), err)
		}
		if size := len(out) - start; size > MaxRecord {
			return nil, &TooLargeError{Type: facts[i].Event.Type(), Size: size}
		}
	}
	if size := len(out) - begun; size > MaxCommitBytes {
		return nil, &TooLargeError{Type: "commit", Size: size}
	}
	return out, nil
}

// appendCmd writes a Cmd as json.Marshal would, and leaves to it all but what
// most commands have: plain data and nothing else.
func appendCmd(out []byte, c Cmd) ([]byte, error) {
	if c.Dice != nil || c.Seat != nil || c.Visibility != nil || c.Data != nil && plain(c.Data, 0, 0) != len(c.Data) {
		data, err := marshal(c)
		return append(out, data...), err
	}
	out, err := appendText(append(out, `{"id":`...), c.ID)
	if err == nil && c.Type != "" {
		out, err = appendText(append(out, `,"type":`...), c.Type)
	}
	if c.Data != nil {
		out = append(append(out, `,"data":`...), c.Data...)
	}
	return append(out, '}'), err
}

// appendRecord writes a Record as json.Marshal would, byte for byte, without reading
// again what was encoded already.
func appendRecord(out []byte, h Head, n int64, id string, cmd Cmd, f *Fact) ([]byte, error) {
	var failed error
	text := func(name, s string) {
		out = append(out, name...)
		var err error
		if out, err = appendText(out, s); err != nil && failed == nil {
			failed = err
		}
	}
	number := func(name string, n int64) {
		if n > MaxInteger || n < -MaxInteger {
			failed = fmt.Errorf("a number out of bounds: %d", n)
		}
		out = strconv.AppendInt(append(out, name...), n, 10)
	}
	number(`{"v":`, Version)
	text(`,"campaign":`, h.Campaign)
	number(`,"n":`, n)
	text(`,"id":`, id)
	text(`,"at":`, h.At)
	text(`,"by":`, h.By)
	number(`,"clock":`, f.Clock)
	var err error
	if out, err = appendCmd(append(out, `,"cmd":`...), cmd); err != nil {
		return nil, fmt.Errorf("command %s: %w", cmd.ID, err)
	}
	text(`,"type":`, f.Event.Type())
	out = append(out, `,"data":`...)
	if f.Data != nil {
		out = append(out, f.Data...)
	} else if out, err = appendEvent(out, f.Event); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Event.Type(), err)
	}
	return append(out, '}'), failed
}

// TooLargeError says that an event does not fit into a record, or a command's
// events into a commit.
type TooLargeError struct {
	Type string
	Size int
}

func (e *TooLargeError) Error() string {
	limit := MaxRecord
	if e.Type == "commit" {
		limit = MaxCommitBytes
	}
	return fmt.Sprintf("%s of %d bytes: the limit is %d", e.Type, e.Size, limit)
}

// SplitCommit returns the stored records of a commit, as bytes.
func SplitCommit(payload []byte) [][]byte { return bytes.Split(payload, lineFeed) }

var lineFeed = []byte{'\n'}

// ParseCommit reads every record of a commit and checks that they belong
// together: one campaign, one command, n rising by one, the whole command in
// the first. Data may be parts of the payload, which nobody may change afterwards.
func ParseCommit(payload []byte) ([]Record, error) { return parseCommit(payload, readPart) }

// SkimCommit is ParseCommit for who compares the payload with what EncodeCommit makes of
// the same records: the data of events are not read as JSON. Bytes that are the same
// are what ParseCommit takes; of others nothing is known before it has taken them.
func SkimCommit(payload []byte) ([]Record, error) { return parseCommit(payload, skim) }

func parseCommit(payload []byte, how reading) ([]Record, error) {
	recs := make([]Record, 1+bytes.Count(payload, lineFeed))
	before := &Record{}
	for i := range recs {
		var line []byte
		line, payload, _ = bytes.Cut(payload, lineFeed)
		rec, first := &recs[i], &recs[0]
		if err := rec.parse(before, line, how); err != nil {
			return nil, err
		}
		switch {
		case i == 0 && rec.Cmd.Type == "":
			return nil, fmt.Errorf("record %d: the first of a commit must carry its command", rec.N)
		case i > 0 && rec.Cmd.Type != "":
			return nil, fmt.Errorf("record %d: carries a command in the middle of a commit", rec.N)
		case i > 0 && (rec.Campaign != first.Campaign || rec.Cmd.ID != first.Cmd.ID || rec.N != first.N+int64(i)):
			return nil, fmt.Errorf("record %d: does not belong to the commit of record %d", rec.N, first.N)
		}
		before = rec
	}
	return recs, nil
}

// Parse reads one record strictly: one compact JSON object without a line
// break, no key twice, no unknown key, no number that is not an integer within
// ±MaxInteger, valid UTF-8, nothing behind it.
func Parse(line []byte) (Record, error) { return ParseAfter(&Record{}, line) }

// ParseAfter is Parse for the records of a campaign in turn: it costs less where
// a record has words of the one before, which is one that was read, or the zero value.
// What it reads and refuses is the same.
func ParseAfter(before *Record, line []byte) (rec Record, err error) {
	if err := rec.parse(before, line, readCopy); err != nil {
		return Record{}, err
	}
	return rec, nil
}

// reading is how a record's data are read.
type reading int

const (
	readCopy reading = iota // into memory of their own
	readPart                // as parts of the line
	skim                    // the same, and the event's data unread
)

// parse reads a record into its zero value.
func (r *Record) parse(before *Record, line []byte, how reading) (err error) {
	if len(line) > MaxRecord {
		return &TooLargeError{Type: "record", Size: len(line)}
	}
	if quick(line, before, r, how) {
		return r.check(before.At)
	}
	*r, err = parseStrictly(line)
	return err
}

func parseStrictly(line []byte) (rec Record, err error) {
	if err := checkCompact(line); err != nil {
		return rec, fmt.Errorf("record: %w", err)
	}
	if err := json.Unmarshal(line, &rec, json.RejectUnknownMembers(true)); err != nil {
		return rec, fmt.Errorf("record: %w", err)
	}
	return rec, rec.check("")
}

// check looks at what JSON does not tell. At is a time that was found good before, or
// empty.
func (r *Record) check(at string) error {
	switch {
	case r.V != Version:
		return fmt.Errorf("record %d: version %d is not known to this program", r.N, r.V)
	case r.N < 0:
		return fmt.Errorf("record: n is %d", r.N)
	case r.Campaign == "" || r.ID == "" || r.By == "" || r.Type == "" || r.Cmd.ID == "":
		return fmt.Errorf("record %d: a field is missing", r.N)
	case r.Data.Kind() != '{':
		return fmt.Errorf("record %d: data is no object", r.N)
	}
	if (at == "" || r.At != at) && (!likeTime(r.At) || !isTime(r.At)) {
		return fmt.Errorf("record %d: at is not a time like %s", r.N, TimeFormat)
	}
	return nil
}

// isTime reports whether what is like a time is one. Package time takes the same.
func isTime(s string) bool {
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	return 1 <= month && month <= 12 && 1 <= day && (day <= 28 || day <= daysIn(year, month)) && two(11) < 24 && two(14) < 60 && two(17) < 60
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// likeTime reports whether s has digits where TimeFormat has them and is the same
// elsewhere: package time alone takes an hour of one digit, a comma, a sign.
func likeTime(s string) bool {
	if len(s) != len(TimeFormat) {
		return false
	}
	for i := range len(s) {
		digit := '0' <= TimeFormat[i] && TimeFormat[i] <= '9'
		if digit != ('0' <= s[i] && s[i] <= '9') || !digit && s[i] != TimeFormat[i] {
			return false
		}
	}
	return true
}

// CheckJSON accepts one compact JSON value as records hold it and refuses
// everything another reader could understand differently.
func CheckJSON(b []byte) error {
	if err := checkCompact(b); err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	// The decoder refuses keys that stand twice, and anything behind the value.
	if !jsontext.Value(b).IsValid() {
		return errors.New("not strict JSON")
	}
	return nil
}

// checkCompact refuses white space and numbers that are no plain integers; the
// rest of the grammar is for the decoder.
func checkCompact(b []byte) error {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			return errors.New("white space or a line break between values")
		case c == '-' || '0' <= c && c <= '9':
			k := i + 1
			for k < len(b) && strings.IndexByte("0123456789.eE+-", b[k]) >= 0 {
				k++
			}
			if err := checkInteger(string(b[i:k])); err != nil {
				return err
			}
			i = k - 1
		}
	}
	return nil
}

func checkInteger(s string) error {
	if len(s) < 16 && !strings.ContainsAny(s, ".eE") && s != "-0" {
		return nil
	}
	if strings.ContainsAny(s, ".eE") || s == "-0" {
		return fmt.Errorf("the number %s is no plain integer", s)
	}
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 16 || len(digits) == 16 && digits > "9007199254740991" {
		return fmt.Errorf("the number %s is beyond ±%d", s, int64(MaxInteger))
	}
	return nil
}
