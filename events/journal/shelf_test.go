package journal

import (
	"bytes"
	"errors"
	"testing"
)

// What a shelf gives is what was put there, however long; anything else is
// nothing.
func TestShelf(t *testing.T) {
	bucket, err := NewMemory(1).Bucket(t.Context(), "SHELF")
	if err != nil {
		t.Fatal(err)
	}
	s := NewShelf(bucket, []byte("key"), "label")
	const border = pieceBytes - 32 // where the seal and a value fill one piece
	for _, size := range []int{0, 1, border - 1, border, border + 1, border + pieceBytes, 3 * pieceBytes, 10} {
		value := bytes.Repeat([]byte{7}, size)
		if err := s.Put(t.Context(), "a", value); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), "a"); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%d bytes come back as %d, %v", size, len(got), err)
		}
	}
	long := bytes.Repeat([]byte("abc"), pieceBytes)
	if err := s.Put(t.Context(), "a", long); err != nil {
		t.Fatal(err)
	}
	none := func(what string, s *Shelf, name string) {
		t.Helper()
		if value, err := s.Get(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %d bytes, %v", what, len(value), err)
		}
	}
	none("nothing was put there", s, "b")
	none("another label", NewShelf(bucket, []byte("key"), "other"), "a")
	none("another key", NewShelf(bucket, []byte("kez"), "label"), "a")
	for piece := range 3 {
		key := s.piece("a", piece)
		good, _, err := bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{
			"a flipped bit": append([]byte{good[0] ^ 1}, good[1:]...), "a byte less": good[1:], "empty": nil,
		} {
			if _, err := bucket.Put(t.Context(), key, bad); err != nil {
				t.Fatal(err)
			}
			none(what, s, "a")
		}
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		none("a piece is missing", s, "a")
		if _, err := bucket.Put(t.Context(), key, good); err != nil {
			t.Fatal(err)
		}
	}
	for piece := range 3 { // those of one value under the name of another
		value, _, err := bucket.Get(t.Context(), s.piece("a", piece))
		if err == nil {
			_, err = bucket.Put(t.Context(), s.piece("b", piece), value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	none("under another name", s, "b")
	if got, err := s.Get(t.Context(), "a"); err != nil || !bytes.Equal(got, long) {
		t.Errorf("put right again it is %d bytes, %v", len(got), err)
	}
	section := s.Section("views", 1)
	if err := section.Put(t.Context(), "a", []byte("views")); err != nil {
		t.Fatal(err)
	}
	none("another format", s.Section("views", 2), "a")
	if got, err := s.Get(t.Context(), "a"); err != nil || !bytes.Equal(got, long) {
		t.Errorf("beside a section it is %d bytes, %v", len(got), err)
	}
	if got, err := section.Get(t.Context(), "a"); err != nil || string(got) != "views" {
		t.Errorf("a section gives %q, %v", got, err)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	none("dropped", s, "a")
}
