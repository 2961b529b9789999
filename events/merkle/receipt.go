package merkle

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const receiptHeader = "c2sp.org/tlog-proof@v1\n"

// maxProof is the longest inclusion proof of a tree of MaxSize records.
const maxProof = 53

// A Receipt proves offline that a record is in the ledger: C2SP tlog-proof@v1
// without extra data.
type Receipt struct {
	Index      int64  // the record's number n
	Proof      []Hash // from the leaf's sibling up to the child of the root
	Checkpoint []byte // signed, as it came from the log
}

// Format gives the text form; ParseReceipt reads it back.
func (r Receipt) Format() []byte {
	text := make([]byte, 0, len(receiptHeader)+32+45*len(r.Proof)+len(r.Checkpoint))
	text = append(text, receiptHeader...)
	text = append(text, "index "...)
	text = strconv.AppendInt(text, r.Index, 10)
	text = append(text, '\n')
	for _, hash := range r.Proof {
		text = base64.StdEncoding.AppendEncode(text, hash[:])
		text = append(text, '\n')
	}
	text = append(text, '\n')
	return append(text, r.Checkpoint...)
}

// ParseReceipt reads the text form of a receipt, the canonical one only. It
// checks no proof and no signature: that is Check.
func ParseReceipt(text []byte) (Receipt, error) {
	body, found := bytes.CutPrefix(text, []byte(receiptHeader))
	if !found {
		return Receipt{}, fmt.Errorf("receipt: the first line is not %q", strings.TrimSpace(receiptHeader))
	}
	head, checkpoint, found := bytes.Cut(body, []byte("\n\n"))
	if !found || len(checkpoint) == 0 {
		return Receipt{}, errors.New("receipt: no checkpoint after the proof")
	}
	lines := strings.Split(string(head), "\n")
	index, found := strings.CutPrefix(lines[0], "index ")
	if !found {
		return Receipt{}, errors.New("receipt: the second line is not an index (extra data is not taken)")
	}
	n, err := strconv.ParseInt(index, 10, 64)
	if err != nil || n < 0 || n >= MaxSize {
		return Receipt{}, fmt.Errorf("receipt: index %q is not a record's number", index)
	}
	proof, err := parseProof(lines[1:])
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Index: n, Proof: proof, Checkpoint: bytes.Clone(checkpoint)}
	if !bytes.Equal(receipt.Format(), text) {
		return Receipt{}, errors.New("receipt: not in canonical form")
	}
	return receipt, nil
}

func parseProof(lines []string) ([]Hash, error) {
	if len(lines) > maxProof {
		return nil, fmt.Errorf("receipt: %d hashes, at most %d can be needed", len(lines), maxProof)
	}
	proof := make([]Hash, len(lines))
	for i, line := range lines {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, fmt.Errorf("receipt: hash %d of the proof: %w", i+1, err)
		}
		proof[i] = hash
	}
	return proof, nil
}

// Check checks that the log with this verifier key has the record, byte for
// byte, at the receipt's index.
func (r Receipt) Check(record []byte, vkey string) error {
	head, err := Open(r.Checkpoint, vkey)
	if err != nil {
		return err
	}
	if err := CheckInclusion(r.Proof, head.Size, head.Root, r.Index, LeafHash(record)); err != nil {
		return fmt.Errorf("receipt for record %d: %w", r.Index, err)
	}
	return nil
}
