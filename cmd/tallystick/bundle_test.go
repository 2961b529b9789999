package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// packed is a zip of files, in the order of their names given.
func packed(t testing.TB, names []string, texts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(texts[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Whatever is given as a zipped bundle, broken as a zip or in one of its files,
// is refused, said to be unusable, or verified; and verified, against a
// checkpoint that was kept, it is a bundle of the honest records and no others.
func FuzzBundle(f *testing.F) {
	dir := bundle(f)
	var texts [][]byte
	names := []string{eventsFile, checkpointFile, vkeyFile}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, text)
	}
	honest, whole := texts[0], packed(f, names, texts...)
	path := filepath.Join(f.TempDir(), "bundle"+zipSuffix)
	checkpoint, key := filepath.Join(dir, "kept"), filepath.Join(dir, vkeyFile)
	for file := range names {
		f.Add(uint8(file), uint(3), uint(2), []byte("xy"))
		f.Add(uint8(file), uint(0), uint(1<<20), []byte(nil))
		f.Add(uint8(file), uint(len(texts[file])), uint(0), texts[file])
	}
	f.Add(uint8(3), uint(30), uint(4), []byte("EVEN")) // the zip itself
	f.Add(uint8(3), uint(len(whole)), uint(0), whole)
	f.Add(uint8(4), uint(0), uint(0), []byte("{}\n")) // a second file of the same name
	f.Fuzz(func(t *testing.T, file uint8, at, cut uint, insert []byte) {
		spoilt := func(text []byte) []byte {
			from := min(at, uint(len(text)))
			return bytes.Join([][]byte{text[:from], insert, text[min(from+min(cut, 1<<20), uint(len(text))):]}, nil)
		}
		var data []byte
		switch {
		case int(file) < len(names):
			files := append([][]byte{}, texts...)
			files[file] = spoilt(files[file])
			data = packed(t, names, files...)
		case file == 4:
			data = packed(t, append([]string{eventsFile}, names...), append([][]byte{spoilt(honest)}, texts...)...)
		default:
			data = spoilt(whole)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, kept := range [][]string{{checkpoint}, nil} {
			flags := verifyFlags{checkpoints: kept, vkey: key}
			in, evidence, err := flags.open(path)
			if err != nil {
				continue // no bundle
			}
			err = runVerify(io.Discard, in.ReadCloser, evidence, true)
			in.Close()
			if coded := (*codeError)(nil); err != nil && !errors.As(err, &coded) {
				t.Errorf("an error without a code: %v", err)
			}
			if err != nil || kept == nil {
				continue
			}
			if in, err = openBundle(path); err != nil {
				t.Fatal(err)
			}
			records, err := io.ReadAll(in)
			in.Close()
			if err != nil || !bytes.HasPrefix(records, honest) {
				t.Errorf("verified, and it holds %q, %v", records, err)
			}
		}
	})
}

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
