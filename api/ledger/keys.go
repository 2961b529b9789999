package ledger

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Keys are the secrets of a server, 32 bytes each. Whoever has Master foresees
// the server's part of every die; whoever has Signing can sign a forged
// history. Neither is ever logged, sent or put into the ledger.
type Keys struct {
	Master  []byte // the dice chains grow from it
	Signing []byte // Ed25519 seed of the checkpoints' signature
	Former  []byte // the one before while keys are being rotated, else nil
}

// Names of the files a data folder keeps its secrets in, each of mode 0600.
const (
	MasterFile  = "master.key"
	SigningFile = "signing.key"
	FormerFile  = "signing.key.old"
	AdminFile   = "admin.token"
)

// LoadKeys reads the keys of a data folder. It makes them when the ledger is
// new; a ledger that has records needs the keys it was begun with. It refuses a
// key file that others may read.
func LoadKeys(dir string, newLedger bool) (Keys, error) {
	master, err := loadSecret(filepath.Join(dir, MasterFile), newLedger)
	if err != nil {
		return Keys{}, err
	}
	former, err := readFormer(dir)
	if err != nil {
		return Keys{}, err
	}
	if former != nil {
		if err := finishRotateKey(dir); err != nil {
			return Keys{}, err
		}
	}
	signing, err := loadSecret(filepath.Join(dir, SigningFile), newLedger)
	return Keys{Master: master, Signing: signing, Former: former}, err
}

// ErrRotating: a rotation of the signing key is under way; ErrNotRotating:
// none is.
var (
	ErrRotating    = errors.New("a key rotation is under way: the key before is still there")
	ErrNotRotating = errors.New("no key rotation is under way")
)

// nextFile has the new key until the one before is out of its way.
const nextFile = "signing.key.next"

// RotateKey makes a new signing key for a data folder that nobody serves, and
// keeps the one before beside it. A stop in between is completed by the next
// LoadKeys.
func RotateKey(dir string) error {
	signing, former := filepath.Join(dir, SigningFile), filepath.Join(dir, FormerFile)
	if _, err := os.Lstat(former); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = ErrRotating
		}
		return err
	}
	if _, err := readKey(signing); err != nil {
		return err
	}
	if _, err := loadSecret(filepath.Join(dir, nextFile), true); err != nil {
		return err
	}
	if err := os.Rename(signing, former); err != nil {
		return err
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	return finishRotateKey(dir)
}

// readFormer reads the key before, nil when there is none. One that was
// overwritten when the power went is removed.
func readFormer(dir string) ([]byte, error) {
	path := filepath.Join(dir, FormerFile)
	text, err := readSecret(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case text != "" && strings.Trim(text, "\x00") == "":
		return nil, DestroyFormer(dir)
	}
	return parseKey(path, text)
}

// finishRotateKey puts the new key in its place, unless that was done.
func finishRotateKey(dir string) error {
	err := os.Rename(filepath.Join(dir, nextFile), filepath.Join(dir, SigningFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(dir)
}

// DestroyFormer overwrites and removes the key before. What a backup or the
// disk itself keeps of it is out of its reach.
func DestroyFormer(dir string) error {
	path := filepath.Join(dir, FormerFile)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, info.Size()), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = syncFolder(dir)
	}
	return err
}

func loadSecret(path string, mayMake bool) ([]byte, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !mayMake {
		return nil, fmt.Errorf("%s is missing, but the ledger has records that were made with it: put back the copy you keep elsewhere", path)
	}
	text, err := loadOrMake(path, func() string {
		b := make([]byte, 32)
		rand.Read(b)
		return sealKeyText(b)
	})
	if err != nil {
		return nil, err
	}
	return parseKey(path, text)
}

func readKey(path string) ([]byte, error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	return parseKey(path, text)
}

func parseKey(path, text string) ([]byte, error) {
	digits, _, _ := strings.Cut(text, " ")
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 32 || sealKeyText(b) != text {
		return nil, fmt.Errorf("%s does not hold a key of this program, or is damaged: put back the copy you keep elsewhere", path)
	}
	return b, nil
}

// sealKeyText writes a key with a check behind it, so that a flipped bit is
// never taken for another key.
func sealKeyText(key []byte) string {
	check := sha256.Sum256(key)
	return hex.EncodeToString(key) + " " + hex.EncodeToString(check[:4])
}

// loadOrMake reads a secret file, or writes what make gives to a new one and
// has it on disk before it returns.
func loadOrMake(path string, make func() string) (string, error) {
	text, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	text = make()
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if _, err = f.WriteString(text + "\n"); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	return text, err
}

func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s may be read by others (mode %04o): make it 0600", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
