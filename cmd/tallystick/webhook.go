package main

import (
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tallystick/api"
	"tallystick/projections"
)

// webhookCommand looks after webhooks by the public API.
func webhookCommand() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Have other programs told by HTTP what happens in a campaign",
		Long: `A webhook sends every record to a receiver, signed by the Standard Webhooks
convention, in order, until it is taken; see docs/integrations.md. Use the token of a
game master or of a player (--token-file).`,
	}
	remote.addTo(cmd.PersistentFlags())
	cmd.AddCommand(webhookAdd(&remote), webhookList(&remote), webhookRemove(&remote), webhookDead(&remote), webhookReplay(&remote), webhookRotate(&remote))
	return cmd
}

func webhooksPath(campaign string, more ...string) string {
	path := "/v1/campaigns/" + url.PathEscape(campaign) + "/webhooks"
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

func webhookAdd(remote *remoteFlags) *cobra.Command {
	var asked api.WebhookRequest
	var from int64
	cmd := &cobra.Command{
		Use: "add CAMPAIGN URL", Short: "Add a receiver; its signing secret is printed once", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			asked.URL = args[1]
			if cmd.Flags().Changed("from") {
				asked.From = &from
			}
			var made api.NewWebhook
			if err := c.call(cmd.Context(), http.MethodPost, webhooksPath(args[0]), asked, nil, &made); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", made.ID, made.Secret)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&asked.Types, "type", nil, "event type to be told; may be repeated; all when left out")
	cmd.Flags().BoolVar(&asked.Secrets, "secrets", false, "tell it what you may see of what is secret")
	cmd.Flags().Int64Var(&from, "from", 0, "n of the first record to be told; what happens from now on when left out")
	return cmd
}

func webhookList(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list CAMPAIGN", Short: "List receivers and how far they have come", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var list projections.Page[api.WebhookItem]
			if err := c.get(cmd.Context(), webhooksPath(args[0])+"?limit=1000", &list); err != nil {
				return err
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, w := range list.Items {
				state := "goes on"
				switch {
				case w.Paused != "":
					state = "paused: " + w.Paused
				case w.Error != "":
					state = fmt.Sprintf("failed %d times (%s), next try %s", w.Attempts, w.Error, w.NextTry)
				}
				fmt.Fprintf(out, "%s\t%s\t%s\tnext %d\t%s\n", w.ID, w.By, projections.Printable(w.URL), w.Next, projections.Printable(state))
			}
			return out.Flush()
		},
	}
}

func webhookRemove(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "remove CAMPAIGN WEBHOOK", Short: "Tell a receiver nothing more", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			resp, err := c.do(cmd.Context(), http.MethodDelete, webhooksPath(args[0], args[1]), nil, nil)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		},
	}
}

func webhookDead(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "dead CAMPAIGN WEBHOOK", Short: "List the records that were given up", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var list projections.Page[api.WebhookLetter]
			if err := c.get(cmd.Context(), webhooksPath(args[0], args[1], "dead")+"?limit=1000", &list); err != nil {
				return err
			}
			for _, l := range list.Items {
				fmt.Fprintf(cmd.OutOrStdout(), "%d\t%s\t%d attempts\t%s\t%s\n", l.N, projections.Printable(l.Type), l.Attempts, l.At, projections.Printable(l.Error))
			}
			return nil
		},
	}
}

func webhookReplay(remote *remoteFlags) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use: "replay CAMPAIGN WEBHOOK", Short: "Try dead letters again and go on, or tell everything again from a record", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var asked api.WebhookReplay
			if cmd.Flags().Changed("from") {
				asked.From = &from
			}
			var item api.WebhookItem
			return c.call(cmd.Context(), http.MethodPost, webhooksPath(args[0], args[1], "replay"), asked, nil, &item)
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "n of the first record to be told again")
	return cmd
}

func webhookRotate(remote *remoteFlags) *cobra.Command {
	var overlap int
	cmd := &cobra.Command{
		Use: "rotate CAMPAIGN WEBHOOK", Short: "Change the signing secret; the new one is printed once", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var made api.NewWebhook
			if err := c.call(cmd.Context(), http.MethodPost, webhooksPath(args[0], args[1], "secret"), api.WebhookRotation{Overlap: &overlap}, nil, &made); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", made.ID, made.Secret)
			return nil
		},
	}
	cmd.Flags().IntVar(&overlap, "overlap", 24, "hours for which the secret before goes on signing as well, at most 168; 0: it ends at once")
	return cmd
}
