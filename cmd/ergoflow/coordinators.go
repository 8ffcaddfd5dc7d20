package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/hostport"
)

func coordinatorsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "coordinators",
		Short: "The coordinators of a cluster that has several",
		Long: `Several coordinators keep one ledger. One of them leads: it conducts the runs.
When it ends or is cut off, the others elect another. Each is started with
"ergoflow coordinator --peers" (docs/operations.md).`,
		Example: "  ergoflow coordinators list --addr 10.0.0.2:7070",
	}, coordinatorsListCommand(), coordinatorsAddCommand(), coordinatorsRemoveCommand(), coordinatorsRecoverCommand())
}

func coordinatorsListCommand() *cobra.Command {
	var cluster clusterFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short:   "List the coordinators, and which of them leads",
		Long:    "Asks one coordinator, which asks the others. Any of them answers.",
		Example: "  ergoflow coordinators list --addr 10.0.0.2:7070",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error {
				list, err := c.ListCoordinators(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(list)
				}
				return printCoordinators(list)
			})
		},
	}
	cluster.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// printCoordinators prints a table, and below it why some do not answer.
func printCoordinators(list coordinator.Coordinators) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "address\tstate\tentries\tshards\tversion\tid")
	var silent []string
	for _, m := range list.Members {
		state, entries, shards, version := "follows", strconv.FormatUint(m.Applied, 10), "-", m.Version
		if m.BucketBytes > 0 {
			shards = humanize.IBytes(m.BucketBytes)
		}
		switch {
		case !m.Answers:
			state, entries, version = "does not answer", "-", "-"
			silent = append(silent, m.Address+": "+m.Error)
		case m.Leads:
			state = fmt.Sprintf("leads in term %d", list.Term)
		case list.Leader == "":
			state = "knows no leader"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.8s\n", m.Address, state, entries, shards, version, m.ID)
	}
	err := table.Flush()
	for _, why := range silent {
		fmt.Fprintln(stdout, why)
	}
	return err
}

func coordinatorsAddCommand() *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:   "add HOST:PORT (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short: "Add a coordinator, which waits to be added",
		Long: `Adds the coordinator with that control address. It must have been started
before, with an empty directory, and with --peers that has its own address and
that of a coordinator of this cluster.`,
		Example: "  ergoflow coordinators add 10.0.0.4:7070 --addr 10.0.0.1:7070",
		Args:    exactly(1, "the control address of the coordinator"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := hostport.Check(args[0]); err != nil {
				return usagef("%w", err)
			}
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error { return c.AddCoordinator(cmd.Context(), args[0]) })
		},
	}
	cluster.add(cmd)
	return cmd
}

func coordinatorsRemoveCommand() *cobra.Command {
	var cluster clusterFlags
	cmd := &cobra.Command{
		Use:   "remove HOST:PORT|ID (--dir DIR | --addr HOST:PORT | --context DIR)",
		Short: "Remove a coordinator",
		Long: `Removes a coordinator, whether it answers or not. If it runs, it ends. A machine
whose disk was lost is removed before it is added again with an empty
directory: what the old directory promised to the others is lost with it.`,
		Example: "  ergoflow coordinators remove 10.0.0.3:7070 --addr 10.0.0.1:7070",
		Args:    exactly(1, "the control address or the id of a coordinator"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(cmd.Context(), cluster, func(c *conduct.Client) error { return c.RemoveCoordinator(cmd.Context(), args[0]) })
		},
	}
	cluster.add(cmd)
	return cmd
}
