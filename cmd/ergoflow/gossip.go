package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

func gossipCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "gossip",
		Short: "The gossip of a secured cluster: replace its key",
		Long: `Members of a secured cluster encrypt their gossip with a key. Workers get it
from the coordinator over TLS.`,
		Example: "  ergoflow gossip rotate --dir /var/lib/ergoflow",
	}, gossipRotateCommand())
}

func gossipRotateCommand() *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:   "rotate (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short: "Replace the key that encrypts the gossip",
		Long: `Replaces the key that encrypts the gossip, in three passes, and waits for the
end. First all members learn the new key, then all encrypt with it, then they
forget the old one. A pass begins when all workers that are there have confirmed
the one before. Training goes on. After Ctrl-C the coordinator goes on with it,
and the same command waits again. Rotate after a revocation: the revoked worker
has the old key.`,
		Example: "  ergoflow gossip rotate --dir /var/lib/ergoflow",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error { return rotateGossip(cmd.Context(), c) })
		},
	}
	cluster.add(cmd)
	return cmd
}

// rotateInterval is between two questions how far a rotation is.
const rotateInterval = 500 * time.Millisecond

// rotateGossip begins a rotation, or takes up one that is under way, and waits for its end.
func rotateGossip(ctx context.Context, c *conduct.Client) error {
	said := ""
	for begin := true; ; begin = false {
		pass, missing, err := c.RotateGossip(ctx, begin)
		if err != nil {
			return err
		}
		if pass == string(keys.Steady) {
			fmt.Fprintln(stdout, "the gossip has a new key, and nobody takes the old one")
			return nil
		}
		line := "pass " + pass
		if len(missing) > 0 {
			line += ": waits for " + strings.Join(missing, ", ")
		}
		if line != said {
			fmt.Fprintln(os.Stderr, line)
			said = line
		}
		select {
		case <-time.After(rotateInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
