package dice

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Absent is the text of a seed that does not exist: no roller chain, no witness, no previous joint seed.
const Absent = "-"

// Seed is 32 bytes: an element of a chain, its anchor or tail, or a joint seed. Its text form is 64 lower-case hex digits.
type Seed [32]byte

// ParseSeed reads the text form of a seed and accepts no other: upper case, blanks and other lengths are errors.
func ParseSeed(text string) (Seed, error) { return parseSeed(text) }

func parseSeed[T string | []byte](text T) (s Seed, err error) {
	if len(text) != 2*len(s) {
		return Seed{}, fmt.Errorf("seed: %d characters, want %d hex digits", len(text), 2*len(s))
	}
	for k := range len(text) {
		digit := digits[text[k]]
		if digit < 0 {
			return Seed{}, fmt.Errorf("seed: found %q at position %d, want a lower-case hex digit", text[k], k+1)
		}
		s[k/2] = s[k/2]<<4 | byte(digit)
	}
	return s, nil
}

// digits has the value of every lower-case hex digit, and -1 for every other character.
var digits = func() (values [256]int8) {
	for c := range values {
		values[c] = int8(strings.IndexByte("0123456789abcdef", byte(c)))
	}
	return values
}()

// Next is SHA-256(s): the element that stands before s in its chain, hence the one that was revealed before it.
func (s Seed) Next() Seed { return sha256.Sum256(s[:]) }

// String returns the 64 lower-case hex digits of the seed. An unrevealed seed must not be printed.
func (s Seed) String() string {
	var text [2 * len(s)]byte
	hex.Encode(text[:], s[:])
	return string(text[:])
}

// MarshalText returns the 64 lower-case hex digits of the seed. It never fails.
func (s Seed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads 64 lower-case hex digits. After an error s is as it was.
func (s *Seed) UnmarshalText(text []byte) error {
	seed, err := parseSeed(text)
	if err == nil {
		*s = seed
	}
	return err
}

// Tail derives the server tail of a lane from the master key (32 secret bytes), so that nothing secret has to be
// stored a session: HKDF-SHA256 without salt over the campaign's and session's ids and the lane's name.
func Tail(master []byte, campaign, session, lane string) Seed {
	info := "dice-tail/v1\n" + campaign + "\n" + session + "\n" + lane + "\n"
	key, err := hkdf.Key(sha256.New, master, nil, info, len(Seed{}))
	if err != nil {
		panic("dice: tail: " + err.Error()) // only for a length HKDF cannot give, or a master key that FIPS mode finds too short
	}
	return Seed(key)
}
