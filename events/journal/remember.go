package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lastName is the file beside the server's own with the last sequence of each
// stream at the last clean stop. A stream never gets shorter, so it stays a true
// lower bound. The server cuts off a damaged end at its start without a word.
const lastName = "LAST"

// remember writes the last sequences, by partition, so that they survive a power cut.
func remember(folder string, last []uint64) error {
	var text bytes.Buffer
	for p, seq := range last {
		fmt.Fprintf(&text, "%s %d\n", streamName(p), seq)
	}
	path := filepath.Join(folder, lastName)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("journal: remember the last sequences: %w", err)
	}
	_, err = f.Write(text.Bytes())
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("journal: remember the last sequences: %w", err)
	}
	return nil
}

// remembered returns the last sequences of the last clean stop, by partition; 0
// where nothing is known.
func remembered(folder string, partitions int) ([]uint64, error) {
	last := make([]uint64, partitions)
	data, err := os.ReadFile(filepath.Join(folder, lastName))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: last sequences: %w", err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(data))); lines.Scan(); {
		var p int
		var seq uint64
		if _, err := fmt.Sscanf(lines.Text(), "LEDGER_%d %d", &p, &seq); err != nil || p < 0 || p >= partitions {
			return nil, fmt.Errorf("%w: file %s in %s: line %q", ErrDamaged, lastName, folder, lines.Text())
		}
		last[p] = seq
	}
	return last, nil
}
