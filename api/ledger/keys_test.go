package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tallystick/api/ledger"
)

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
