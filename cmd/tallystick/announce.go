package main

import (
	"context"
	"log/slog"

	"tallystick/events"
	"tallystick/events/journal"
)

// announcer tells those who listen by NATS of every record of this node's
// commits, on the subject feed.<campaign>.<event type>. It is a courtesy: the
// record is durable already, and who missed it reads the ledger.
func announcer(j journal.Journal, log *slog.Logger) func(journal.Commit) {
	return func(c journal.Commit) {
		for _, line := range events.SplitCommit(c.Payload) {
			rec, err := events.Parse(line)
			if err == nil {
				err = j.Publish(context.Background(), "feed."+c.Campaign+"."+rec.Type, line)
			}
			if err != nil {
				log.Warn("a record was not told by NATS", "campaign", c.Campaign, "error", err)
				return
			}
		}
	}
}

// heardByNATS reports whether anybody may listen: at a port of the embedded
// server, or at the servers of somebody else.
func (cfg nodeConfig) heardByNATS() bool { return cfg.NATSListen != "" || cfg.NATS != "" }
