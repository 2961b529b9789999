package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events/journal"
)

// The archive's text: lines of a word and fields. A commit's line is followed
// by its payload and an LF. The last field of a line is its chain value:
// SHA-256 of the chain value of the line before (32 bytes) and the line itself
// up to that field. As a commit's line has the hash of the payload, the last
// value covers everything before it.
//
//	segment number=2 partitions=4 lost=0 at=0:12:<campaign>:<sha256>,1:3:… previous=<chain> chain=<chain>
//	commit partition=0 seq=13 campaign=<id> command=<id> n=5 records=3 bytes=1234 sha256=<hash> chain=<chain>
//	missing partition=0 from=14 to=15 chain=<chain>
//	rewound partition=0 from=15 to=12 chain=<chain>
const (
	wordSegment = "segment" // begins a file: what came before it
	wordCommit  = "commit"
	wordMissing = "missing" // the journal could not read these when they were due
	wordRewound = "rewound" // the journal had lost those above to: its numbers begin there anew
)

// maxLine is the longest line in bytes: a segment's with all its partitions.
const maxLine = 16 << 10

// hash is a SHA-256 value.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// tip is the last commit of a partition.
type tip struct {
	seq      uint64
	campaign string // empty when a mark came last
	sum      hash   // of the payload
}

// line is one line of the archive. Which fields it has depends on the word.
type line struct {
	word       string
	partition  int
	from, to   uint64 // a commit has its sequence in both
	campaign   string
	command    string
	n          int64 // of the first record, -1 if the payload does not say
	records    int
	size       int  // of the payload in bytes
	sum        hash // of the payload
	number     int  // of the segment
	partitions int
	lost       uint64
	at         []tip
	previous   hash
	chain      hash
	unproven   bool // a commit that came after damage: its chain value could not be checked
}

// text is the line up to its chain value.
func (l *line) text() []byte {
	switch l.word {
	case wordSegment:
		return fmt.Appendf(nil, "segment number=%d partitions=%d lost=%d at=%s previous=%s ", l.number, l.partitions, l.lost, tipsText(l.at), l.previous)
	case wordCommit:
		return l.commitText()
	default:
		return fmt.Appendf(nil, "%s partition=%d from=%d to=%d ", l.word, l.partition, l.from, l.to)
	}
}

// commitText is text of a commit: the line that a start reads by the thousand.
func (l *line) commitText() []byte {
	b := make([]byte, 0, 512)
	b = strconv.AppendInt(append(b, "commit partition="...), int64(l.partition), 10)
	b = strconv.AppendUint(append(b, " seq="...), l.from, 10)
	b = append(append(b, " campaign="...), l.campaign...)
	b = append(append(b, " command="...), l.command...)
	b = strconv.AppendInt(append(b, " n="...), l.n, 10)
	b = strconv.AppendInt(append(b, " records="...), int64(l.records), 10)
	b = strconv.AppendInt(append(b, " bytes="...), int64(l.size), 10)
	b = hex.AppendEncode(append(b, " sha256="...), l.sum[:])
	return append(b, ' ')
}

// seal gives the line its chain value after previous and returns its bytes,
// with the LF.
func (l *line) seal(previous hash) []byte {
	text := l.text()
	l.chain = link(previous, text)
	return append(l.whole(text), '\n')
}

// whole adds the chain value to a line's text.
func (l *line) whole(text []byte) []byte {
	return hex.AppendEncode(append(text, "chain="...), l.chain[:])
}

func link(previous hash, text []byte) hash {
	return hash(sha256.Sum256(append(previous[:], text...)))
}

// follows reports whether the line's chain value is right after previous.
func (l *line) follows(previous hash) bool { return link(previous, l.text()) == l.chain }

func tipsText(tips []tip) string {
	var parts []string
	for p, t := range tips {
		if t.seq > 0 {
			parts = append(parts, fmt.Sprintf("%d:%d:%s:%s", p, t.seq, t.campaign, t.sum))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ",")
}

// fieldsOf lists the fields of each word in their order.
var fieldsOf = map[string][]string{
	wordSegment: {"number", "partitions", "lost", "at", "previous", "chain"},
	wordCommit:  {"partition", "seq", "campaign", "command", "n", "records", "bytes", "sha256", "chain"},
	wordMissing: {"partition", "from", "to", "chain"},
	wordRewound: {"partition", "from", "to", "chain"},
}

// parseLine reads a line without its LF. It takes the one spelling that seal
// writes and no other, so that every bit of it counts.
func parseLine(b []byte) (line, error) {
	parts := strings.Split(string(b), " ")
	l := line{word: parts[0]}
	names := fieldsOf[l.word]
	if names == nil || len(parts) != len(names)+1 {
		return l, fmt.Errorf("not a line of an archive")
	}
	for i, name := range names {
		value, ok := strings.CutPrefix(parts[i+1], name+"=")
		if !ok {
			return l, fmt.Errorf("%s: not where it must be", name)
		}
		if err := l.set(name, value); err != nil {
			return l, fmt.Errorf("%s: %w", name, err)
		}
	}
	if l.partition < 0 || l.partition >= journal.MaxPartitions || l.size < 0 || l.size > journal.MaxPayload {
		return l, fmt.Errorf("partition or bytes: out of bounds")
	}
	if !bytes.Equal(l.whole(l.text()), b) {
		return l, fmt.Errorf("not in canonical form")
	}
	return l, nil
}

func (l *line) set(name, value string) (err error) {
	switch name {
	case "partition":
		l.partition, err = strconv.Atoi(value)
	case "seq":
		l.from, err = strconv.ParseUint(value, 10, 64)
		l.to = l.from
	case "from":
		l.from, err = strconv.ParseUint(value, 10, 64)
	case "to":
		l.to, err = strconv.ParseUint(value, 10, 64)
	case "campaign":
		l.campaign = value
	case "command":
		l.command = value
	case "n":
		l.n, err = strconv.ParseInt(value, 10, 64)
	case "records":
		l.records, err = strconv.Atoi(value)
	case "bytes":
		l.size, err = strconv.Atoi(value)
	case "number":
		l.number, err = strconv.Atoi(value)
	case "partitions":
		l.partitions, err = strconv.Atoi(value)
	case "lost":
		l.lost, err = strconv.ParseUint(value, 10, 64)
	case "at":
		l.at, err = parseTips(value)
	case "sha256":
		l.sum, err = parseHash(value)
	case "previous":
		l.previous, err = parseHash(value)
	case "chain":
		l.chain, err = parseHash(value)
	}
	return err
}

func parseHash(text string) (h hash, err error) {
	if len(text) != 2*len(h) {
		return h, fmt.Errorf("%d hex digits, want %d", len(text), 2*len(h))
	}
	_, err = hex.Decode(h[:], []byte(text))
	return h, err
}

func parseTips(text string) ([]tip, error) {
	tips := make([]tip, journal.MaxPartitions)
	if text == "-" {
		return tips, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(part, ":")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%q is not a partition's last commit", part)
		}
		p, err := strconv.Atoi(fields[0])
		if err != nil || p < 0 || p >= len(tips) {
			return nil, fmt.Errorf("partition %q", fields[0])
		}
		if tips[p].seq, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
			return nil, err
		}
		tips[p].campaign = fields[2]
		if tips[p].sum, err = parseHash(fields[3]); err != nil {
			return nil, err
		}
	}
	return tips, nil
}

// commitLine is the line of a commit.
func commitLine(partition int, c journal.Commit) line {
	_, n, ok := firstRecord(c.Payload)
	if !ok {
		n = -1
	}
	return line{
		word: wordCommit, partition: partition, from: c.Seq, to: c.Seq, campaign: c.Campaign, command: c.ID,
		n: n, records: countRecords(c.Payload), size: len(c.Payload), sum: sha256.Sum256(c.Payload),
	}
}

// tellsOf reports whether a commit's line says of a payload what commitLine would, as far
// as the payload tells. partitions is 0 when nobody knows how many there are.
func (l *line) tellsOf(payload []byte, partitions int) bool {
	campaign, n, ok := firstRecord(payload)
	if !ok {
		campaign, n = l.campaign, -1
	}
	return l.campaign == campaign && l.n == n && l.records == countRecords(payload) &&
		(partitions == 0 || l.partition == journal.PartitionOf(campaign, partitions)) &&
		strings.IndexFunc(l.command, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// countRecords is the number of records of a payload: they are joined by LF.
func countRecords(payload []byte) int { return bytes.Count(payload, []byte{'\n'}) + 1 }

// firstRecord reads the campaign and the number of a payload's first record.
// It looks at the members up to n only and takes them as they are: whether the
// record is a good one is for its reader.
func firstRecord(payload []byte) (campaign string, n int64, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(payload[:min(len(payload), 4<<10)]))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return "", 0, false
	}
	for {
		token, err := decoder.ReadToken()
		if err != nil || token.Kind() != '"' {
			return "", 0, false
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return "", 0, false
		}
		switch name {
		case "campaign":
			campaign = strings.Trim(string(value), `"`)
		case "n":
			n, err = strconv.ParseInt(string(value), 10, 64)
			return campaign, n, err == nil && n >= 0 && campaign != ""
		}
	}
}
