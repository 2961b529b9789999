package events

// LedgerRecovered begins a campaign's ledger anew after a loss: checkpoints
// from this record on are signed under another origin. The last one that was
// signed before stands in it as evidence of what is missing.
type LedgerRecovered struct {
	Lost string `json:"lost"` // the signed checkpoint that covers more than was left
	Size int64  `json:"size"` // how many records were left: those before this one
	VKey string `json:"vkey"` // verifies the checkpoints of the new log
}

// KeyRotated puts another signing key in the place of the one before.
type KeyRotated struct {
	Old      string `json:"old"`      // verifier key of the checkpoints so far
	New      string `json:"new"`      // of those from now on
	Endorsed string `json:"endorsed"` // signed note by which the old key names the new one
}

func (*LedgerRecovered) Type() string { return "ledger.recovered" }
func (*KeyRotated) Type() string      { return "key.rotated" }

// keys reads the events that say with which key checkpoints are signed.
func keys() map[string]func() Event {
	return map[string]func() Event{
		"ledger.recovered": func() Event { return new(LedgerRecovered) },
		"key.rotated":      func() Event { return new(KeyRotated) },
	}
}
