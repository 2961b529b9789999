package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// A KeyReport is a key that signs checkpoints of a campaign, and how it came
// to do so.
type KeyReport struct {
	N    int64  `json:"n"` // record from which on it does
	VKey string `json:"vkey"`
	// Signed is set when the ledger was begun anew here after a loss: how many
	// records the last checkpoint before it covered.
	Signed int64 `json:"signed,omitzero"`
}

// A LostReport is a checkpoint of a log that ended in a loss: records that it
// saw are missing, and the ledger says so.
type LostReport struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // records it saw
	Left int64  `json:"left"` // records that were left
}

// waiting is a checkpoint that no key so far has signed.
type waiting struct {
	note   Note
	shown  merkle.Checkpoint
	server bool
	err    error
}

// keyed takes an event that says with which key checkpoints are signed from
// here on.
func (v *Verifier) keyed(n int64, e events.Event) error {
	keys := rules.LogKeys{VKey: v.newest()}
	switch e := e.(type) {
	case *events.KeyRotated:
		if err := rules.CheckRotated(keys, e); err != nil {
			return err
		}
		v.keys = append(v.keys, KeyReport{N: n, VKey: e.New})
	case *events.LedgerRecovered:
		lost, err := rules.CheckRecovered(v.table.campaign, keys, n, e)
		if err != nil {
			return err
		}
		v.keys = append(v.keys, KeyReport{N: n, VKey: e.VKey, Signed: lost.Size})
	}
	return v.attribute()
}

func (v *Verifier) newest() string { return v.keys[len(v.keys)-1].VKey }

// attribute takes the checkpoints that a key known by now has signed as what
// they say. Those of a log that has ended in a loss, and which saw more than
// was left, cannot be held against anything.
func (v *Verifier) attribute() error {
	known, logs, err := v.known()
	if err != nil {
		return err
	}
	var rest []waiting
	for _, w := range v.waiting {
		log, err := merkle.ParseOrigin(w.shown.Origin)
		if err != nil {
			return err
		}
		if log.Number > logs {
			w.err = fmt.Errorf("the ledger does not know the log %s", w.shown.Origin)
			rest = append(rest, w)
			continue
		}
		signed, err := merkle.Open(w.note.Text, known(w.shown.Origin)...)
		if err != nil {
			w.err = err
			rest = append(rest, w)
			continue
		}
		v.heads = append(v.heads, head{signed, w.note.Name, w.server})
	}
	v.waiting = rest
	slices.SortStableFunc(v.heads, func(a, b head) int { return cmp.Compare(a.Size, b.Size) })
	return v.settle()
}

// known gives the verifier keys of a log by its origin, for every key so far,
// and the number of the newest log.
func (v *Verifier) known() (vkeys func(origin string) []string, logs int, err error) {
	var keys []merkle.VKey
	for _, k := range v.keys {
		key, err := merkle.ParseVKey(k.VKey)
		if err != nil {
			return nil, 0, err
		}
		log, err := merkle.ParseOrigin(key.Origin)
		if err != nil {
			return nil, 0, err
		}
		keys, logs = append(keys, key), log.Number
	}
	return func(origin string) (list []string) {
		for _, k := range keys {
			list = append(list, merkle.VKey{Origin: origin, Key: k.Key}.String())
		}
		return list
	}, logs, nil
}

// settle holds the checkpoints over what has been read, and sets those aside
// whose records are lost.
func (v *Verifier) settle() error {
	var rest []head
	for _, h := range v.heads {
		left, ended, err := v.ended(h.Origin)
		switch {
		case err != nil:
			return err
		case ended && h.Size > left:
			v.missing = append(v.missing, LostReport{Name: h.name, Size: h.Size, Left: left})
		case h.Size <= v.tree.Size():
			v.hold(h, v.rootAt(h.Size))
		default:
			rest = append(rest, h)
		}
	}
	v.heads = rest
	return nil
}

func (v *Verifier) rootAt(size int64) merkle.Hash {
	var tree merkle.Frontier
	for _, leaf := range v.leaves[:size] {
		tree.AppendLeaf(leaf)
	}
	return tree.Root()
}

// ended reports whether a log has ended in a loss, and how many of its records
// were left.
func (v *Verifier) ended(origin string) (left int64, ended bool, err error) {
	log, err := merkle.ParseOrigin(origin)
	if err != nil {
		return 0, false, err
	}
	for _, k := range v.keys {
		key, err := merkle.ParseVKey(k.VKey)
		if err != nil {
			return 0, false, err
		}
		anew, err := merkle.ParseOrigin(key.Origin)
		if err != nil {
			return 0, false, err
		}
		if anew.Number > log.Number {
			return k.N, true, nil
		}
	}
	return 0, false, nil
}

// keysHold checks what can only be said at the end: that the keys which were
// given are among those of the ledger, and that each checkpoint has been signed
// by one; that of the export by the newest, to which all before it have led.
func (v *Verifier) keysHold() error {
	for _, w := range v.waiting {
		return unsigned(w.note, w.err)
	}
	its := func(vkey string) bool {
		return vkey == "" || slices.ContainsFunc(v.keys, func(k KeyReport) bool { return k.VKey == vkey })
	}
	switch {
	case !its(v.evidence.VKey):
		return errors.New("the campaign began with another key than the one that was given out")
	case !its(v.evidence.ServerVKey):
		return errors.New("the campaign began with another key than the one in the export")
	case v.evidence.Server == nil:
		return nil
	}
	if _, err := merkle.Open(v.evidence.Server.Text, v.newest()); err != nil {
		return unsigned(*v.evidence.Server, err)
	}
	return nil
}

// keyNotes says in words what the keys of a ledger mean.
func (r *Report) keyNotes() (notes []string) {
	note := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	for _, k := range r.Keys[1:] {
		if k.Signed > 0 {
			note("the ledger was begun anew at record %d after a loss: the last checkpoint before covered %d records, and those from %d on are lost", k.N, k.Signed, k.N)
		} else {
			note("the server signs with a new key from record %d on; the key before has signed for it", k.N)
		}
	}
	for _, l := range r.Lost {
		note("the checkpoint %s saw %d records of the log before the loss: those from %d on are lost, and it cannot be held against the ledger", l.Name, l.Size, l.Left)
	}
	return notes
}
