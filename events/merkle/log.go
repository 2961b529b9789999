package merkle

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A Log is what an origin names: "<server>/campaign/<campaign>" the first log
// of a campaign, with "/2" and so on behind it one begun anew after a loss.
type Log struct {
	Server   string
	Campaign string
	Number   int // from 1
}

// ParseOrigin reads an origin, the canonical form only.
func ParseOrigin(origin string) (Log, error) {
	server, name, found := cutLast(origin, "/campaign/")
	campaign, digits, anew := strings.Cut(name, "/")
	number := 1
	if anew {
		number, _ = strconv.Atoi(digits) // what is no number is refused below
	}
	log := Log{Server: server, Campaign: campaign, Number: number}
	if !found || server == "" || campaign == "" || number < 1 || log.Origin() != origin {
		return Log{}, fmt.Errorf("origin: %q is not the log of a campaign", origin)
	}
	return log, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Name is the log's name on its server: "<campaign>", "<campaign>/2" …
func (l Log) Name() string {
	if l.Number == 1 {
		return l.Campaign
	}
	return l.Campaign + "/" + strconv.Itoa(l.Number)
}

// Origin is the first line of the log's checkpoints.
func (l Log) Origin() string { return l.Server + "/campaign/" + l.Name() }

// Anew is a signer with the same key for another log of its campaign.
func (s *Signer) Anew(log Log) (*Signer, error) { return NewSigner(log.Server, log.Name(), s.seed) }

// endorsement is what a key signs to name its successor. The second line is no
// number: it can never be taken for a checkpoint.
func endorsement(old VKey, successor string) string {
	return old.Origin + "\nkey.rotated\n" + successor + "\n"
}

// Endorse makes the signed note by which a key names its successor.
func (s *Signer) Endorse(successor string) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: endorsement(s.vkey, successor)}, s.key)
	if err != nil {
		return nil, fmt.Errorf("endorse the new key of %s: %w", s.vkey.Origin, err)
	}
	return signed, nil
}

// CheckEndorsement checks that the key of one verifier key has named the other
// its successor, for the same log.
func CheckEndorsement(endorsed []byte, old, successor string) error {
	before, err := ParseVKey(old)
	if err != nil {
		return err
	}
	after, err := ParseVKey(successor)
	if err != nil {
		return err
	}
	if after.Origin != before.Origin || after.String() == before.String() {
		return fmt.Errorf("endorsement: %s is no other key of the log %s", successor, before.Origin)
	}
	known, err := verifiers([]string{old})
	if err != nil {
		return err
	}
	signed, err := note.Open(endorsed, known)
	if err != nil {
		return fmt.Errorf("endorsement: %w", err)
	}
	if signed.Text != endorsement(before, successor) || len(signed.UnverifiedSigs) > 0 {
		return fmt.Errorf("endorsement: it does not name %s", successor)
	}
	return checkSignatureLines(string(endorsed[len(signed.Text):]))
}
