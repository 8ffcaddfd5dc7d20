package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func checkpointsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "checkpoints",
		Short:   "List, show, verify, export, import and prune checkpoints",
		Example: "  ergoflow checkpoints export latest --dir ergoflow-runs/vn1d-demo -o vn1d.safetensors",
	}, checkpointsListCommand(), checkpointsShowCommand(), checkpointsVerifyCommand(),
		checkpointsExportCommand(), checkpointsImportCommand(), checkpointsPruneCommand())
}

func requireDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "directory of the run or coordinator (required)")
	cmd.MarkFlagRequired("dir")
}

// reading is the RunE of a command that reads the checkpoints of a directory.
func reading(dir *string, run func(ctx context.Context, store *checkpoint.Store, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, done, err := readCheckpoints(cmd.Context(), *dir)
		if err != nil {
			return err
		}
		defer done()
		return run(cmd.Context(), store, args)
	}
}

// said are the warnings that are not empty.
func said(warnings ...string) []string {
	return slices.DeleteFunc(warnings, func(w string) bool { return w == "" })
}

// verifyLedger verifies coordinator.db of a directory, and prints its warning.
func verifyLedger(dir string) (warning string, err error) {
	warning, err = coordinator.VerifyLedger(dir)
	warn(said(warning))
	return warning, err
}

func checkpointsListCommand() *cobra.Command {
	var flags storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list --dir DIR | --store LOCATION",
		Short:   "List checkpoints, oldest first",
		Example: "  ergoflow checkpoints list --dir ergoflow-runs/vn1d-demo\n  ergoflow checkpoints list --store 's3://shards/lab?endpoint=https://10.0.0.9:9000'",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.store != "" {
				return listArchive(cmd.Context(), flags, asJSON)
			}
			return reading(&flags.dir, func(_ context.Context, store *checkpoint.Store, _ []string) error {
				list, err := store.List()
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(list)
				}
				t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
				fmt.Fprintln(t, checkpointColumns)
				for _, c := range list {
					fmt.Fprintln(t, checkpointRow(c))
				}
				return t.Flush()
			})(cmd, args)
		},
	}
	flags.add(cmd, "location of the bucket into which coordinators copy checkpoints")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

const checkpointColumns = "id\texperiment\trun\tstep\tloss\tsize\tage"

func checkpointRow(c checkpoint.Info) string {
	loss := "–" // the start of a warm start has none
	if l := float64(c.Loss); !math.IsNaN(l) {
		loss = fmt.Sprintf("%.4g", l)
	}
	return fmt.Sprintf("%s\t%s\t%.12s\t%d\t%s\t%s\t%s", c.ID, c.Experiment, c.Run, c.Step, loss, humanize.IBytes(uint64(c.Size)), humanize.Time(c.Time))
}

// shownCheckpoint is the document of `checkpoints show`.
type shownCheckpoint struct {
	checkpoint.Info
	Parameters    int                   `json:"parameters"`
	Start         *experiment.Start     `json:"start,omitempty"` // from which its run began
	Normalisation json.RawMessage       `json:"normalisation"`
	Config        experiment.Experiment `json:"config"`
}

func checkpointsShowCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "show ID|latest --dir DIR",
		Short:   "Show a checkpoint and its configuration as JSON",
		Example: "  ergoflow checkpoints show latest --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(1, "a checkpoint's ID, or latest"),
		RunE: reading(&dir, func(_ context.Context, store *checkpoint.Store, args []string) error {
			info, encoded, err := store.Read(args[0])
			if err != nil {
				return err
			}
			e, st, err := experiment.DecodeState(encoded)
			if err != nil {
				return err
			}
			normalisation, err := json.Marshal(st.Normalisation)
			if err != nil {
				return err
			}
			return printJSON(shownCheckpoint{info, len(st.Parameters), e.Training.Start, normalisation, e})
		}),
	}
	requireDir(cmd, &dir)
	return cmd
}

func checkpointsVerifyCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "verify --dir DIR | --store LOCATION",
		Short: "Verify every chunk of every checkpoint",
		Long: `Reads all of checkpoints.db, and of coordinator.db where no coordinator has it
open; or all checkpoints that coordinators have copied into a bucket. Ends with
code 1 and names what is damaged.`,
		Example: "  ergoflow checkpoints verify --dir ergoflow-runs/vn1d-demo",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.store != "" {
				return verifyArchive(cmd.Context(), flags)
			}
			return reading(&flags.dir, func(ctx context.Context, store *checkpoint.Store, _ []string) error {
				_, damaged := verifyLedger(flags.dir)
				if err := errors.Join(store.Verify(ctx), damaged); err != nil {
					return err
				}
				list, err := store.List()
				if err != nil {
					return err
				}
				fmt.Fprintf(stdout, "%d checkpoints are whole\n", len(list))
				return nil
			})(cmd, args)
		},
	}
	flags.add(cmd, "location of the bucket into which coordinators copy checkpoints")
	return cmd
}
