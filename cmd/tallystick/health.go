package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"tallystick/api"
	"tallystick/projections"
)

// healthPatience bounds how long a server may take to say how it is.
const healthPatience = 10 * time.Second

func healthCommand() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it is ready: exit 0, or 1 with what is wrong",
		Long:  "Health asks /readyz, which needs no token. It is what a container's health check runs.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), healthPatience)
			defer cancel()
			ready, err := askReady(ctx, strings.TrimRight(server, "/"))
			if err != nil {
				return err
			}
			if ready.Status != "ready" {
				return fmt.Errorf("not ready: %s", strings.Join(ready.Problems, "; "))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ready: tallystick %s\n", projections.Printable(ready.Version))
			return nil
		},
	}
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:8037", "address of the server")
	return cmd
}

func askReady(ctx context.Context, server string) (ready api.Ready, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
	if err != nil {
		return ready, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ready, err
	}
	defer resp.Body.Close()
	if err := json.UnmarshalRead(resp.Body, &ready); err != nil {
		return ready, errors.New("what answers there is no tallystick")
	}
	return ready, nil
}
