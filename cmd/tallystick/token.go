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

// tokenCommand looks after the tokens of participants by the public API, with
// the admin's token or a game master's.
func tokenCommand() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Look after the tokens of a campaign's participants",
		Long: `The server keeps no token, only hashes: a token that was given out cannot be shown
again, only replaced. Use the admin token (--token-file data/admin.token) or a game
master's. A token that ends is out of force at once, open live feeds included.`,
	}
	remote.addTo(cmd.PersistentFlags())
	cmd.AddCommand(tokenList(&remote), tokenIssue(&remote), tokenRevoke(&remote))
	return cmd
}

func participantPath(campaign, handle string) string {
	return "/v1/campaigns/" + url.PathEscape(campaign) + "/participants/" + url.PathEscape(handle) + "/token"
}

func tokenList(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list CAMPAIGN", Short: "List who takes part and who has a token", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for from := int64(0); ; {
				var page projections.Page[api.TokenItem]
				if err := c.get(cmd.Context(), fmt.Sprintf("/v1/campaigns/%s/tokens?from=%d", url.PathEscape(args[0]), from), &page); err != nil {
					return err
				}
				for _, t := range page.Items {
					state := "none"
					if t.Token {
						state = "in force"
					}
					fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", projections.Printable(t.Handle), t.Role, state, projections.Printable(t.Name))
				}
				if page.Next == nil {
					return out.Flush()
				}
				from = *page.Next
			}
		},
	}
}

func tokenIssue(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "rotate CAMPAIGN HANDLE", Aliases: []string{"issue"}, Args: cobra.ExactArgs(2),
		Short: "Give out a new token, which is printed once; the one before ends",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			var t api.NewToken
			if err := c.call(cmd.Context(), http.MethodPost, participantPath(args[0], args[1]), nil, nil, &t); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), t.Token)
			return nil
		},
	}
}

func tokenRevoke(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use: "revoke CAMPAIGN HANDLE", Short: "End a token; the participant stays", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			resp, err := c.do(cmd.Context(), http.MethodDelete, participantPath(args[0], args[1]), nil, nil)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		},
	}
}
