package merkle

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// SeedSize is the length in bytes of the seed of an Ed25519 signing key.
const SeedSize = ed25519.SeedSize

const (
	ed25519Key = 1 // the algorithm byte before a public key in a signed note
	sigPrefix  = "— "
)

// A Checkpoint is a tree head: how many records the log of this origin holds
// and their root. One that comes from Open has been signed by the log.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   Hash
}

// text is the body of the signed note: three lines, no extension lines.
func (c Checkpoint) text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + c.Root.String() + "\n"
}

// A Signer signs the checkpoints of one campaign. It signs what it is told:
// the caller asks Guard first, and keeps the last checkpoint.
type Signer struct {
	key  note.Signer
	vkey VKey
	seed []byte
}

// NewSigner makes the signer of a campaign from the server's Ed25519 seed of
// SeedSize bytes. The origin is "<server>/campaign/<campaign>"; a log begun
// anew after a loss has "<campaign id>/2" as its campaign. Neither may be
// empty or hold a blank, a plus or a control character.
func NewSigner(server, campaign string, seed []byte) (*Signer, error) {
	if err := checkName("server", server); err != nil {
		return nil, err
	}
	if err := checkName("campaign", campaign); err != nil {
		return nil, err
	}
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("seed: %d bytes, want %d", len(seed), SeedSize)
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	vkey := VKey{Origin: server + "/campaign/" + campaign, Key: public}
	key, err := note.NewSigner(secretKey(vkey, seed))
	if err != nil {
		return nil, fmt.Errorf("make the signer of %s: %w", vkey.Origin, err)
	}
	return &Signer{key: key, vkey: vkey, seed: seed}, nil
}

// secretKey is the text form in which a signed note's signer takes its key.
func secretKey(vkey VKey, seed []byte) string {
	id := strings.Split(vkey.String(), "+")[1]
	secret := append([]byte{ed25519Key}, seed...)
	return "PRIVATE+KEY+" + vkey.Origin + "+" + id + "+" + base64.StdEncoding.EncodeToString(secret)
}

// checkName keeps a name usable as part of a signed note's key name.
func checkName(field, name string) error {
	bad := func(r rune) bool { return r == '+' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%s: %q is empty or holds a blank, a plus or a control character", field, name)
	}
	return nil
}

// Origin names the log: "<server>/campaign/<campaign>".
func (s *Signer) Origin() string { return s.vkey.Origin }

// VKey is the verifier key that players keep: "<origin>+<key id>+<key>".
func (s *Signer) VKey() string { return s.vkey.String() }

// Sign makes the signed checkpoint of a tree of this size and root. Other keys
// of the same log may sign it too, as while a key is being rotated.
func (s *Signer) Sign(size int64, root Hash, also ...*Signer) ([]byte, error) {
	head := Checkpoint{Origin: s.vkey.Origin, Size: size, Root: root}
	if err := head.check(); err != nil {
		return nil, err
	}
	keys := []note.Signer{s.key}
	for _, other := range also {
		if other.Origin() != s.Origin() {
			return nil, fmt.Errorf("sign checkpoint %d of %s: %s is another log", size, head.Origin, other.Origin())
		}
		keys = append(keys, other.key)
	}
	signed, err := note.Sign(&note.Note{Text: head.text()}, keys...)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint %d of %s: %w", size, head.Origin, err)
	}
	return signed, nil
}

func (c Checkpoint) check() error {
	if c.Size < 0 || c.Size > MaxSize {
		return fmt.Errorf("size: %d is not between 0 and %d", c.Size, int64(MaxSize))
	}
	if c.Size == 0 && c.Root != EmptyRoot {
		return errors.New("root: a tree without records has another root")
	}
	return nil
}

// A VKey is a verifier key: the public key of a log, bound to its origin.
type VKey struct {
	Origin string
	Key    ed25519.PublicKey
}

// ParseVKey reads the text form "<origin>+<key id>+<base64 key>". It takes the
// canonical form only, and only Ed25519 keys.
func ParseVKey(text string) (VKey, error) {
	if _, err := note.NewVerifier(text); err != nil {
		return VKey{}, fmt.Errorf("vkey: %w", err)
	}
	origin, rest, _ := strings.Cut(text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != 1+ed25519.PublicKeySize {
		return VKey{}, errors.New("vkey: the key is not an Ed25519 key in base64")
	}
	vkey := VKey{Origin: origin, Key: key[1:]}
	if err := checkName("vkey", origin); err != nil {
		return VKey{}, err
	}
	if vkey.String() != text {
		return VKey{}, errors.New("vkey: not in canonical form")
	}
	return vkey, nil
}

// String is the text form; ParseVKey reads it back.
func (v VKey) String() string {
	text, err := note.NewEd25519VerifierKey(v.Origin, v.Key)
	if err != nil {
		panic("merkle: " + err.Error()) // only the key's length can be wrong
	}
	return text
}

// Open reads a signed checkpoint and checks that one of the given keys signed
// it. Signatures of other keys (witnesses, a rotated key) are passed over; a
// wrong signature of a given key is an error. The form must be canonical: no
// extension lines, no second spelling of any number, hash or signature, and an
// origin that is the name of the key.
func Open(checkpoint []byte, vkeys ...string) (Checkpoint, error) {
	known, err := verifiers(vkeys)
	if err != nil {
		return Checkpoint{}, err
	}
	signed, err := note.Open(checkpoint, known)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	head, err := parseHead(signed.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := checkSignatureLines(string(checkpoint[len(signed.Text):])); err != nil {
		return Checkpoint{}, err
	}
	for _, signature := range signed.Sigs {
		if signature.Name == head.Origin {
			return head, nil
		}
	}
	return Checkpoint{}, fmt.Errorf("checkpoint: its origin %s is not the name of a key that signed it", head.Origin)
}

// Peek reads a signed checkpoint without asking who signed it: what it says is
// not to be believed before Open.
func Peek(checkpoint []byte) (Checkpoint, error) {
	text, _, found := strings.Cut(string(checkpoint), "\n\n")
	if !found {
		return Checkpoint{}, errors.New("checkpoint: no signature behind it")
	}
	return parseHead(text + "\n")
}

func verifiers(vkeys []string) (note.Verifiers, error) {
	var list []note.Verifier
	seen := make(map[string]bool, len(vkeys))
	for _, text := range vkeys {
		if seen[text] { // note calls a key given twice ambiguous
			continue
		}
		seen[text] = true
		if _, err := ParseVKey(text); err != nil {
			return nil, err
		}
		verifier, err := note.NewVerifier(text)
		if err != nil {
			return nil, fmt.Errorf("vkey: %w", err)
		}
		list = append(list, verifier)
	}
	return note.VerifierList(list...), nil
}

// parseHead reads the text of a checkpoint, whose signature is good.
func parseHead(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 { // the fourth is what follows the last LF: nothing
		return Checkpoint{}, fmt.Errorf("checkpoint: %d lines before the signatures, want 3", len(lines)-1)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: size %q is not a number of records", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: root %q is not a hash in base64", lines[2])
	}
	head := Checkpoint{Origin: lines[0], Size: size, Root: root}
	if err := head.check(); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	if head.text() != text {
		return Checkpoint{}, errors.New("checkpoint: not in canonical form")
	}
	return head, nil
}

// checkSignatureLines refuses second spellings of a signature: the note
// package takes base64 whose unused last bits are not zero.
func checkSignatureLines(block string) error {
	for line := range strings.Lines(strings.TrimPrefix(block, "\n")) {
		_, encoded, _ := strings.Cut(strings.TrimPrefix(line, sigPrefix), " ")
		encoded = strings.TrimSuffix(encoded, "\n")
		if _, err := base64.StdEncoding.Strict().DecodeString(encoded); err != nil {
			return errors.New("checkpoint: a signature is not in canonical base64")
		}
	}
	return nil
}
