package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/report"
)

func reportCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report [DIR]",
		Short: "Print the table of a finished run again",
		Long: `Prints the table of a run that has been evaluated, and the path of its report.
DIR is the directory of the run, or of its report; without it the command takes
the only run in ergoflow-runs that has a report.`,
		Example: "  ergoflow report ergoflow-runs/vn1d-demo",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("expected at most one directory, got %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := reportDirectory(args)
			if err != nil {
				return err
			}
			written, err := report.Read(dir)
			if errors.Is(err, report.ErrNone) {
				return withHint(err, "`ergoflow run` and `ergoflow evaluate` write one; name the directory of a run, such as ergoflow-runs/vn1d-demo")
			}
			if err != nil {
				return err
			}
			if asJSON {
				_, err = stdout.Write(written.Results)
				return err
			}
			fmt.Fprintf(stdout, "%s\n\nreport   %s\nfigures  %s\n", strings.TrimRight(written.Table, "\n"), written.Page, filepath.Join(filepath.Dir(written.Page), "*.png"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON (docs/formats.md)")
	return cmd
}

// reportDirectory is the argument, or the only run that has a report.
func reportDirectory(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	runs := reportedRuns()
	switch len(runs) {
	case 0:
		return "", withHint(fmt.Errorf("no run in %s has a report", runsDirectory), "`ergoflow run vn1d --preset demo` makes one; or name a directory")
	case 1:
		return runs[0], nil
	}
	return "", withHint(usagef("%d runs in %s have reports", len(runs), runsDirectory), "name one of them: ergoflow report %s", strings.Join(runs[:min(len(runs), 5)], " or "))
}

func reportedRuns() (runs []string) {
	entries, err := os.ReadDir(runsDirectory)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		dir := filepath.Join(runsDirectory, entry.Name())
		if _, err := report.Read(dir); err == nil {
			runs = append(runs, dir)
		}
	}
	return runs
}
