package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/simulator"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/report/reproduce"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// maxSeeds of a reproduction: more is a typing error.
const maxSeeds = 100

// seedsOf is a preset's default number of seeds: enough for a spread where the numbers
// mean something.
func seedsOf(preset string) int {
	if preset == "smoke" || preset == "demo" {
		return 1
	}
	return 3
}

func reproduceCommand() *cobra.Command {
	var local localFlags
	var preset, addr string
	var seeds int
	var asJSON bool
	names := strings.Join(append(studies.Names(), "all"), ", ")
	cmd := &cobra.Command{
		Use:   "reproduce EXPERIMENT|all",
		Short: "Reproduce the paper's tables and figures, ours beside theirs",
		Long: `Trains and evaluates all runs of an experiment's tables and figures, with
several seeds, and writes one HTML page, a Markdown page for each experiment and
all numbers as JSON. Experiments are
  ` + strings.Join(studies.Names(), ", ") + `
where cn2d includes cn2d_grid. vn1d_time, laws at physical times, is not in the
paper, so there are no numbers to compare it with.

The command finds finished trainings and evaluations by their configuration and
does not repeat them. After an interruption or a kill the same command continues
where it stopped, also in the middle of a training. Trainings run on a cluster
on this machine, or on the one at --addr; evaluations run in this process.`,
		Example: "  ergoflow reproduce all --preset smoke\n  ergoflow reproduce vn1d --preset scaled --seeds 5",
		Args:    exactly(1, "one of: "+names),
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := studies.Select(args[0], preset)
			if err != nil {
				return usage(err)
			}
			if !cmd.Flags().Changed("seeds") {
				seeds = seedsOf(preset)
			}
			if seeds < 1 || seeds > maxSeeds {
				return usagef("--seeds is %d, not in 1…%d", seeds, maxSeeds)
			}
			if err := trainable(cmd.Context(), selected, preset, seeds, addr, &local); err != nil {
				return err
			}
			if local.dir == "" {
				local.dir = filepath.Join("ergoflow-runs", "reproduce-"+preset)
			}
			dir := reproduce.Directory(local.dir)
			bars := progress.Stages{Out: os.Stderr}
			o := reproduce.Options{
				Studies: selected, Preset: preset, Seeds: seeds, Dir: dir, Workers: local.workers,
				Train: func(ctx context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
					result, err := local.run(ctx, e, wire.Stage_STAGE_TRAIN)
					return result.Checkpoint, result.Stages, err
				},
				Open: local.open,
				Say: func(line string) {
					bars.End()
					fmt.Fprintln(os.Stderr, line)
				},
				Progress: func(stage string, done, total int) {
					bars.Show(fmt.Sprintf("%-30s", stage), "functions", done, total, "")
				},
			}
			if addr != "" {
				o.Workers = 0
				o.Train = func(ctx context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
					result, err := runAt(ctx, addr, e)
					return result.Checkpoint, result.Stages, err
				}
			}
			doc, err := reproduce.Make(cmd.Context(), o)
			bars.End()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(doc)
			}
			for _, s := range doc.Studies {
				fmt.Fprintf(stdout, "%s: %s\n", s.Name, s.Scale)
			}
			fmt.Fprintf(stdout, "report   %s\n", dir.Page())
			return nil
		},
	}
	local.add(cmd)
	cmd.Flags().Lookup("dir").Usage = "directory of the reproduction (default ergoflow-runs/reproduce-PRESET)"
	cmd.Flags().Lookup("backend").Usage += "; of local workers and of evaluations"
	cmd.Flags().StringVar(&preset, "preset", "scaled", "size of the experiments: smoke, demo, scaled, best or full")
	cmd.Flags().IntVar(&seeds, "seeds", 0, "train with seeds 1 to N (default 3; 1 for smoke and demo)")
	cmd.Flags().StringVar(&addr, "addr", "", "train on the running cluster whose control service is at `HOST:PORT`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all numbers as JSON (docs/formats.md)")
	cmd.MarkFlagsMutuallyExclusive("addr", "workers")
	return cmd
}

// trainable refuses what a training would fail for, before it counts as an attempt: too
// many workers, a cluster that does not answer.
func trainable(ctx context.Context, selected []studies.Study, preset string, seeds int, addr string, local *localFlags) error {
	if addr != "" {
		client, err := conduct.Dial(addr)
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Status(ctx); err != nil {
			return err
		}
		return knownNames(local.backend, local.engine)
	}
	jobs, err := reproduce.Plan(selected, preset, seeds)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := local.check(job.Experiment); err != nil {
			return err
		}
	}
	return nil
}

// open opens the backend and the engine of evaluations in this process.
func (f *localFlags) open() (*backend.Backend, simulate.Simulator, error) {
	b, err := backend.Open(f.backend)
	if err != nil {
		return nil, nil, err
	}
	simulator, err := simulator.Choose(b, f.engine)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, simulator, nil
}

// runAt trains e on the running cluster at an address. A run there that is not finished
// is not replaced.
func runAt(ctx context.Context, addr string, e experiment.Experiment) (conduct.Result, error) {
	plan, err := e.Plan()
	if err != nil {
		return conduct.Result{}, usage(err)
	}
	return conduct.Run(ctx, conduct.Options{Plan: plan, Until: wire.Stage_STAGE_TRAIN, Addr: addr, Checkpoint: true})
}
