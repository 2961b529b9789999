package journal

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// pieceBytes is how much of a value one key of a shelf's bucket holds.
const pieceBytes = 512 << 10

// A Shelf keeps what can be made anew from the ledger, such as snapshots: values
// of any size, cut into pieces that lie in a Bucket. It vouches for what it gives:
// a value that is cut short, mixed from two, changed by a single bit, or put there
// by another program or for another purpose is as good as none. Nothing depends on
// it: whoever uses it must be able to do without.
type Shelf struct {
	bucket Bucket
	key    []byte
	label  string
	prefix string // of its keys in the bucket
}

// NewShelf is a shelf over a bucket. key, which nobody else has, seals what it
// keeps; values of a shelf with another label are not seen.
func NewShelf(bucket Bucket, key []byte, label string) *Shelf {
	return &Shelf{bucket, bytes.Clone(key), label, ""}
}

// Section is the part of the shelf for one purpose, whose values have a format
// with a number: values of another format are not seen, and are overwritten.
func (s *Shelf) Section(purpose string, format int) *Shelf {
	return &Shelf{s.bucket, s.key, fmt.Sprintf("%s\n%d", s.label, format), s.prefix + purpose + "/"}
}

// seal is a MAC over a value, its name and its label.
func (s *Shelf) seal(name string, value []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "%s\n%s\n%d\n", s.label, s.prefix+name, len(value))
	mac.Write(value)
	return mac.Sum(nil)
}

func (s *Shelf) piece(name string, i int) string { return fmt.Sprintf("%s%s/%d", s.prefix, name, i) }

// Put keeps a value under a name in place of the one before. The name must be fit
// for a key of the bucket. Until it returns without an error, there may be none.
func (s *Shelf) Put(ctx context.Context, name string, value []byte) error {
	sealed := append(s.seal(name, value), value...)
	i := 0
	for rest := sealed; len(rest) > 0; i++ {
		n := min(len(rest), pieceBytes)
		if _, err := s.bucket.Put(ctx, s.piece(name, i), rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(sealed)%pieceBytes == 0 { // a full last piece: mark the end
		if _, err := s.bucket.Put(ctx, s.piece(name, i), nil); err != nil {
			return err
		}
	}
	return nil
}

// Get gives the value of a name. It is ErrNotFound when there is none, or none
// that can be trusted.
func (s *Shelf) Get(ctx context.Context, name string) ([]byte, error) {
	var sealed []byte
	for i, more := 0, true; more; i++ {
		piece, _, err := s.bucket.Get(ctx, s.piece(name, i))
		if err != nil {
			return nil, err
		}
		sealed, more = append(sealed, piece...), len(piece) == pieceBytes
	}
	if len(sealed) < sha256.Size {
		return nil, fmt.Errorf("%w: %s is cut short", ErrNotFound, name)
	}
	value := sealed[sha256.Size:]
	if !hmac.Equal(sealed[:sha256.Size], s.seal(name, value)) {
		return nil, fmt.Errorf("%w: %s is damaged, or of another program", ErrNotFound, name)
	}
	return value, nil
}

// Drop forgets the value of a name.
func (s *Shelf) Drop(ctx context.Context, name string) error {
	return s.bucket.Delete(ctx, s.piece(name, 0))
}
