package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"tallystick/events/journal"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// signing is what signs a campaign's checkpoints: nothing when another server
// does; two keys until a session has closed after a rotation.
type signing struct {
	keys        rules.LogKeys
	now, former *merkle.Signer
}

// signers makes what signs under these keys, and keeps it.
func (e *entry) signers(keys rules.LogKeys) (signing, error) {
	if e.signing.keys == keys {
		return e.signing, nil
	}
	s := signing{keys: keys}
	var err error
	if s.now, err = signerOf(e.campaign, keys.VKey, e.keys); err != nil {
		return signing{}, err
	}
	if s.now != nil && keys.Former != "" {
		// Where the old key is destroyed already, the new one signs alone.
		if s.former, err = signerOf(e.campaign, keys.Former, e.keys); err != nil {
			return signing{}, err
		}
	}
	e.signing = s
	return s, nil
}

// signerOf is what signs with the key that this verifies, nil when it is none
// of this server's.
func signerOf(campaign, vkey string, keys Keys) (*merkle.Signer, error) {
	signer, err := signerWith(campaign, vkey, keys.Signing)
	if err != nil || signer != nil || keys.Former == nil {
		return signer, err
	}
	return signerWith(campaign, vkey, keys.Former)
}

func signerWith(campaign, vkey string, seed []byte) (*merkle.Signer, error) {
	key, err := merkle.ParseVKey(vkey)
	if err != nil {
		return nil, err
	}
	log, err := merkle.ParseOrigin(key.Origin)
	if err != nil || log.Campaign != campaign {
		return nil, nil
	}
	signer, err := merkle.NewSigner(log.Server, log.Name(), seed)
	if err != nil || signer.VKey() != vkey {
		return nil, err
	}
	return signer, nil
}

// log names a campaign's log in the store of checkpoints.
func (e *entry) log() string {
	origin, _, _ := strings.Cut(e.state.Keys.VKey, "+")
	return logName(origin, e.campaign)
}

func logName(origin, campaign string) string {
	log, err := merkle.ParseOrigin(origin)
	if err != nil {
		return campaign
	}
	return log.Name()
}

// rotate records that this server signs with a new key, where the campaign
// still has the one before.
func (l *Ledger) rotate(e *entry) error {
	for e.keys.Former != nil && e.state.Next > 0 {
		former, err := signerWith(e.campaign, e.state.Keys.VKey, e.keys.Former)
		if err != nil || former == nil {
			return err
		}
		if err := l.finish(e); err != nil {
			return err
		}
		cmd, err := rotation(e, former)
		if err != nil {
			return err
		}
		_, err = l.commit(e, cmd)
		if errors.Is(err, journal.ErrConflict) {
			err = l.catchUp(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rotation is the command by which a campaign's key is rotated. Its id follows
// from the keys, so that two nodes make one and the same.
func rotation(e *entry, former *merkle.Signer) (rules.Command, error) {
	log, err := merkle.ParseOrigin(former.Origin())
	if err != nil {
		return rules.Command{}, err
	}
	signer, err := merkle.NewSigner(log.Server, log.Name(), e.keys.Signing)
	if err != nil {
		return rules.Command{}, err
	}
	endorsed, err := former.Endorse(signer.VKey())
	if err != nil {
		return rules.Command{}, err
	}
	return program(e.campaign, "key.rotate", signer.VKey(), &rules.KeyRotate{Old: former.VKey(), New: signer.VKey(), Endorsed: string(endorsed)})
}

// program is a command that the program itself gives, with an id that follows
// from its name.
func program(campaign, typ, name string, data any) (rules.Command, error) {
	root, err := uuid.Parse(campaign)
	if err != nil {
		return rules.Command{}, err
	}
	raw, err := rules.Canonical(data)
	id := uuid.NewSHA1(root, []byte(typ+" "+name))
	return rules.Command{ID: id.String(), By: rules.SystemPrincipal, Type: typ, Data: raw}, err
}

// Rotated reports whether a campaign is done with the key before: it never had
// it, or a session has closed since the new one signs.
func (l *Ledger) Rotated(ctx context.Context, campaign string) (done bool, err error) {
	err = l.with(ctx, campaign, func(e *entry) error {
		if done = l.cfg.Keys.Former == nil; done {
			return nil
		}
		for _, vkey := range []string{e.state.Keys.VKey, e.state.Keys.Former} {
			if vkey == "" {
				continue
			}
			if former, err := signerWith(e.campaign, vkey, l.cfg.Keys.Former); err != nil || former != nil {
				return err
			}
		}
		done = true
		return nil
	})
	return done, err
}

// missingError says that a ledger ends before its last signed checkpoint.
type missingError struct{ has, signed int64 }

func (m *missingError) Error() string {
	return fmt.Sprintf("records %d to %d are missing: the last signed checkpoint covers %d records, the ledger has %d", m.has, m.signed-1, m.signed, m.has)
}

// unreadError says from which record on a ledger cannot be read.
type unreadError struct {
	n   int64
	err error
}

func (u *unreadError) Error() string {
	return fmt.Sprintf("records from %d on cannot be read: %v", u.n, u.err)
}

func (u *unreadError) Unwrap() error { return u.err }

// StoppedAt is the record from which on a ledger is missing or cannot be read, by
// an error of Red; ok is false if the error does not say.
func StoppedAt(err error) (n int64, ok bool) {
	var missing *missingError
	var unread *unreadError
	switch {
	case errors.As(err, &missing):
		return missing.has, true
	case errors.As(err, &unread):
		return unread.n, true
	}
	return 0, false
}

// mayRecover reports whether a campaign may be begun anew: records are missing,
// and the host has accepted just this loss.
func (l *Ledger) mayRecover(e *entry, err error) bool {
	var missing *missingError
	left, accepted := l.cfg.Recover[e.campaign]
	return accepted && errors.As(err, &missing) && missing.has == left && left > 0
}

// recover begins a campaign's ledger anew after a loss. Its last checkpoint
// goes into the record, and stays where it is kept.
func (l *Ledger) recover(ctx context.Context, e *entry) error {
	log, lost, err := l.newestHead(ctx, e)
	if err != nil {
		return err
	}
	s, err := e.signers(e.state.Keys)
	if err == nil && s.now == nil {
		err = &RedError{Campaign: e.campaign, Err: errors.New("records are missing, and this server has not the key that could begin the ledger anew")}
	}
	if err != nil {
		return err
	}
	log.Number++
	signer, err := s.now.Anew(log)
	if err != nil {
		return err
	}
	cmd, err := program(e.campaign, "ledger.recover", signer.Origin(), &rules.LedgerRecover{Lost: string(lost), Size: e.tree.Size(), VKey: signer.VKey()})
	if err != nil {
		return err
	}
	_, err = l.commit(e, cmd)
	var refused *rules.Rejection
	switch {
	case errors.Is(err, journal.ErrConflict): // another node was faster
		if err = l.catchUpFrom(ctx, e); err == nil {
			err = l.checkHead(ctx, e)
		}
	case errors.As(err, &refused):
		err = &RedError{Campaign: e.campaign, Err: err}
	case err == nil:
		l.cfg.Log.Warn("ledger begun anew after a loss", "campaign", e.campaign, "records", e.tree.Size()-1, "origin", signer.Origin())
	}
	return err
}

// newestHead finds the newest log of a campaign of which a checkpoint is kept,
// and that checkpoint.
func (l *Ledger) newestHead(ctx context.Context, e *entry) (newest merkle.Log, signed []byte, err error) {
	logs, err := l.cfg.Heads.Logs(ctx)
	if err != nil {
		return newest, nil, err
	}
	for _, name := range logs {
		if campaign, _, _ := strings.Cut(name, "/"); campaign != e.campaign {
			continue
		}
		kept, err := l.cfg.Heads.Get(ctx, name)
		if err != nil {
			return newest, nil, err
		}
		log, err := merkle.ParseOrigin(kept.Origin)
		if err != nil {
			return newest, nil, err
		}
		if log.Number > newest.Number {
			newest, signed = log, kept.Signed
		}
	}
	return newest, signed, nil
}
