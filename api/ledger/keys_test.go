package ledger_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tallystick/api/ledger"
)

// A rotation that was stopped at any step is completed at the next start, and
// so is the destruction of the old key.
func TestRotationInterrupted(t *testing.T) {
	dir := t.TempDir()
	before, err := ledger.LoadKeys(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.RotateKey(dir); err != nil {
		t.Fatal(err)
	}
	rotated, err := ledger.LoadKeys(dir, false)
	if err != nil || !bytes.Equal(rotated.Former, before.Signing) || bytes.Equal(rotated.Signing, before.Signing) {
		t.Fatalf("the key before is not kept beside a new one: %v", err)
	}
	if err := ledger.RotateKey(dir); !errors.Is(err, ledger.ErrRotating) {
		t.Errorf("a rotation during a rotation: %v", err)
	}

	// The old key has made way, and the new one is not in its place yet.
	signing, former := filepath.Join(dir, ledger.SigningFile), filepath.Join(dir, ledger.FormerFile)
	if err := os.Rename(signing, filepath.Join(dir, "signing.key.next")); err != nil {
		t.Fatal(err)
	}
	if again, err := ledger.LoadKeys(dir, false); err != nil || !bytes.Equal(again.Signing, rotated.Signing) || !bytes.Equal(again.Former, before.Signing) {
		t.Fatalf("a rotation stopped in the middle is not completed: %v", err)
	}

	// The old key is overwritten, and not removed yet.
	info, err := os.Stat(former)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(former, make([]byte, info.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	last, err := ledger.LoadKeys(dir, false)
	if err != nil || last.Former != nil || !bytes.Equal(last.Signing, rotated.Signing) {
		t.Fatalf("a key that was overwritten keeps the ledger from opening: %v", err)
	}
	if _, err := os.Stat(former); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the overwritten key is still there: %v", err)
	}
}

// Keys are made once and read again; every flipped bit of a key file is
// noticed, and so is a file that others may read.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	made, err := ledger.LoadKeys(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ledger.LoadKeys(dir, true)
	if err != nil || !bytes.Equal(made.Master, again.Master) || !bytes.Equal(made.Signing, again.Signing) || bytes.Equal(made.Master, made.Signing) {
		t.Fatalf("the keys are others when read again: %v", err)
	}
	for _, name := range []string{ledger.MasterFile, ledger.SigningFile} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range (len(whole) - 1) * 8 {
			flipped := bytes.Clone(whole)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			if k, err := ledger.LoadKeys(dir, true); err == nil && (!bytes.Equal(k.Master, made.Master) || !bytes.Equal(k.Signing, made.Signing)) {
				t.Fatalf("%s with bit %d flipped is taken for another key", name, bit)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.LoadKeys(dir, true); err == nil {
			t.Errorf("%s may be read by others", name)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, ledger.MasterFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.LoadKeys(dir, false); err == nil {
		t.Error("a lost key was replaced although the ledger has records")
	}
}
