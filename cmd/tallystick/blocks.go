package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallystick/events"
	"tallystick/events/journal"
)

// naming adds to the error of a damaged block whose record it is: campaign and n.
func naming(err error) error {
	var bad *journal.BlockError
	if !errors.As(err, &bad) {
		return err
	}
	if bad.Campaign != "" {
		n := "unknown"
		if first, err := events.Parse(events.SplitCommit(bad.Payload)[0]); err == nil {
			n = fmt.Sprint(first.N)
		}
		err = fmt.Errorf("campaign %s, n %s: %w", bad.Campaign, n, err)
	}
	return &codeError{exitUnusable, err}
}

// brokenPatience is how long a node may take to stop when its store is broken: the
// store's server may be counting and never stop.
const brokenPatience = 10 * time.Second

// untilBroken runs what serves until it ends, or until the store is found broken:
// then it is told to stop, and waited for a while only.
func untilBroken(ctx context.Context, broken <-chan error, run func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case why := <-broken:
		stop()
		why = naming(why)
		select {
		case err := <-ended:
			return errors.Join(why, err)
		case <-time.After(brokenPatience):
			return why
		}
	}
}
