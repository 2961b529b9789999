package dice

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
)

// Row is the line of one lane in a joint seed. N is the length of its server chain and S0 the anchor of it; C0 and X0
// are the anchors of its roller and witness chains, and E the witness element revealed at this seating. C0, X0 and E
// are Absent when there is none. Fields are 64 hex digits and hold neither blank nor line feed.
type Row struct {
	Lane          string
	N             int
	S0, C0, X0, E string
}

// Joint is the joint seed of a seating, numbered from 1: what all who sit down contribute before the first roll. It
// covers every lane of the seating and every witness asked, in any order. previous is the joint seed of the session
// before this one, in hex, or Absent.
func Joint(campaign, session string, seating int, previous string, rows []Row) Seed {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Lane, b.Lane) })

	text := make([]byte, 0, 256+384*len(rows))
	text = appendLines(text, "dice-joint/v1", campaign, session, strconv.Itoa(seating), previous)
	for _, r := range rows {
		text = appendLines(text, r.Lane+" "+strconv.Itoa(r.N)+" "+r.S0+" "+r.C0+" "+r.X0+" "+r.E)
	}
	return sha256.Sum256(text)
}

// ValidLane reports whether name may name a lane: 1 to 63 of a-z, 0-9, '.' and '-', the first a letter or digit.
func ValidLane(name string) bool {
	if len(name) < 1 || len(name) > 63 {
		return false
	}
	for k := range len(name) {
		c := name[k]
		alphanumeric := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !alphanumeric && (k == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return true
}

// appendLines adds each line and a line feed: the encoding of every text that is hashed.
func appendLines(text []byte, lines ...string) []byte {
	for _, line := range lines {
		text = append(text, line...)
		text = append(text, '\n')
	}
	return text
}
