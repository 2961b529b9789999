package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envName is the environment variable of a flag: --nats-creds is
// TALLYSTICK_NATS_CREDS.
func envName(flag string) string {
	return "TALLYSTICK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configure gives flags that were not set the value of the environment or of
// the config file.
func configure(cmd *cobra.Command) error {
	path, _ := cmd.Flags().GetString("config")
	if path == "" {
		path = os.Getenv(envName("config"))
	}
	file, err := readConfig(path)
	if err != nil {
		return &codeError{exitUnusable, err}
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, ok := os.LookupEnv(envName(f.Name))
		source := envName(f.Name)
		if !ok {
			value, ok = file[f.Name]
			source = path
		}
		if f.Changed || !ok || f.Name == "config" || f.Name == "help" {
			return
		}
		if err := f.Value.Set(value); err != nil && failed == nil {
			failed = fmt.Errorf("%s: %s is %q: %w", source, f.Name, value, err)
		}
		f.Changed = true
	})
	for name := range file {
		if cmd.Root().PersistentFlags().Lookup(name) == nil && !anyFlag(cmd.Root(), name) && failed == nil {
			failed = fmt.Errorf("%s: no command has a flag named %q", path, name)
		}
	}
	if failed != nil {
		return &codeError{exitUnusable, failed}
	}
	return nil
}

// anyFlag reports whether any command has a flag, as one file may serve them
// all.
func anyFlag(cmd *cobra.Command, name string) bool {
	if cmd.Flags().Lookup(name) != nil {
		return true
	}
	for _, sub := range cmd.Commands() {
		if anyFlag(sub, name) {
			return true
		}
	}
	return false
}

// readConfig reads lines "flag = value"; empty lines and lines that begin with
// # do not count.
func readConfig(path string) (map[string]string, error) {
	values := map[string]string{}
	if path == "" {
		return values, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s:%d: must be a line \"flag = value\"", path, n)
		}
		values[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return values, lines.Err()
}
