package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"tallystick/api"
	"tallystick/events/merkle"
)

// keeper holds the newest checkpoint of a campaign that its owner has seen, and
// holds every answer against it.
type keeper struct {
	VKey       string `json:"vkey"`       // from the campaign's records, trusted when first seen
	Checkpoint string `json:"checkpoint"` // newest one that was seen
	// Before are the newest ones of ledgers that ended in a loss.
	Before []string `json:"before,omitzero"`
}

// The two ways in which a ledger can betray who keeps a checkpoint.
const (
	rollback = "ROLLBACK: the server shows a ledger of %d records, but you have seen %d, signed by it. something that happened is missing. Keep your file and show it to the table"
	fork     = "FORK: the server's ledger is not a continuation of the one you have seen (%d records, signed by it): %v. somebody is shown another history. Keep your file and compare checkpoints with the table"
)

func (k *keeper) size() int64 {
	c, err := merkle.Open([]byte(k.Checkpoint), k.VKey)
	if err != nil {
		return 0
	}
	return c.Size
}

// saw takes a newer checkpoint with the proof that leads to it.
func (k *keeper) saw(checkpoint string, proof []merkle.Hash) error {
	next, err := merkle.Open([]byte(checkpoint), k.VKey)
	if err != nil {
		return fmt.Errorf("the checkpoint is not signed by this campaign's key: %w", err)
	}
	if k.Checkpoint == "" {
		k.Checkpoint = checkpoint
		return nil
	}
	last, err := merkle.Open([]byte(k.Checkpoint), k.VKey)
	if err != nil {
		return fmt.Errorf("the checkpoint that was kept: %w", err)
	}
	switch err := (merkle.Guard{Origin: last.Origin}).Next(last, next.Size, next.Root, proof); {
	case errors.Is(err, merkle.ErrRollback):
		return fmt.Errorf(rollback, next.Size, last.Size)
	case err != nil:
		return fmt.Errorf(fork, last.Size, err)
	}
	k.Checkpoint = checkpoint
	return nil
}

// catchUp asks the server for its newest checkpoint and a proof from the one
// that is kept.
func (k *keeper) catchUp(ctx context.Context, c *client, campaign string) error {
	if k.Checkpoint == "" {
		checkpoint, err := c.text(ctx, "/v1/campaigns/"+campaign+"/checkpoint")
		if err != nil {
			return err
		}
		return k.saw(string(checkpoint), nil)
	}
	var proof api.ConsistencyProof
	err := c.get(ctx, fmt.Sprintf("/v1/campaigns/%s/proofs/consistency?from=%d", campaign, k.size()), &proof)
	var p *problem
	if errors.As(err, &p) && p.Status == http.StatusBadRequest {
		checkpoint, failed := c.text(ctx, "/v1/campaigns/"+campaign+"/checkpoint")
		if failed != nil {
			return failed
		}
		return k.saw(string(checkpoint), nil) // shorter than what was seen
	}
	if err != nil {
		return err
	}
	return k.sawProof(&proof)
}

func (k *keeper) sawProof(proof *api.ConsistencyProof) error {
	hashes := make([]merkle.Hash, len(proof.Hashes))
	for i, text := range proof.Hashes {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(b) != len(merkle.Hash{}) {
			return fmt.Errorf(fork, k.size(), "its proof cannot be read")
		}
		hashes[i] = merkle.Hash(b)
	}
	return k.saw(proof.Checkpoint, hashes)
}

// check holds the answer to a command against what is kept: the receipt proves
// the first record, and the ledger only grew.
func (k *keeper) check(a answer) error {
	receipt, err := merkle.ParseReceipt([]byte(a.Receipt))
	if err != nil {
		return fmt.Errorf("the receipt cannot be read: %w", err)
	}
	if len(a.Records) == 0 {
		return errors.New("the answer holds no record")
	}
	if err := receipt.Check(a.Records[0], k.VKey); err != nil {
		return fmt.Errorf("the receipt does not prove the record: %w", err)
	}
	switch {
	case k.Checkpoint == "":
		return k.saw(string(receipt.Checkpoint), nil)
	case a.Consistency == nil:
		head, err := merkle.Open(receipt.Checkpoint, k.VKey)
		if err != nil {
			return err
		}
		return fmt.Errorf(rollback, head.Size, k.size())
	}
	return k.sawProof(a.Consistency)
}
