package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tallystick/events"
)

// Files of a bundle.
const (
	eventsFile     = "events.jsonl"
	checkpointFile = "checkpoint"
	vkeyFile       = "vkey"
)

func exportCommand() *cobra.Command {
	var remote remoteFlags
	var dir, format string
	var names bool
	cmd := &cobra.Command{
		Use:   "export CAMPAIGN | FOLDER…",
		Short: "Write a campaign's ledger to a folder, or the dice of many exports to a table",
		Long: `Export writes the records as they are stored, one a line (events.jsonl), the
newest signed checkpoint and the key that verifies it. replay and verify take
the folder and need no server. With --out ending in .zip the same three files
are written as one.

With --format it reads exports instead, also folders of thousands, and writes
every die of every roll as a row. What people wrote is left out unless --names
asks for it.`,
		Example: `  tallystick export 0192f1c0-7d6a-7c3e-9b1a-3f2f4a5b6c7d --token-file gm.token --out night-one
  tallystick export --format parquet --out dice.parquet sessions/`,
		Args: atLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "" {
				return exportRows(cmd, args, format, dir, names)
			}
			if err := exactly(1)(cmd, args); err != nil {
				return err
			}
			c, err := remote.client()
			if err != nil {
				return err
			}
			if strings.HasSuffix(dir, zipSuffix) {
				return exportZip(cmd, c, args[0], dir)
			}
			n, err := export(cmd.Context(), c, args[0], dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d records in %s\n", n, dir)
			return nil
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&dir, "out", "", "folder or file to write to, which must not exist yet; with --format, - is the standard output")
	cmd.Flags().StringVar(&format, "format", "", "csv, ndjson or parquet: the dice of exports as rows")
	cmd.Flags().BoolVar(&names, "names", false, "with --format: also who rolled and what for")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err)
	}
	return cmd
}

// exportZip writes a bundle as one file, as the server makes it.
func exportZip(cmd *cobra.Command, c *client, campaign, file string) error {
	resp, err := c.do(cmd.Context(), http.MethodGet, "/v1/campaigns/"+campaign+"/ledger", nil, http.Header{"Accept": {"application/zip"}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, resp.Body)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "%d bytes in %s\n", n, file)
	}
	return err
}

// export writes a bundle. The checkpoint is fetched last, so that it covers
// all records written.
func export(ctx context.Context, c *client, campaign, dir string) (records int64, err error) {
	in, err := c.stream(ctx, "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	vkey, records, err := copyLedger(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return 0, err
	}
	checkpoint, err := c.text(ctx, fmt.Sprintf("/v1/campaigns/%s/checkpoint?size=%d", campaign, records))
	var refused *problem
	switch {
	case errors.As(err, &refused) && refused.Type == "/problems/imported":
		// Nobody here can sign one, and none came with the campaign.
	case err != nil:
		return 0, err
	default:
		if err := os.WriteFile(filepath.Join(dir, checkpointFile), checkpoint, 0o644); err != nil {
			return 0, err
		}
	}
	return records, os.WriteFile(filepath.Join(dir, vkeyFile), []byte(vkey+"\n"), 0o644)
}

// copyLedger copies records and finds the key that verifies checkpoints over
// them: that of the first record, or one that came later.
func copyLedger(out io.Writer, in io.Reader) (vkey string, records int64, err error) {
	lines := bufio.NewReaderSize(in, 128<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil {
			return "", records, fmt.Errorf("the ledger breaks off after %d records: %w", records, err)
		}
		key, err := keyIn(line[:len(line)-1], records)
		if err != nil {
			return "", records, err
		}
		vkey = cmp.Or(key, vkey)
		if _, err := out.Write(line); err != nil {
			return "", records, err
		}
		records++
	}
	if records == 0 {
		return "", 0, fmt.Errorf("the ledger is empty")
	}
	return vkey, records, nil
}

// keyIn gives the key that verifies checkpoints from record n on, where the
// record says so, else an empty text.
func keyIn(line []byte, n int64) (string, error) {
	if n > 0 && !bytes.Contains(line, []byte(`"type":"key.rotated"`)) && !bytes.Contains(line, []byte(`"type":"ledger.recovered"`)) {
		return "", nil
	}
	rec, err := events.Parse(line)
	if err != nil {
		return "", err
	}
	e, err := core.Decode(rec)
	if err != nil {
		return "", err
	}
	switch e := e.(type) {
	case *events.CampaignCreated:
		return e.VKey, nil
	case *events.KeyRotated:
		return e.New, nil
	case *events.LedgerRecovered:
		return e.VKey, nil
	}
	if n == 0 {
		return "", fmt.Errorf("the first record is %s, not campaign.created", rec.Type)
	}
	return "", nil // somebody wrote about such an event: the record is another one
}
