package journal

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a bucket has lost is told, also when another node had put it there, and also
// when it is written on: the server makes a bucket anew without a word, as two
// servers do that were emptied.
func TestBucketThatWentBackIsTold(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir(), -1)
	o := Options{URL: s.ClientURL(), Partitions: 1, Logger: slog.New(slog.DiscardHandler)}
	journals := make([]Journal, 2)
	for i := range journals {
		j, err := Connect(soon(t), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		journals[i] = j
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	store := streamsOf(t, conn)
	bucket := func(i int, name string) Bucket {
		t.Helper()
		b, err := journals[i].Bucket(soon(t), name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, name := range []string{"emptied", "removed", "whole"} {
		bucket(1, name)
		for _, key := range []string{"a", "b", "c"} {
			if _, err := bucket(0, name).Put(soon(t), key, []byte("kept")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, j := range journals {
		if lost := j.Health(soon(t)).Lost; len(lost) > 0 {
			t.Errorf("node %d says at the beginning: %q", i, lost)
		}
	}
	for _, name := range []string{"emptied", "removed"} {
		if err := store.DeleteKeyValue(soon(t), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.CreateKeyValue(soon(t), jetstream.KeyValueConfig{Bucket: "emptied"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i, j := range journals {
			lost := j.Health(soon(t)).Lost
			if len(lost) != 2 || !strings.HasPrefix(lost[0], "bucket emptied: ") || !strings.HasPrefix(lost[1], "bucket removed: ") {
				t.Errorf("node %d says: %q", i, lost)
			}
		}
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, err := bucket(0, "emptied").Put(soon(t), key, []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
	}
}
