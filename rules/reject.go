package rules

import "fmt"

// A Rejection is the rules saying no. Nothing is stored; no die was shown.
type Rejection struct {
	Code   string // stable, for programs: unconscious, cannot_parry_with_that
	Rule   string // id of the rule: RPGX-18; empty for what all systems share
	Field  string // the command's field that is meant, if one is
	Reason string // for people

	// Each is every objection by itself, where several were made at once:
	// Reason then joins theirs, the rest is of the first.
	Each []Rejection
}

func (r *Rejection) Error() string {
	if r.Rule == "" {
		return r.Reason
	}
	return r.Rule + ": " + r.Reason
}

// Reject makes a rejection by a rule of the book.
func Reject(code, rule, format string, a ...any) *Rejection {
	return &Rejection{Code: code, Rule: rule, Reason: fmt.Sprintf(format, a...)}
}

// On names the field that a rejection is about.
func (r *Rejection) On(field string) *Rejection { r.Field = field; return r }

// Invalid is a command that could not have been meant: a member that is
// missing, unknown, of the wrong type or out of bounds.
type Invalid struct {
	Field  string // path into the command's data: sheet.stats.con
	Reason string
}

func (e *Invalid) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + " " + e.Reason
}

// Forbidden is a command that this participant may not give.
type Forbidden struct{ Reason string }

func (e *Forbidden) Error() string { return e.Reason }

// PendingError says that an advance of the clock is still under way: it has
// to be resumed before anything else is decided.
type PendingError struct{ Command string }

func (e *PendingError) Error() string {
	return "the advance of the clock by command " + e.Command + " is not finished yet"
}
