package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tallystick/projections"
)

func demoCommand() *cobra.Command {
	var cfg nodeConfig
	var stay bool
	var system string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a short session on a server of its own, print it, and replay it",
		Long: `Demo starts a server with an embedded store in a new folder, plays a session
through the same HTTP API that anyone uses, prints what happened, and decides
all of it again from the recorded seeds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			play, ok := plays[system]
			if !ok {
				return &codeError{exitUnusable, fmt.Errorf("system is %q: the demo can play %s", system, playable())}
			}
			return runDemo(cmd.Context(), cmd.OutOrStdout(), cfg, play, stay)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "data", "", "folder for the ledger; it must not exist yet (default: a new temporary folder)")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:0", "address to serve on")
	f.BoolVar(&stay, "stay", false, "keep serving afterwards, until Ctrl-C")
	f.StringVar(&system, "system", "rpgamix", "rules to play by")
	cfg.Server = "demo"
	return cmd
}

func runDemo(ctx context.Context, out io.Writer, cfg nodeConfig, play play, stay bool) error {
	if err := demoFolder(&cfg); err != nil {
		return err
	}
	cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	n, err := startNode(ctx, cfg)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- n.run(serving) }()
	fmt.Fprintf(out, "tallystick serves %s, its ledger is in %s\n", n.Address, cfg.Dir)

	d := &demo{out: out, transcript: newTranscript(out), client: &client{base: n.Address, token: n.Admin}, dir: cfg.Dir}
	err = d.all(ctx, play)
	if err == nil && stay {
		fmt.Fprintf(out, "\nServing until Ctrl-C. GM token: %s\n", d.client.token)
		<-ctx.Done()
	}
	stop()
	return errors.Join(err, <-done)
}

func demoFolder(cfg *nodeConfig) error {
	if cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "tallystick-demo-")
		cfg.Dir = dir
		return err
	}
	if _, err := os.Stat(cfg.Dir); err == nil {
		return &codeError{exitUnusable, fmt.Errorf("%s exists already: the demo starts a ledger of its own", cfg.Dir)}
	}
	return nil
}

// demo is one run of the demonstration.
type demo struct {
	out        io.Writer
	transcript *transcript
	client     *client
	dir        string
	campaign   string
	err        error // the first thing that went wrong
	ctx        context.Context
}

// all plays, shows what became of everybody, and replays.
func (d *demo) all(ctx context.Context, play play) error {
	d.ctx = ctx
	d.heading("The session")
	play(d)
	if d.err != nil {
		return d.err
	}
	if err := d.timelines(); err != nil {
		return err
	}
	d.heading("The same, decided again from the recorded seeds")
	in, err := d.client.stream(ctx, "/v1/campaigns/"+d.campaign+"/ledger")
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := runReplay(d.out, in, false); err != nil {
		return err
	}
	return d.where()
}

func (d *demo) heading(text string) { fmt.Fprintf(d.out, "\n%s\n\n", text) }

// open makes the campaign and acts as its game master from then on.
func (d *demo) open(name, system string) { d.openBy(name, system, nil) }

// openBy opens a campaign with options that are not the defaults.
func (d *demo) openBy(name, system string, options map[string]any) {
	if d.err != nil {
		return
	}
	var made struct {
		Campaign string `json:"campaign"`
		GM       struct {
			Token string `json:"token"`
		} `json:"gm"`
	}
	body := map[string]any{"name": name, "system": system}
	if options != nil {
		body["options"] = options
	}
	if d.err = d.client.call(d.ctx, http.MethodPost, "/v1/campaigns", body, nil, &made); d.err == nil {
		d.campaign, d.client.token = made.Campaign, made.GM.Token
	}
}

// do gives a command and tells what came of it. It returns the command's id.
func (d *demo) do(say, typ string, data map[string]any, faces ...int) string {
	if d.err != nil {
		return ""
	}
	if say != "" {
		fmt.Fprintf(d.out, "\n%s\n", say)
	}
	a, err := d.client.command(d.ctx, d.campaign, typ, data, faces...)
	if err == nil {
		err = d.transcript.tell(a.Records)
	}
	d.err = err
	return a.Command
}

// timelines prints what became of every character.
func (d *demo) timelines() error {
	d.heading("What became of everybody (n, game time, what, change, points, health rank)")
	var list struct {
		Items []projections.Character `json:"items"`
	}
	if err := d.client.get(d.ctx, "/v1/campaigns/"+d.campaign+"/characters", &list); err != nil {
		return err
	}
	for _, c := range list.Items {
		var v projections.Timeline
		if err := d.client.get(d.ctx, "/v1/campaigns/"+d.campaign+"/characters/"+c.ID+"/timeline?limit=1000", &v); err != nil {
			return err
		}
		timeline(d.out, printable(c.Name), v, c.Health.Max)
	}
	return nil
}

// where says where to look next, and leaves the tokens and an export there.
func (d *demo) where() error {
	token := filepath.Join(d.dir, "gm.token")
	if err := os.WriteFile(token, []byte(d.client.token+"\n"), 0o600); err != nil {
		return err
	}
	out := filepath.Join(d.dir, "export")
	if _, err := export(d.ctx, d.client, d.campaign, out); err != nil {
		return err
	}
	d.heading("Where to look next")
	fmt.Fprintf(d.out, `  %[1]s
      the ledger as stored, one record a line, with its signed checkpoint
  %[6]s replay %[2]s
      decides it again without any server; verify does so and checks dice and signatures
  %[6]s serve --data %[3]s
      goes on with this ledger; console at http://127.0.0.1:8037, API at /docs, GM token in %[4]s
  then, in another terminal:
  curl -H "Authorization: Bearer $(cat %[4]s)" http://127.0.0.1:8037/v1/campaigns/%[5]s/characters

The folder %[3]s is yours to keep or delete.
`, filepath.Join(out, eventsFile), out, d.dir, token, d.campaign, self())
	return nil
}

// self is how this program was started, for people to copy.
func self() string {
	path, err := os.Executable()
	if err != nil || strings.Contains(path, "go-build") {
		return "go run ./cmd/tallystick"
	}
	return path
}
