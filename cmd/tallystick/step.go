package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tallystick/projections"
	"tallystick/replay"
)

// stepFlags say how a session is replayed step by step.
type stepFlags struct {
	session, format string
	keys            bool
	speed           int // words a minute; 0: at once
}

func (f *stepFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.session, "session", "", "id of a session to show step by step")
	cmd.Flags().BoolVar(&f.keys, "step", false, "with --session on a terminal: a key for each step")
	cmd.Flags().IntVar(&f.speed, "speed", 0, "with --session: words a minute to show it at; 0 for at once")
	cmd.Flags().StringVar(&f.format, "format", formatText, "with --session: text, json or ndjson")
}

// run replays a session. Steps are shown as they are found identical; a
// divergence ends it, after the steps before it.
func (f *stepFlags) run(ctx context.Context, in io.Reader, out io.Writer, ledger io.Reader) error {
	if f.speed < 0 {
		return &codeError{exitUnusable, fmt.Errorf("--speed is %d: must be words a minute", f.speed)}
	}
	show, ok := map[string]shower{formatText: f.text, formatNDJSON: ndjsonSteps, formatJSON: jsonSteps}[f.format]
	if !ok {
		return &codeError{exitUnusable, fmt.Errorf("--format is %q: must be text, json or ndjson", f.format)}
	}
	if keyboard, ok := in.(*os.File); ok && f.keys && f.format == formatText && term.IsTerminal(int(keyboard.Fd())) {
		return f.withKeys(keyboard, out, ledger)
	}
	w := bufio.NewWriter(out)
	each, end := show(ctx, w)
	err := f.steps(ledger, func(s replay.Step) error { return errors.Join(each(s), w.Flush()) })
	return errors.Join(err, end(), w.Flush())
}

// steps replays the session and hands its steps over.
func (f *stepFlags) steps(ledger io.Reader, each func(replay.Step) error) error {
	steps := replay.NewSteps(replay.New(library()), f.session, each)
	err := replay.Commits(ledger, steps.Commit)
	var differs *replay.Divergence
	switch {
	case errors.Is(err, replay.ErrOver):
		return nil
	case errors.As(err, &differs):
		return &codeError{exitDiverged, err}
	case err != nil:
		return &codeError{exitUnusable, err}
	case !steps.Found():
		return &codeError{exitUnusable, fmt.Errorf("the campaign has no session %q", f.session)}
	}
	return nil
}

// shower shows steps one by one, and then what belongs to the end.
type shower func(ctx context.Context, out io.Writer) (each func(replay.Step) error, end func() error)

func nothing() error { return nil }

func ndjsonSteps(_ context.Context, out io.Writer) (func(replay.Step) error, func() error) {
	return func(s replay.Step) error { return printJSON(out, s) }, nothing
}

func jsonSteps(_ context.Context, out io.Writer) (func(replay.Step) error, func() error) {
	before := "["
	each := func(s replay.Step) error {
		if _, err := io.WriteString(out, before); err != nil {
			return err
		}
		before = ","
		return printJSON(out, s)
	}
	return each, func() error {
		_, err := io.WriteString(out, strings.TrimPrefix(before, ",")+"]\n")
		return err
	}
}

// text shows steps for people, at a reading speed if there is one.
func (f *stepFlags) text(ctx context.Context, out io.Writer) (func(replay.Step) error, func() error) {
	var before []projections.Character
	return func(s replay.Step) error {
		text := s.Text(before)
		before = s.Characters
		if _, err := io.WriteString(out, text); err != nil || f.speed == 0 {
			return err
		}
		if w, ok := out.(*bufio.Writer); ok {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		select {
		case <-time.After(time.Duration(len(strings.Fields(text))) * time.Minute / time.Duration(f.speed)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nothing
}

// withKeys shows a step for each key. It keeps the steps, so that one can go
// back.
func (f *stepFlags) withKeys(keyboard *os.File, out io.Writer, ledger io.Reader) error {
	var steps []replay.Step
	err := f.steps(ledger, func(s replay.Step) error { steps = append(steps, s); return nil })
	if err != nil {
		return err
	}
	state, err := term.MakeRaw(int(keyboard.Fd()))
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer term.Restore(int(keyboard.Fd()), state)
	return walk(keyboard, out, steps)
}

// A key is what a key means to the stepper.
type key int

const (
	keyNone key = iota
	keyNext
	keyBack
	keyFirst
	keyLast
	keyQuit
)

// keys are what a terminal sends for them.
var keys = map[string]key{
	" ": keyNext, "\r": keyNext, "\n": keyNext, "n": keyNext, "l": keyNext, "\x1b[C": keyNext, "\x1b[B": keyNext,
	"p": keyBack, "h": keyBack, "\x7f": keyBack, "\x1b[D": keyBack, "\x1b[A": keyBack,
	"g": keyFirst, "\x1b[H": keyFirst, "G": keyLast, "\x1b[F": keyLast,
	"q": keyQuit, "\x03": keyQuit, "\x04": keyQuit,
}

// walk shows one step after the other as keys come in, each on a screen of its
// own with everybody in play. A terminal in raw mode
// needs a carriage return at every end of a line.
func walk(in io.Reader, out io.Writer, steps []replay.Step) error {
	at := 0
	buffer := make([]byte, 16)
	for {
		text := fmt.Sprintf("\x1b[2J\x1b[H%d of %d   space → next, ← back, g first, G last, q quit\n\n%s", at+1, len(steps), steps[at].Text(nil))
		if _, err := io.WriteString(out, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
			return err
		}
		n, err := in.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch keys[string(buffer[:n])] {
		case keyNext:
			at = min(at+1, len(steps)-1)
		case keyBack:
			at = max(at-1, 0)
		case keyFirst:
			at = 0
		case keyLast:
			at = len(steps) - 1
		case keyQuit:
			return nil
		}
	}
}
