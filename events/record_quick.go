package events

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// quick reads a record that is written the way EncodeCommit writes it: members in
// their order, plain strings, nothing between them. Anything else it leaves to the
// strict reader, ok false. It never takes a line that the strict reader would
// refuse, or reads one differently; a fuzz test holds it to that.
func quick(line []byte) (rec Record, ok bool) {
	q := quickReader{rest: line}
	q.word(`{"v":1,"campaign":`)
	rec.V = Version
	rec.Campaign = q.text()
	q.word(`,"n":`)
	rec.N = q.number()
	q.word(`,"id":`)
	rec.ID = q.text()
	q.word(`,"at":`)
	rec.At = q.text()
	q.word(`,"by":`)
	rec.By = q.text()
	q.word(`,"clock":`)
	rec.Clock = q.number()
	q.word(`,"cmd":{"id":`)
	rec.Cmd.ID = q.text()
	if q.next(',') {
		q.word(`,"type":`)
		rec.Cmd.Type = q.text()
		if q.next(',') { // dice, a seat: rare, and left to the strict reader
			q.word(`,"data":`)
			rec.Cmd.Data = q.value()
		}
	}
	q.word(`},"type":`)
	rec.Type = q.text()
	q.word(`,"data":`)
	rec.Data = q.value()
	q.word(`}`)
	return rec, !q.failed && len(q.rest) == 0
}

// quickReader takes what is expected from the front of a line, until something
// else stands there.
type quickReader struct {
	rest   []byte
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

// text takes a string of visible ASCII without escapes.
func (q *quickReader) text() string {
	if !q.next('"') {
		q.failed = true
		return ""
	}
	for i := 1; i < len(q.rest); i++ {
		switch c := q.rest[i]; {
		case c == '"':
			s := string(q.rest[1:i])
			q.rest = q.rest[i+1:]
			return s
		case c < ' ' || c >= 0x7f || c == '\\':
			q.failed = true
			return ""
		}
	}
	q.failed = true
	return ""
}

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
	n, err := strconv.ParseInt(string(q.rest[:i]), 10, 64)
	q.failed = err != nil
	q.rest = q.rest[i:]
	return n
}

// value takes an object, and checks it strictly once its end is found.
func (q *quickReader) value() jsontext.Value {
	if !q.next('{') {
		q.failed = true
		return nil
	}
	depth := 0
	for i := 0; i < len(q.rest); i++ {
		switch q.rest[i] {
		case '"':
			end := bytes.IndexByte(q.rest[i+1:], '"')
			if end < 0 || bytes.IndexByte(q.rest[i+1:i+1+end], '\\') >= 0 {
				q.failed = true // an escape: for the strict reader
				return nil
			}
			i += end + 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				value := jsontext.Value(bytes.Clone(q.rest[:i+1]))
				q.rest = q.rest[i+1:]
				q.failed = checkCompact(value) != nil || !value.IsValid()
				return value
			}
		}
	}
	q.failed = true
	return nil
}
