package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/internal/trust"
)

func tokensCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "tokens",
		Short: "Tokens by which machines and people join a secured cluster",
		Long: `A token has a role, an end and a number of uses. With it a process gets a
certificate of that role. The coordinator keeps only a hash of its secret.`,
		Example: "  ergoflow tokens create --dir /var/lib/ergoflow --role worker --ttl 1h --uses 5",
	}, tokensCreateCommand(), tokensListCommand(), tokensRevokeCommand())
}

// madeToken is the document of `tokens create`.
type madeToken struct {
	Token   string     `json:"token"` // with its secret
	Role    trust.Role `json:"role"`
	Join    string     `json:"join"` // host:port
	Command string     `json:"command"`
}

func tokensCreateCommand() *cobra.Command {
	var cluster clusterFlags
	var role string
	var ttl time.Duration
	var uses uint32
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "create (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short:   "Make a token, and print the command that joins by it",
		Example: "  ergoflow tokens create --dir /var/lib/ergoflow --role worker --ttl 1h --uses 5",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := trust.ParseRole(role)
			if err != nil || r == trust.Coordinator {
				return usagef("--role is %q, not worker, operator or viewer", role)
			}
			if ttl < time.Second {
				return usagef("--ttl is %v, less than a second", ttl)
			}
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error {
				token, join, err := c.CreateToken(cmd.Context(), r, ttl, uses)
				if err != nil {
					return err
				}
				made := madeToken{token, r, join, joinCommand(r, join, token)}
				if asJSON {
					return printJSON(made)
				}
				fmt.Fprintln(stdout, made.Command)
				return nil
			})
		},
	}
	cluster.add(cmd)
	f := cmd.Flags()
	f.StringVar(&role, "role", string(trust.Worker), "role of those that join: worker, operator or viewer")
	f.DurationVar(&ttl, "ttl", time.Hour, "how long the token counts")
	f.Uint32Var(&uses, "uses", 1, "how many times it counts")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func tokensListCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short:   "List the tokens of a cluster, without their secrets",
		Example: "  ergoflow tokens list --dir /var/lib/ergoflow",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error { return listTokens(cmd.Context(), c, asJSON) })
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

func listTokens(ctx context.Context, c *conduct.Client, asJSON bool) error {
	list, err := c.Tokens(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(list)
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "id\trole\tuses left\texpires\tstate")
	for _, t := range list {
		state := "counts"
		switch {
		case t.Revoked:
			state = "revoked"
		case time.Now().After(t.Expires):
			state = "expired"
		case t.Uses == 0:
			state = "used up"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", t.ID, t.Role, t.Uses, t.Expires.UTC().Format("2006-01-02 15:04 UTC"), state)
	}
	return table.Flush()
}

func tokensRevokeCommand() *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:     "revoke ID (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short:   "End a token before its time",
		Long:    "Ends a token. Certificates that it has given stay: `ergoflow certs revoke` ends\nthose.",
		Example: "  ergoflow tokens revoke 0123456789abcdef --dir /var/lib/ergoflow",
		Args:    exactly(1, "the id of a token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error { return c.RevokeToken(cmd.Context(), args[0]) })
		},
	}
	cluster.add(cmd)
	return cmd
}

// withClient calls f with a client of the cluster.
func withClient(ctx context.Context, cluster clusterFlags, f func(*conduct.Client) error) error {
	c, err := cluster.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}
