package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
)

func coordinatorsRecoverCommand() *cobra.Command {
	var dir string
	var lost []string
	cmd := &cobra.Command{
		Use:   "recover --dir DIR --lost A,B",
		Short: "Go on alone after the majority of coordinators is lost for ever",
		Long: `Makes the coordinator of a directory, which must not run, the only one of its
cluster, because the others are lost for ever. Changes that only they had are
lost. --lost names the control addresses of all others, so that nobody recovers
by mistake; a coordinator that still answers at one of them prevents it. Never
start a lost one with its old directory again: there would be two clusters.

Then start the coordinator again, and add new ones.`,
		Example: "  ergoflow coordinators recover --dir /var/lib/ergoflow --lost 10.0.0.2:7070,10.0.0.3:7070",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := coordinator.Recover(cmd.Context(), dir, lost, logger())
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "The coordinator in %s is now the only one, with %d entries of the ledger.\n", dir, kept)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the coordinator that goes on (required)")
	cmd.Flags().StringSliceVar(&lost, "lost", nil, "control addresses of all others (required)")
	cmd.MarkFlagRequired("dir")
	cmd.MarkFlagRequired("lost")
	return cmd
}
