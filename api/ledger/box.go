package ledger

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
)

// A Box keeps secrets on disk: AES-256-GCM under a key made from the master key,
// so that whoever reads the disk without it learns nothing.
type Box struct{ aead cipher.AEAD }

// NewBox makes the box of a purpose, which no other box opens.
func NewBox(master []byte, purpose string) (Box, error) {
	key, err := hkdf.Key(sha256.New, master, nil, purpose, 32)
	if err != nil {
		return Box{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Box{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Box{aead}, err
}

// Seal encrypts what is kept under a name.
func (b Box) Seal(name string, plain []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize())
	rand.Read(nonce)
	return b.aead.Seal(nonce, nonce, plain, []byte(name))
}

// Open decrypts what was kept under that name.
func (b Box) Open(name string, sealed []byte) ([]byte, error) {
	n := b.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("it is damaged")
	}
	plain, err := b.aead.Open(nil, sealed[:n], sealed[n:], []byte(name))
	if err != nil {
		return nil, errors.New("it is damaged, or was kept under another master key")
	}
	return plain, nil
}
