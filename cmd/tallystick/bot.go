package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"tallystick/events/journal"
	"tallystick/projections"
)

// botsFile names the bots of a data folder with their public keys.
const botsFile = "bots.json"

// bot is what a server knows of a bot: no secret.
type bot struct {
	Name      string   `json:"name"`
	Key       string   `json:"key"`
	Campaigns []string `json:"campaigns"`
	Commands  bool     `json:"commands,omitzero"` // it may ask for commands
}

// botsAtStart are the bots of a server that has a port for them.
func botsAtStart(cfg nodeConfig) ([]journal.Bot, error) {
	switch {
	case cfg.NATSListen == "":
		return nil, nil
	case cfg.NATS != "":
		return nil, &codeError{exitUnusable, errors.New("nats-listen opens a port of the embedded server: with --nats, let bots in at that server")}
	}
	return readBots(cfg.Dir)
}

func readBots(dir string) ([]journal.Bot, error) {
	bots, err := loadBots(dir)
	return forJournal(bots), err
}

func forJournal(bots []bot) []journal.Bot {
	out := make([]journal.Bot, len(bots))
	for i, b := range bots {
		out[i] = journal.Bot{Name: b.Name, Key: b.Key, Campaigns: b.Campaigns, Commands: b.Commands}
	}
	return out
}

// botsEvery is how often a server looks whether the list of its bots has
// changed: one that was removed is cut off as soon as that.
const botsEvery = 250 * time.Millisecond

// doorkeeper lets in by NATS whom the list of a data folder names.
type doorkeeper struct {
	dir  string
	door journal.Door
	log  *slog.Logger

	problem atomic.Pointer[error] // why the list as it is now is not followed
}

// watch follows the list until ctx ends. A list that cannot be used changes
// nothing: the one before stays in force, and the log and /readyz say so.
func (d *doorkeeper) watch(ctx context.Context, known []journal.Bot) {
	tick := time.NewTicker(botsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := readBots(d.dir)
		if err == nil && !reflect.DeepEqual(now, known) {
			if err = d.door.LetIn(now); err == nil {
				known = now
				d.log.Info("the list of bots has changed", "bots", len(now))
			}
		}
		d.report(err)
	}
}

func (d *doorkeeper) report(err error) {
	before := d.problem.Load()
	if err == nil {
		d.problem.Store(nil)
		return
	}
	if before == nil || (*before).Error() != err.Error() {
		d.log.Error("the list of bots cannot be used; the one before stays in force", "error", err)
	}
	d.problem.Store(&err)
}

// problems is what /readyz says of the list.
func (d *doorkeeper) problems() []string {
	if err := d.problem.Load(); err != nil {
		return []string{"the list of bots cannot be used, the one before stays in force: " + (*err).Error()}
	}
	return nil
}

func loadBots(dir string) (bots []bot, err error) {
	text, err := os.ReadFile(filepath.Join(dir, botsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &bots, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return nil, fmt.Errorf("bots: %w", err)
	}
	return bots, nil
}

func saveBots(dir string, bots []bot) error {
	if err := journal.CheckBots(forJournal(bots)); err != nil {
		return &codeError{exitUnusable, err}
	}
	text, err := json.Marshal(bots, jsontext.Multiline(true))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, botsFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("bots: %w", err)
	}
	return os.Rename(path+".new", path)
}

func botCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "bot",
		Short: "Say which bots hear which feeds by NATS",
		Long: `A bot comes in at --nats-listen with a key of its own and hears the feeds of the
campaigns it was given: feed.<campaign>.<event type>. With --commands it may also ask
for commands at tallystick.command.<campaign>; whose they are follows from the token
in the request's header Authorization, as by HTTP. It can do nothing else. What is
secret is in no feed. A server that runs follows the list: within a second a bot that
was added is let in, and one that was removed is cut off.`,
	}
	cmd.PersistentFlags().StringVar(&dir, "data", "data", "folder of the server")
	cmd.AddCommand(botAdd(&dir), botRemove(&dir), botList(&dir))
	return cmd
}

func botAdd(dir *string) *cobra.Command {
	var campaigns []string
	var commands bool
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Give a bot a key, which is printed once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bots, err := loadBots(*dir)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(bots, func(b bot) bool { return b.Name == args[0] }) {
				return &codeError{exitUnusable, fmt.Errorf("there is a bot %q already", args[0])}
			}
			if len(campaigns) == 0 {
				return &codeError{exitUnusable, errors.New("give it at least one --campaign")}
			}
			seed, public, err := journal.NewBotKey()
			if err != nil {
				return err
			}
			if err := saveBots(*dir, append(bots, bot{args[0], public, campaigns, commands})); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", seed)
			fmt.Fprintf(cmd.ErrOrStderr(), "the line above is the bot's secret (NKey seed); a server with --nats-listen lets it in within a second\n")
			if commands {
				fmt.Fprintf(cmd.ErrOrStderr(), "it hears answers with the inbox prefix _INBOX.%s\n", public)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&commands, "commands", false, "it may also ask for commands")
	cmd.Flags().StringSliceVar(&campaigns, "campaign", nil, "id of a campaign whose feed it hears; may be repeated")
	return cmd
}

func botRemove(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Cut a bot off, and let it in no more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bots, err := loadBots(*dir)
			if err != nil {
				return err
			}
			rest := slices.DeleteFunc(slices.Clone(bots), func(b bot) bool { return b.Name == args[0] })
			if len(rest) == len(bots) {
				return &codeError{exitUnusable, fmt.Errorf("there is no bot %q", args[0])}
			}
			return saveBots(*dir, rest)
		},
	}
}

func botList(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the bots", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bots, err := loadBots(*dir)
			for _, b := range bots {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", projections.Printable(b.Name), b.Key, b.Campaigns)
			}
			return err
		},
	}
}
