package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/replay"
)

// dieRow is one die of one roll. Ids tell campaigns, sessions and characters
// apart; what people wrote is left out unless names are asked for.
type dieRow struct {
	Campaign  string `json:"campaign" parquet:"campaign,dict"`
	System    string `json:"system" parquet:"system,dict"`
	Edition   int64  `json:"edition" parquet:"edition"`
	Session   string `json:"session" parquet:"session,dict"`
	N         int64  `json:"n" parquet:"n"`                  // record of the roll
	At        string `json:"at" parquet:"at,dict"`           // wall clock, UTC
	Clock     int64  `json:"clock" parquet:"clock"`          // game seconds
	Command   string `json:"command" parquet:"command,dict"` // type of the command
	Source    string `json:"source" parquet:"source,dict"`   // ledger or physical
	Lane      int64  `json:"lane" parquet:"lane"`            // ordinal of the lane in its session, from 1; 0: typed in
	I         int64  `json:"i" parquet:"i"`                  // index in the lane; 0: typed in
	Throw     int64  `json:"throw" parquet:"throw"`          // which question of the roll, from 0
	Die       int64  `json:"die" parquet:"die"`              // which die of the question, from 0
	Sides     int64  `json:"sides" parquet:"sides"`
	Face      int64  `json:"face" parquet:"face"`
	Modifiers int64  `json:"modifiers" parquet:"modifiers"` // their sum
	Total     int64  `json:"total" parquet:"total"`
	Against   *int64 `json:"against,omitzero" parquet:"against,optional"`
	Outcome   string `json:"outcome" parquet:"outcome,dict"`
	Margin    *int64 `json:"margin,omitzero" parquet:"margin,optional"`
	Character string `json:"character" parquet:"character,dict"` // id
	By        string `json:"by" parquet:"by,dict"`               // with names: handle of who commanded it
	Purpose   string `json:"purpose" parquet:"purpose,dict"`     // with names: what it was for
}

// columns are the names of a row's columns, in order.
var columns = []string{
	"campaign", "system", "edition", "session", "n", "at", "clock", "command", "source", "lane", "i", "throw", "die", "sides", "face",
	"modifiers", "total", "against", "outcome", "margin", "character", "by", "purpose",
}

func (r dieRow) cells() []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	maybe := func(v *int64) string {
		if v == nil {
			return ""
		}
		return n(*v)
	}
	return []string{
		r.Campaign, r.System, n(r.Edition), r.Session, n(r.N), r.At, n(r.Clock), r.Command, r.Source, n(r.Lane), n(r.I), n(r.Throw), n(r.Die), n(r.Sides), n(r.Face),
		n(r.Modifiers), n(r.Total), maybe(r.Against), r.Outcome, maybe(r.Margin), r.Character, r.By, r.Purpose,
	}
}

// rowWriter writes rows in a format.
type rowWriter interface {
	write(rows []dieRow) error
	close() error
}

// rowWriters are the formats of dice in rows.
var rowWriters = map[string]func(io.Writer) (rowWriter, error){
	"csv":        newCSV,
	formatNDJSON: func(out io.Writer) (rowWriter, error) { return ndjsonRows{out}, nil },
	"parquet":    func(out io.Writer) (rowWriter, error) { return newParquet(out), nil },
}

type csvRows struct{ out *csv.Writer }

func newCSV(out io.Writer) (rowWriter, error) {
	w := csvRows{csv.NewWriter(out)}
	return w, w.out.Write(columns)
}

func (w csvRows) write(rows []dieRow) error {
	for _, r := range rows {
		cells := r.cells()
		for i, cell := range cells {
			cells[i] = inert(cell)
		}
		if err := w.out.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

// inert keeps a spreadsheet from taking what people wrote for a formula. A
// number may be negative.
func inert(cell string) string {
	if cell == "" {
		return cell
	}
	switch cell[0] {
	case '=', '+', '@', '\t', '\r':
		return "'" + cell
	case '-':
		if _, err := strconv.ParseInt(cell, 10, 64); err != nil {
			return "'" + cell
		}
	}
	return cell
}

func (w csvRows) close() error {
	w.out.Flush()
	return w.out.Error()
}

type ndjsonRows struct{ out io.Writer }

func (w ndjsonRows) write(rows []dieRow) error {
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := w.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (ndjsonRows) close() error { return nil }

// rowGroup is how many rows of a parquet file are in memory at a time.
const rowGroup = 100_000

type parquetRows struct {
	out  *parquet.GenericWriter[dieRow]
	held *int
}

func newParquet(out io.Writer) parquetRows {
	return parquetRows{parquet.NewGenericWriter[dieRow](out, parquet.Compression(&parquet.Zstd)), new(int)}
}

func (w parquetRows) write(rows []dieRow) error {
	if _, err := w.out.Write(rows); err != nil {
		return err
	}
	if *w.held += len(rows); *w.held < rowGroup {
		return nil
	}
	*w.held = 0
	return w.out.Flush()
}

func (w parquetRows) close() error { return w.out.Close() }

// exportRows writes every die of every roll of many exports. The file must not
// exist yet; "-" is the standard output.
func exportRows(cmd *cobra.Command, paths []string, format, file string, names bool) (err error) {
	open, ok := rowWriters[format]
	if !ok {
		return &codeError{exitUnusable, fmt.Errorf("--format is %q: must be csv, ndjson or parquet", format)}
	}
	out := cmd.OutOrStdout()
	if file != "-" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return &codeError{exitUnusable, err}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	w, err := open(out)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), "exported", countBundles(cmd.Context(), paths))
	dice, exports := 0, 0
	err = inOrder(cmd.Context(), runtime.GOMAXPROCS(0), bundles(paths),
		func(path string, emit func([]dieRow) error) error { return rowsOf(path, names, emit) },
		func(_ string, rows []dieRow) error {
			if rows == nil { // the end of an export
				exports++
				progress.step()
				return nil
			}
			dice += len(rows)
			return w.write(rows)
		})
	progress.end()
	if err == nil {
		err = w.close()
	}
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	if exports == 0 {
		return &codeError{exitUnusable, errors.New("there is no export")}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d dice of %d exports\n", dice, exports)
	return nil
}

// chunk is how many rows are handed over at a time.
const chunk = 1_024

// rowsOf reads one export and emits its dice in chunks, and nil at the end.
func rowsOf(path string, names bool, emit func([]dieRow) error) error {
	in, err := openBundle(path)
	if err != nil {
		return err
	}
	defer in.Close()
	r := diceReader{names: names, lanes: map[string]int64{}}
	rows := []dieRow{}
	err = replay.Commits(in, func(payload []byte) error {
		recs, err := events.ParseCommit(payload)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if rows, err = r.read(rows, rec, recs[0].Cmd.Type); err != nil {
				return err
			}
			if len(rows) >= chunk {
				if err := emit(rows); err != nil {
					return err
				}
				rows = []dieRow{}
			}
		}
		return nil
	})
	if err == nil && len(rows) > 0 {
		err = emit(rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return emit(nil)
}

// diceReader finds the dice in records.
type diceReader struct {
	names   bool
	system  string
	edition int64
	lanes   map[string]int64 // ordinal by name, of the open session
}

var core = events.Core()

func (r *diceReader) read(rows []dieRow, rec events.Record, command string) ([]dieRow, error) {
	switch rec.Type {
	case "campaign.created", "session.opened", "seat.taken", "roll.made", "roll.resolved", "roll.opened":
	default:
		return rows, nil
	}
	e, err := core.Decode(rec)
	if err != nil {
		return rows, err
	}
	switch e := e.(type) {
	case *events.CampaignCreated:
		r.system, r.edition = e.System, int64(e.Edition)
	case *events.SessionOpened:
		clear(r.lanes)
	case *events.SeatTaken:
		r.lanes[e.Lane] = int64(len(r.lanes) + 1)
	case *events.RollMade:
		return r.roll(rows, rec, command, e), nil
	case *events.RollResolved:
		return r.roll(rows, rec, command, &e.RollMade), nil
	case *events.RollOpened:
		var made events.RollMade
		if err := json.Unmarshal([]byte(e.Payload), &made); err != nil {
			return rows, err
		}
		return r.roll(rows, rec, command, &made), nil
	}
	return rows, nil
}

func (r *diceReader) roll(rows []dieRow, rec events.Record, command string, e *events.RollMade) []dieRow {
	for t, th := range e.Throws() {
		row := dieRow{
			Campaign: rec.Campaign, System: r.system, Edition: r.edition, Session: e.Session, N: rec.N, At: rec.At, Clock: rec.Clock, Command: command,
			Source: e.Source, Lane: r.lanes[e.Lane], I: int64(e.I), Throw: int64(t), Total: int64(th.Total), Outcome: th.Outcome, Character: th.Character,
		}
		for _, m := range th.Modifiers {
			row.Modifiers += int64(m.Value)
		}
		if th.Against != nil {
			v := int64(th.Against.Value)
			row.Against = &v
		}
		if th.Margin != nil {
			v := int64(*th.Margin)
			row.Margin = &v
		}
		if r.names {
			row.By, row.Purpose = rec.By, th.Purpose
		}
		for d, die := range th.Draws {
			row.Die, row.Sides, row.Face = int64(d), int64(die[0]), int64(die[1])
			rows = append(rows, row)
		}
	}
	return rows
}
