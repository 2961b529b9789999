package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
)

// What a keeper is told of a ledger that was begun anew.
const (
	anewLost  = "THE LEDGER WAS BEGUN ANEW AFTER A LOSS: the server says so itself, in record %d. You have seen %d records; those from %d to %d are lost, and nobody can show them to you again."
	anewWhole = "THE LEDGER WAS BEGUN ANEW AFTER A LOSS: the server says so itself, in record %d. Nothing that you have seen is lost."
	askFirst  = "Ask the table whether that is what happened. To go on with the new ledger, give --accept-new-log: your file keeps the checkpoint you have"
)

func acceptNewLog(cmd *cobra.Command, anew *bool) {
	cmd.Flags().BoolVar(anew, "accept-new-log", false, "go on although the ledger was begun anew after a loss")
}

// follow brings a seat file to the key that the server signs with now, if it
// is another one, and writes it.
func (s *seatFile) follow(ctx context.Context, c *client, out io.Writer, anew bool) error {
	before := s.VKey
	if err := s.keeper.follow(ctx, c, s.Campaign, out, anew); err != nil || s.VKey == before {
		return err
	}
	return s.save()
}

// keyTrail reads a ledger for its keys.
type keyTrail struct {
	campaign string
	tree     merkle.Frontier
	keys     []trailKey
	kept     merkle.Checkpoint // whose root is looked for on the way
	root     merkle.Hash       // of as many records as it covers
}

// trailKey is a key and the record from which on it signs; anew where the
// ledger was begun anew there.
type trailKey struct {
	n    int64
	vkey string
	anew bool
}

// follow goes from the key that is kept to the one that the server signs with
// now. Each key on the way must have named the next. A ledger that was begun
// anew is followed only if its owner says so.
func (k *keeper) follow(ctx context.Context, c *client, campaign string, out io.Writer, anew bool) error {
	newest, err := c.text(ctx, "/v1/campaigns/"+campaign+"/checkpoint")
	if err != nil {
		return err
	}
	if _, err := merkle.Open(newest, k.VKey); err == nil {
		return nil
	}
	t := &keyTrail{campaign: campaign}
	if k.Checkpoint != "" {
		if t.kept, err = merkle.Open([]byte(k.Checkpoint), k.VKey); err != nil {
			return fmt.Errorf("the checkpoint that was kept: %w", err)
		}
	}
	in, err := c.stream(ctx, "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		return err
	}
	defer in.Close()
	if err := t.read(in); err != nil {
		return err
	}
	checkpoint, err := c.text(ctx, fmt.Sprintf("/v1/campaigns/%s/checkpoint?size=%d", campaign, t.tree.Size()))
	if err != nil {
		return err
	}
	words, begun, err := t.judge(k.VKey, checkpoint)
	if err != nil {
		return err
	}
	if begun && !anew {
		return errors.New(words + " " + askFirst)
	}
	fmt.Fprintln(out, words)
	if begun && k.Checkpoint != "" {
		k.Before = append(k.Before, k.Checkpoint)
	}
	k.VKey, k.Checkpoint = t.keys[len(t.keys)-1].vkey, string(checkpoint)
	return nil
}

// judge holds the trail against the key that is kept and the checkpoint that
// the server signs now, and says in words how the one came from the other.
func (t *keyTrail) judge(from string, checkpoint []byte) (words string, begun bool, err error) {
	i := slices.IndexFunc(t.keys, func(k trailKey) bool { return k.vkey == from })
	if i < 0 {
		return "", false, fmt.Errorf(fork, t.kept.Size, "the key that signed what you have seen is not in it")
	}
	head, err := merkle.Open(checkpoint, t.keys[len(t.keys)-1].vkey)
	if err != nil {
		return "", false, fmt.Errorf("the checkpoint is not signed by the ledger's newest key: %w", err)
	}
	if head.Size != t.tree.Size() || head.Root != t.tree.Root() {
		return "", false, fmt.Errorf(fork, t.kept.Size, "its signature is over other records than it showed")
	}
	left := t.tree.Size()
	if j := slices.IndexFunc(t.keys[i+1:], func(k trailKey) bool { return k.anew }); j >= 0 {
		begun, left = true, t.keys[i+1+j].n
	}
	switch {
	case t.kept.Size > left && !begun:
		return "", false, fmt.Errorf(rollback, t.tree.Size(), t.kept.Size)
	case t.kept.Size > left:
		return fmt.Sprintf(anewLost, left, t.kept.Size, left, t.kept.Size-1), true, nil
	case t.kept.Size > 0 && t.kept.Root != t.root:
		return "", false, fmt.Errorf(fork, t.kept.Size, "its first records are others")
	case begun:
		return fmt.Sprintf(anewWhole, left), true, nil
	}
	return "the server signs with a new key; the one before has signed for it", false, nil
}

// read takes a whole ledger.
func (t *keyTrail) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, events.MaxRecord+1)
	for lines.Scan() {
		if err := t.record(lines.Bytes()); err != nil {
			return fmt.Errorf("record %d: %w", t.tree.Size(), err)
		}
	}
	if lines.Err() == nil && len(t.keys) == 0 {
		return errors.New("the ledger is empty")
	}
	return lines.Err()
}

func (t *keyTrail) record(line []byte) error {
	n := t.tree.Size()
	key, err := keyIn(line, n)
	if err == nil && key != "" {
		err = t.key(bytes.Clone(line), n, key)
	}
	if err != nil {
		return err
	}
	t.tree.Append(line)
	if n+1 == t.kept.Size {
		t.root = t.tree.Root()
	}
	return nil
}

// key takes the next key, which the one before must have led to.
func (t *keyTrail) key(line []byte, n int64, vkey string) error {
	rec, err := events.Parse(line)
	if err != nil {
		return err
	}
	e, err := core.Decode(rec)
	if err != nil {
		return err
	}
	if n > 0 {
		keys := rules.LogKeys{VKey: t.keys[len(t.keys)-1].vkey}
		switch e := e.(type) {
		case *events.KeyRotated:
			err = rules.CheckRotated(keys, e)
		case *events.LedgerRecovered:
			_, err = rules.CheckRecovered(t.campaign, keys, n, e)
		}
	}
	t.keys = append(t.keys, trailKey{n: n, vkey: vkey, anew: rec.Type == "ledger.recovered"})
	return err
}
