package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ergoflow/ergoflow"
)

// manCommand writes the man pages of all commands, for packages.
func manCommand() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write man pages",
		Example: "  ergoflow man /usr/local/share/man/man1 --date 2026-11-27",
		Hidden:  true,
		Args:    exactly(1, "the directory for the pages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			day, err := time.Parse(time.DateOnly, date)
			if err != nil {
				return usagef("--date %q is not YYYY-MM-DD", date)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &day, Source: "ergoflow " + ergoflow.Version, Manual: "ergoflow"}, args[0])
		},
	}
	cmd.Flags().StringVar(&date, "date", "", "day of the pages, YYYY-MM-DD (required)")
	cmd.MarkFlagRequired("date")
	return cmd
}
