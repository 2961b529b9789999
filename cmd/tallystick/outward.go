package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"tallystick/api/ledger"
	"tallystick/api/webhooks"
	"tallystick/events"
	"tallystick/events/journal"
)

// outward is what leaves this server by itself: webhooks, and feeds by NATS. All
// of it follows from commits as they are stored; folding views and deciding a
// ledger again commit nothing, so they send nothing.
type outward struct {
	hooks   *webhooks.Hooks
	feed    journal.Journal // nil: nobody could hear it
	running sync.WaitGroup
}

// openOutward makes it; nothing leaves before it is started.
func openOutward(ctx context.Context, cfg nodeConfig, j journal.Journal, l *ledger.Ledger, keys ledger.Keys) (*outward, error) {
	allow, err := prefixes(cfg.WebhookAllow)
	if err != nil {
		return nil, &codeError{exitUnusable, err}
	}
	o := &outward{}
	if cfg.byNATS() {
		o.feed = j
	}
	o.hooks, err = webhooks.Open(ctx, webhooks.Config{
		Journal: j, Ledger: l, Master: keys.Master, Version: version(), Alone: cfg.NATS == "", Allow: allow, Log: cfg.Log,
	})
	return o, err
}

// prefixes reads the addresses that webhooks may tell beside public ones.
func prefixes(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(text); err == nil {
				p, err = ip.Prefix(ip.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("webhook-allow: %q is no address and no prefix, such as 192.168.1.0/24", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// byNATS reports whether anybody can come by NATS.
func (cfg nodeConfig) byNATS() bool { return cfg.NATSListen != "" || cfg.NATS != "" }

// start delivers until ctx ends.
func (o *outward) start(ctx context.Context) {
	o.running.Go(func() { o.hooks.Run(ctx) })
}

// followed is told of every commit, whichever node stored it. It is quick.
func (o *outward) followed(c journal.Commit) { o.hooks.Wake(c.Campaign) }

// committed is told of every commit of this node. It is quick.
func (o *outward) committed(c journal.Commit) {
	if o.feed == nil {
		return
	}
	recs, err := events.ParseCommit(c.Payload)
	if err != nil {
		return // whoever reads the ledger says so
	}
	for i, line := range events.SplitCommit(c.Payload) {
		// A courtesy: the ledger is the truth.
		_ = o.feed.Publish(context.Background(), strings.Join([]string{"feed", c.Campaign, recs[i].Type}, "."), line)
	}
}
