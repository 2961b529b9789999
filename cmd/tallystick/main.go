// Command tallystick keeps the ledger of role-playing campaigns: it serves the
// HTTP API, plays a demonstration, and replays and exports campaigns.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tallystick/projections"
)

// Exit codes.
const (
	exitOK       = 0
	exitDiverged = 1 // a replay came to something else than is stored; any other failure
	exitUnusable = 2 // the ledger or the arguments cannot be used
)

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// ballastSize is memory in bytes that the program reserves and never touches: see
// decision 0115. The garbage collector counts it as in use, and so waits until about
// as much has been allocated, where it would go over a small heap every 3 MiB.
const ballastSize = 8 << 20

func run(ctx context.Context, args []string) int {
	ballast := make([]byte, ballastSize)
	defer runtime.KeepAlive(ballast)
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	// What a server or a file says may be meant to steer the terminal.
	for line := range strings.SplitSeq("tallystick: "+err.Error(), "\n") {
		fmt.Fprintln(root.ErrOrStderr(), projections.Printable(line))
	}
	var coded *codeError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitDiverged
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tallystick",
		Short: "A campaign ledger for tabletop role-playing",
		Long: `Tallystick keeps every roll, wound and healing tick of a role-playing campaign
as a fact in a ledger that nobody at the table can choose, foresee or rewrite.

Every flag can also be given as an environment variable (--listen is
TALLYSTICK_LISTEN) or as a line "listen = 127.0.0.1:8037" in a file named by
--config. A flag wins over the environment, the environment over the file.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return configure(cmd) },
	}
	root.PersistentFlags().String("config", "", "file with lines \"flag = value\"")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &codeError{exitUnusable, err} })
	root.AddCommand(
		serveCommand(), demoCommand(), healthCommand(), mcpCommand(),
		seatCommand(), rollCommand(), tempoCommand(), overrideCommand(), disputesCommand(), disputeCommand(), correctCommand(),
		showCommand(), transcriptCommand(), auditCommand(), whatIfCommand(), prognosisCommand(),
		replayCommand(), verifyCommand(), exportCommand(), importCommand(),
		backupCommand(), restoreCommand(), rotateKeyCommand(), tokenCommand(), botCommand(), webhookCommand(),
		conformCommand(), benchCommand(), versionCommand(),
	)
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}

// strict refuses what is no command below one that has commands only. Cobra
// would show its help and end well, and a script that meant to revoke a token
// would go on.
func strict(parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		strict(cmd)
		if !cmd.HasSubCommands() || cmd.Runnable() {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return &codeError{exitUnusable, fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
		}
	}
}

// complete makes the shell offer the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("cmd: " + err.Error()) // the flag is not there
	}
}

// release is the version of a package, set by the linker; empty otherwise.
var release string

// version is what the build says about itself.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v += " " + s.Value[:12]
		}
	}
	return v
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, the rule systems and their editions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "tallystick %s\n", version())
			if info, ok := debug.ReadBuildInfo(); ok {
				fmt.Fprintf(out, "%s\n", info.GoVersion)
				for _, dep := range info.Deps {
					if dep.Path == "github.com/nats-io/nats-server/v2" {
						fmt.Fprintf(out, "nats-server %s\n", dep.Version)
					}
				}
			}
			for _, book := range library() {
				fmt.Fprintf(out, "rules %s edition %d: %s\n", book.Name(), book.Edition(), book.Describe().Title)
			}
			return nil
		},
	}
}
