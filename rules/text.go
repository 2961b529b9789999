package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of what people write.
const (
	MaxName = 200   // characters of a name
	MaxText = 4_000 // characters of a note or a reason
)

// CheckName accepts a name of a person, character, campaign or thing: 1 to
// MaxName characters on one line, in composed form, so that two names that
// look the same are the same.
func CheckName(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("is empty")
	}
	return checkText(s, MaxName, "")
}

// CheckText accepts a longer text: up to MaxText characters, lines allowed.
func CheckText(s string) error { return checkText(s, MaxText, "\n\t") }

// Joiners are needed to write some languages and emoji; all other invisible
// characters could make one text look like another.
const joiners = "\u200c\u200d"

func checkText(s string, limit int, allowed string) error {
	if !utf8.ValidString(s) {
		return errors.New("is not UTF-8")
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return fmt.Errorf("has %d characters: must have at most %d", n, limit)
	}
	for _, r := range s {
		invisible := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
		if invisible && !strings.ContainsRune(allowed+joiners, r) {
			return fmt.Errorf("has the invisible character %U", r)
		}
	}
	if !norm.NFC.IsNormalString(s) {
		return errors.New("is in decomposed form: write it in composed form (Unicode NFC), or two names could look the same")
	}
	return nil
}

var handle = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,31}$`)

// CheckHandle accepts a participant's handle, which is also the name of their
// lane of dice (at most 63 characters, a number for each renewal included).
func CheckHandle(s string) error {
	switch {
	case !handle.MatchString(s):
		return errors.New("must be 1 to 32 of a-z, 0-9, dot and hyphen, beginning with a letter or digit")
	case s == SystemPrincipal || s == SecretLane || s == "admin":
		return errors.New("is reserved")
	}
	return nil
}
