package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A pipe cannot be read a second time, whatever its type says: who would read
// again must see that it cannot.
func TestPipeIsNotReadAgain(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pipe := source(r)
	defer pipe.Close()
	if _, ok := pipe.(io.ReaderAt); ok {
		t.Error("a pipe can be read again")
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte("line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := openLines(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, ok := in.ReadCloser.(io.ReaderAt); !ok {
		t.Error("a file cannot be read again")
	}
}
