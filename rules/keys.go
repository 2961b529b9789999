package rules

import (
	"errors"
	"fmt"
	"slices"

	"tallystick/events"
	"tallystick/events/merkle"
)

const recoverType = "ledger.recover"

// LogKeys are the keys with which a campaign's checkpoints are signed.
type LogKeys struct {
	VKey   string // verifies them
	Former string // signs beside it until a session has closed; empty: none
}

// after is how an event leaves the keys.
func (k LogKeys) after(e events.Event) LogKeys {
	switch e := e.(type) {
	case *events.CampaignCreated:
		return LogKeys{VKey: e.VKey}
	case *events.LedgerRecovered:
		return LogKeys{VKey: e.VKey}
	case *events.KeyRotated:
		return LogKeys{VKey: e.New, Former: e.Old}
	case *events.SessionClosed:
		return LogKeys{VKey: k.VKey}
	}
	return k
}

// sign notes the keys that sign from here on.
func (c *Campaign) sign(keys LogKeys) {
	if keys.VKey != c.Keys.VKey {
		c.VKeys = append(slices.Clip(c.VKeys), keys.VKey)
	}
	c.Keys = keys
}

// KeysAfter are the keys that sign the checkpoint over these facts.
func (c *Campaign) KeysAfter(facts []events.Fact) LogKeys {
	k := c.Keys
	for _, f := range facts {
		k = k.after(f.Event)
	}
	return k
}

// LedgerRecover is the data of ledger.recover.
type LedgerRecover struct {
	Lost string `json:"lost" doc:"the last signed checkpoint, which covers more than is left"`
	Size int64  `json:"size" doc:"how many records are left"`
	VKey string `json:"vkey" doc:"verifies the checkpoints of the new log"`
}

func recoverLedger(t *Turn, d *LedgerRecover) error {
	e := &events.LedgerRecovered{Lost: d.Lost, Size: d.Size, VKey: d.VKey}
	if _, err := CheckRecovered(t.c.ID, t.c.Keys, t.c.Next, e); err != nil {
		return Reject("not_recoverable", "", "%s", err)
	}
	t.Emit(e)
	return nil
}

// KeyRotate is the data of key.rotate.
type KeyRotate struct {
	Old      string `json:"old" doc:"verifier key of the checkpoints so far"`
	New      string `json:"new" doc:"of those from now on"`
	Endorsed string `json:"endorsed" doc:"signed note by which the old key names the new one"`
}

func rotateKey(t *Turn, d *KeyRotate) error {
	e := &events.KeyRotated{Old: d.Old, New: d.New, Endorsed: d.Endorsed}
	if err := CheckRotated(t.c.Keys, e); err != nil {
		return Reject("not_rotatable", "", "%s", err)
	}
	t.Emit(e)
	return nil
}

// CheckRecovered checks a new log after a loss, at record n of a campaign whose
// checkpoints these keys signed: it begins where the records end that were
// left, under a later origin of the same campaign with the same key, and names
// a checkpoint over more. It gives that checkpoint. Who signed it is not asked:
// it is the server's word against itself, and the record that made its key
// known may be among those that are lost.
func CheckRecovered(campaign string, keys LogKeys, n int64, e *events.LedgerRecovered) (merkle.Checkpoint, error) {
	var lost merkle.Checkpoint
	if e.Size != n {
		return lost, fmt.Errorf("%d records were left, but it is record %d", e.Size, n)
	}
	before, err := merkle.ParseVKey(keys.VKey)
	if err != nil {
		return lost, err
	}
	after, err := merkle.ParseVKey(e.VKey)
	if err != nil {
		return lost, err
	}
	if lost, err = merkle.Peek([]byte(e.Lost)); err != nil {
		return lost, fmt.Errorf("the lost %w", err)
	}
	old, errOld := merkle.ParseOrigin(before.Origin)
	begun, errBegun := merkle.ParseOrigin(after.Origin)
	was, errWas := merkle.ParseOrigin(lost.Origin)
	if err := errors.Join(errOld, errBegun, errWas); err != nil {
		return lost, err
	}
	for _, log := range []merkle.Log{begun, was} {
		if log.Server != old.Server || log.Campaign != campaign {
			return lost, fmt.Errorf("%s is no log of this campaign", log.Origin())
		}
	}
	if !after.Key.Equal(before.Key) {
		return lost, errors.New("the new log has another key than the one before")
	}
	if begun.Number <= old.Number || begun.Number <= was.Number {
		return lost, fmt.Errorf("the log %s was begun before", begun.Origin())
	}
	if lost.Size <= e.Size {
		return lost, fmt.Errorf("nothing is lost: the checkpoint covers %d records, and %d are left", lost.Size, e.Size)
	}
	return lost, nil
}

// CheckRotated checks that the key which signed a campaign's checkpoints so
// far has named the new one.
func CheckRotated(keys LogKeys, e *events.KeyRotated) error {
	if e.Old != keys.VKey {
		return errors.New("the old key is not the one that signs the checkpoints")
	}
	return merkle.CheckEndorsement([]byte(e.Endorsed), e.Old, e.New)
}

// lost marks the session that a loss fell into. The dice of the rolls that are
// missing have been seen.
func (c *Campaign) lost() {
	if c.Session != nil {
		s := *c.Session
		s.Lost = true
		c.Session = &s
	}
}

// unforeseen refuses to throw dice of a session that a loss fell into: whoever
// saw the lost rolls knows them. What an advance under way asks for is not
// anybody's choice.
func (t *Turn) unforeseen() error {
	if t.c.Session.Lost && t.cmd.Type != resumeType {
		return Reject("session_lost", "", "records of this session are lost, and with them rolls whose dice have been seen: close it, and open another")
	}
	return nil
}
