package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tallystick/api"
)

func importCommand() *cobra.Command {
	var remote remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import BUNDLE…",
		Short: "Put exported campaigns onto a server",
		Long: `Import sends exports to a server: folders, zips of them, or files of records
alone. The server refuses what does not verify. A campaign that it has already
must be a beginning of the export; then only the rest is appended. A campaign
whose signing key another server has can be read, checked and exported there,
and nothing is added to it.

The token is the server's admin token. Exit code 0: all are there. 1: one was
refused. 2: a file cannot be read, or the server not be asked.`,
		Example: "  tallystick import night-one --token-file data/admin.token",
		Args:    atLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return &codeError{exitUnusable, err}
			}
			for _, path := range args {
				done, err := send(cmd, c, path)
				var refused *problem
				switch {
				case errors.As(err, &refused):
					return &codeError{exitDiverged, fmt.Errorf("%s: %w", path, err)}
				case err != nil:
					return &codeError{exitUnusable, err}
				case asJSON:
					err = printJSON(cmd.OutOrStdout(), done)
				default:
					err = printImport(cmd.OutOrStdout(), done)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	remote.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what became of each as JSON, one a line, with the new tokens")
	return cmd
}

func printImport(out io.Writer, done api.Import) error {
	note := ""
	if done.ReadOnly {
		note = "; read-only here, another server has its signing key"
	}
	_, err := fmt.Fprintf(out, "campaign %s: %d records, %d of them new%s\n", done.Campaign, done.Records, done.Appended, note)
	return err
}

// send sends one export. A folder is packed while it is sent.
func send(cmd *cobra.Command, c *client, path string) (done api.Import, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return done, err
	}
	kind, body := "application/zip", io.Reader(nil)
	switch {
	case info.IsDir():
		r, w := io.Pipe()
		go func() { w.CloseWithError(pack(w, path)) }()
		defer r.Close()
		body = r
	default:
		f, err := os.Open(path)
		if err != nil {
			return done, err
		}
		defer f.Close()
		if body = f; !strings.HasSuffix(path, zipSuffix) {
			kind = "application/x-ndjson"
		}
	}
	err = c.call(cmd.Context(), http.MethodPost, "/v1/ledgers", body, http.Header{"Content-Type": {kind}}, &done)
	return done, err
}

// pack writes the files of a bundle as a zip.
func pack(out io.Writer, dir string) error {
	z := zip.NewWriter(out)
	for _, name := range []string{eventsFile, checkpointFile, vkeyFile} {
		in, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) && name != eventsFile {
			continue
		}
		if err != nil {
			return err
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = io.Copy(w, in)
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return z.Close()
}
