package replay

import (
	"slices"

	"tallystick/events"
	"tallystick/rules"
)

// declared is the roll that was declared last: a campaign has one at a time.
// The command that is decided with the witness's element is the declared one,
// not that of the witness.
type declared struct {
	n       int64 // of the roll.declared
	cmd     rules.Command
	lane    string
	i       int
	records []events.Record // the declaration, and witnesses that were passed over
}

// declarationIn is the declaration in the records of a command, if there is one.
func declarationIn(recs []events.Record) (declared, bool) {
	for _, rec := range recs {
		if e, err := core.Decode(rec); err == nil && rec.Type == "roll.declared" {
			var d declared
			d.note(rec, e)
			return d, true
		}
	}
	return declared{}, false
}

// note reads a record.
func (d *declared) note(rec events.Record, e events.Event) {
	switch e := e.(type) {
	case *events.RollDeclared:
		*d = declared{n: rec.N, cmd: rules.Command{By: rec.By, Type: e.Command, Data: e.Data}, lane: e.Lane, i: e.I, records: []events.Record{rec}}
	case *events.RollPassed:
		d.records = append(slices.Clip(d.records), rec)
	}
}
