package events

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// quick reads a record that is written the way EncodeCommit writes it: members in
// their order, plain strings, nothing between them. Anything else it leaves to the
// strict reader, ok false. It never takes a line that the strict reader would
// refuse, or reads one differently; a fuzz test holds it to that. Words that are
// those of the record before are taken from there. After false rec is half read. It is
// as strict when it skims, but for the event's data.
func quick(line []byte, before, rec *Record, how reading) (ok bool) {
	q := quickReader{rest: line, part: how != readCopy}
	q.word(`{"v":1,"campaign":`)
	rec.V = Version
	rec.Campaign = q.like(before.Campaign)
	q.word(`,"n":`)
	rec.N = q.number()
	q.word(`,"id":`)
	rec.ID = q.text()
	q.word(`,"at":`)
	rec.At = q.like(before.At)
	q.word(`,"by":`)
	rec.By = q.like(before.By)
	q.word(`,"clock":`)
	rec.Clock = q.number()
	q.word(`,"cmd":{"id":`)
	rec.Cmd.ID = q.like(before.Cmd.ID)
	if q.next(',') {
		q.word(`,"type":`)
		rec.Cmd.Type = q.like(before.Cmd.Type)
		if q.next(',') { // dice, a seat: rare, and left to the strict reader
			q.word(`,"data":`)
			rec.Cmd.Data = q.value()
		}
	}
	q.word(`},"type":`)
	rec.Type = q.name()
	q.word(`,"data":`)
	if how == skim && q.next('{') && len(q.rest) > 1 {
		end := len(q.rest) - 1
		rec.Data, q.rest = jsontext.Value(q.rest[:end:end]), q.rest[end:]
	} else {
		rec.Data = q.value()
	}
	q.word(`}`)
	return !q.failed && len(q.rest) == 0
}

// quickReader takes what is expected from the front of a line, until something
// else stands there.
type quickReader struct {
	rest   []byte
	part   bool // values that are read are parts of rest, not copies
	failed bool
}

func (q *quickReader) next(c byte) bool { return !q.failed && len(q.rest) > 0 && q.rest[0] == c }

func (q *quickReader) word(w string) {
	if q.failed || len(q.rest) < len(w) || string(q.rest[:len(w)]) != w {
		q.failed = true
		return
	}
	q.rest = q.rest[len(w):]
}

// token takes a string of ASCII without escapes, without its quotes.
func (q *quickReader) token() []byte {
	if q.next('"') {
		if end := special(q.rest, 1); end < len(q.rest) && q.rest[end] == '"' {
			t := q.rest[1:end]
			q.rest = q.rest[end+1:]
			return t
		}
	}
	q.failed = true
	return nil
}

func (q *quickReader) text() string { return string(q.token()) }

// like is text that is probably this one.
func (q *quickReader) like(known string) string {
	t := q.token()
	if string(t) == known {
		return known
	}
	return string(t)
}

// name is text that is probably the name of an event type.
func (q *quickReader) name() string {
	t := q.token()
	if known, ok := typeNames[string(t)]; ok {
		return known
	}
	return string(t)
}

// typeNames has one copy of the name of every shared event type.
var typeNames = func() map[string]string {
	names := map[string]string{}
	for name := range Core() {
		names[name] = name
	}
	return names
}()

// number takes an integer from 0 with at most 15 digits.
func (q *quickReader) number() int64 {
	i := 0
	for i < len(q.rest) && '0' <= q.rest[i] && q.rest[i] <= '9' {
		i++
	}
	if q.failed || i == 0 || i > 15 || i > 1 && q.rest[0] == '0' {
		q.failed = true
		return 0
	}
	n := decimal(q.rest[:i])
	q.rest = q.rest[i:]
	return n
}

// decimal is the number that at most 15 digits stand for.
func decimal(digits []byte) (n int64) {
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n
}

// value takes an object that plain knows to be strict.
func (q *quickReader) value() jsontext.Value {
	if !q.next('{') {
		q.failed = true
		return nil
	}
	return q.anyValue()
}

// anyValue takes a value that plain knows to be strict.
func (q *quickReader) anyValue() jsontext.Value {
	end := -1
	if !q.failed {
		end = plain(q.rest, 0, 0)
	}
	if end < 0 {
		q.failed = true
		return nil
	}
	value := jsontext.Value(q.rest[:end:end])
	if !q.part {
		value = bytes.Clone(value)
	}
	q.rest = q.rest[end:]
	return value
}

// plainText takes a string that plain knows to be strict.
func (q *quickReader) plainText() string {
	end := -1
	if !q.failed {
		end = plainString(q.rest, 0)
	}
	if end < 0 {
		q.failed = true
		return ""
	}
	text := string(q.rest[1 : end-1])
	q.rest = q.rest[end:]
	return text
}

// integer takes a whole number that plain knows to be strict.
func (q *quickReader) integer() int64 {
	end := -1
	if !q.failed && len(q.rest) > 0 {
		end = plainInteger(q.rest, 0)
	}
	if end < 0 {
		q.failed = true
		return 0
	}
	text := q.rest[:end]
	q.rest = q.rest[end:]
	if text[0] == '-' {
		return -decimal(text[1:])
	}
	return decimal(text)
}

// Bounds of what plain reads; beyond them it is the strict reader's.
const (
	plainDepth = 32
	plainNames = 64 // of one object
)

// plain finds the end of the JSON value that begins at b[i], if it is written as
// records are (compact, whole numbers, no key twice) and without an escape. It is
// -1 for anything else, which need not be wrong.
func plain(b []byte, i, depth int) (end int) {
	if i >= len(b) || depth > plainDepth {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return plainString(b, i)
	case c == '{':
		return plainObject(b, i, depth)
	case c == '[':
		return plainArray(b, i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return plainInteger(b, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

func plainObject(b []byte, i, depth int) (end int) {
	type span struct{ from, to int32 }
	var room [16]span
	names, some := room[:0], uint64(0) // some has a bit for each name: few names share one
	if i++; i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		end := plainString(b, i)
		if end < 0 || end >= len(b) || b[end] != ':' || len(names) == plainNames {
			return -1
		}
		bit := uint64(1) << ((uint(b[i+1]) + 3*uint(b[end-2]) + 7*uint(end-i)) % 64)
		if some&bit != 0 {
			for _, name := range names {
				if bytes.Equal(b[name.from:name.to], b[i:end]) {
					return -1
				}
			}
		}
		names, some = append(names, span{int32(i), int32(end)}), some|bit
		if i = plain(b, end+1, depth+1); i < 0 || i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func plainArray(b []byte, i, depth int) (end int) {
	if i++; i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = plain(b, i, depth+1); i < 0 || i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func plainString(b []byte, i int) (end int) {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if end = special(b, i+1); end < len(b) && b[end] == '"' {
		return end + 1
	}
	for ; end < len(b); end++ {
		switch c := b[end]; {
		case c == '"' && utf8.Valid(b[i:end]):
			return end + 1
		case c == '"' || c == '\\' || c < ' ':
			return -1
		}
	}
	return -1
}

// plainInteger takes at most 15 digits, which are within ±MaxInteger.
func plainInteger(b []byte, i int) (end int) {
	if b[i] == '-' {
		if i++; i < len(b) && b[i] == '0' {
			return -1
		}
	}
	end = i
	for end < len(b) && '0' <= b[end] && b[end] <= '9' {
		end++
	}
	switch {
	case end == i || end-i > 15 || end-i > 1 && b[i] == '0':
		return -1
	case end < len(b) && (b[end] == '.' || b[end] == 'e' || b[end] == 'E'):
		return -1
	}
	return end
}
