package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"tallystick/events/archive"
)

// A note in the data folder names the campaigns whose loss the host has
// accepted, one a line with the number of records that are left. Restore writes
// it; the next start begins just these ledgers anew, if they have just so many
// records, and removes it.

// accepted adds what a restore could not heal to the note.
func accepted(path string, losses []archive.Finding) error {
	left, err := readAccepted(path)
	if err != nil {
		return err
	}
	for _, loss := range losses {
		if loss.Kind == archive.Short && loss.N > 0 {
			left[loss.Campaign] = loss.N
		}
	}
	if len(left) == 0 {
		return nil
	}
	var text strings.Builder
	for _, campaign := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintln(&text, campaign, left[campaign])
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text.String()); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// readAccepted reads the note, by campaign.
func readAccepted(path string) (map[string]int64, error) {
	left := map[string]int64{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return left, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var campaign string
		var records int64
		if _, err := fmt.Sscanln(line, &campaign, &records); err != nil {
			return nil, fmt.Errorf("%s is not as restore wrote it: remove it, and restore again", path)
		}
		left[campaign] = records
	}
	return left, nil
}
