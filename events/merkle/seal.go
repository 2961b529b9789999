package merkle

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// SaltSize is the length in bytes of the salt of a seal.
const SaltSize = 32

// ErrSeal says that a payload is not what was sealed.
var ErrSeal = errors.New("this is not what was sealed")

// Seal commits to a payload without showing it: HMAC-SHA256 with the salt as
// key, 32 bytes. The salt is SaltSize random bytes, used once; Seal panics on
// another length, because HMAC pads keys: a shorter salt and the same one with
// zeros behind it would give one seal.
func Seal(salt, payload []byte) []byte {
	if len(salt) != SaltSize {
		panic(fmt.Sprintf("merkle: a salt of %d bytes, want %d", len(salt), SaltSize))
	}
	mac := hmac.New(sha256.New, salt)
	mac.Write(payload)
	return mac.Sum(nil)
}

// CheckSeal checks that salt and payload, byte for byte, are what was sealed.
// If they are not, it gives ErrSeal.
func CheckSeal(seal, salt, payload []byte) error {
	if len(salt) != SaltSize {
		return fmt.Errorf("salt: %d bytes, want %d", len(salt), SaltSize)
	}
	if !hmac.Equal(seal, Seal(salt, payload)) {
		return ErrSeal
	}
	return nil
}
