package replay_test

import (
	"bytes"
	"errors"
	"testing"

	"tallystick/replay"
	"tallystick/rules"
)

// Whatever is given as an export is replayed, found to differ, or said to be
// unusable; it never panics, and what was cut into commits is what was given.
func FuzzExport(f *testing.F) {
	n := begin(f)
	n.Must("gm", "session.open", `{"title":"One","kind":"table"}`)
	n.Must("anna", "roll", `{"expression":"2d6"}`)
	whole := export(n.lines())
	f.Add(export(n.lines()[:2]))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.Replace(whole, []byte(`"total":`), []byte(`"total":1`), 1))
	f.Add(bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("\n"))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := replay.New(rules.Library{embers})
		err := r.Ledger(bytes.NewReader(in))
		var diverged *replay.Divergence
		var unusable *replay.Unusable
		if err != nil && !errors.As(err, &diverged) && !errors.As(err, &unusable) {
			t.Errorf("an error without a name: %v", err)
		}
		var commits [][]byte
		if replay.Commits(bytes.NewReader(in), func(c []byte) error { commits = append(commits, bytes.Clone(c)); return nil }) == nil {
			if joined := bytes.Join(commits, []byte("\n")); !bytes.Equal(joined, bytes.TrimSuffix(in, []byte("\n"))) {
				t.Errorf("%q was cut into %q", in, joined)
			}
		}
	})
}
