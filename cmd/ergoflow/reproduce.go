package main

import (
	"cmp"
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

// reproduceFlags are the flags of reproduce.
type reproduceFlags struct {
	local  localFlags
	preset string
	seeds  int
	runs   []string
	on     clusterFlags // its address, or none
	json   bool
}

func reproduceCommand() *cobra.Command {
	var flags reproduceFlags
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
on this machine, or on the one at --addr; evaluations run in this process.

With --runs the command makes only these runs. The tables keep a dash for what
is missing, and the same command with other runs, or without --runs, adds it.`,
		Example: "  ergoflow reproduce all --preset smoke\n  ergoflow reproduce vn1d --preset scaled --seeds 5\n" +
			"  ergoflow reproduce cn2d --preset full --seeds 1 --runs grid,trajectory",
		Args: exactly(1, "one of: "+strings.Join(append(studies.Names(), "all"), ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seeds") {
				flags.seeds = seedsOf(flags.preset)
			}
			return flags.run(cmd.Context(), args[0])
		},
	}
	flags.local.add(cmd)
	cmd.Flags().Lookup("dir").Usage = "directory of the reproduction (default ergoflow-runs/reproduce-PRESET)"
	cmd.Flags().Lookup("backend").Usage += "; of local workers and of evaluations"
	cmd.Flags().StringVar(&flags.preset, "preset", "scaled", "size of the experiments: smoke, demo, scaled, best or full")
	cmd.Flags().IntVar(&flags.seeds, "seeds", 0, "train with seeds 1 to N (default 3; 1 for smoke and demo)")
	cmd.Flags().StringSliceVar(&flags.runs, "runs", nil, "`NAMES` of the runs to make, as in the page's table of runs, separated by commas (default all)")
	cmd.Flags().StringVar(&flags.on.addr, "addr", "", "train on the running cluster whose control service is at `HOST:PORT`")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print all numbers as JSON (docs/formats.md)")
	addContext(cmd, &flags.on.context)
	cmd.MarkFlagsMutuallyExclusive("addr", "workers")
	return cmd
}

// run reproduces the experiment of that name, or all of them.
func (f *reproduceFlags) run(ctx context.Context, name string) error {
	selected, err := studies.Select(name, f.preset)
	if err != nil {
		return usage(err)
	}
	if f.seeds < 1 || f.seeds > maxSeeds {
		return usagef("--seeds is %d, not in 1…%d", f.seeds, maxSeeds)
	}
	if err := f.trainable(ctx, selected); err != nil {
		return err
	}
	f.local.dir = cmp.Or(f.local.dir, filepath.Join(runsDirectory, "reproduce-"+f.preset))
	bars := progress.Stages{Out: os.Stderr}
	o := f.options(&bars)
	o.Studies = selected
	doc, err := reproduce.Make(ctx, o)
	bars.End()
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(doc)
	}
	for _, s := range doc.Studies {
		fmt.Fprintf(stdout, "%s: %s\n", s.Name, s.Scale)
	}
	if doc.Missing > 0 {
		fmt.Fprintf(stdout, "missing  %d runs of the tables: the same command without --runs makes them\n", doc.Missing)
	}
	fmt.Fprintf(stdout, "report   %s\n", o.Dir.Page())
	return nil
}

// options say where to train and evaluate, and how to show progress.
func (f *reproduceFlags) options(bars *progress.Stages) reproduce.Options {
	o := reproduce.Options{
		Preset: f.preset, Seeds: f.seeds, Runs: f.runs, Dir: reproduce.Directory(f.local.dir), Workers: f.local.workers,
		Train: func(ctx context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
			result, err := f.local.run(ctx, e, wire.Stage_STAGE_TRAIN, nil)
			return result.Checkpoint, result.Stages, err
		},
		Open: f.local.open,
		Say: func(line string) {
			bars.End()
			fmt.Fprintln(os.Stderr, line)
		},
		Progress: func(stage string, done, total int) {
			bars.Show(fmt.Sprintf("%-30s", stage), "functions", done, total, "")
		},
	}
	if f.on.addr != "" {
		o.Workers = 0 // unknown
		o.Train = func(ctx context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
			result, err := runAt(ctx, f.on, e)
			return result.Checkpoint, result.Stages, err
		}
	}
	return o
}

// trainable refuses what a training would fail for, before it counts as an attempt: unknown
// runs, too many workers, a cluster that does not answer.
func (f *reproduceFlags) trainable(ctx context.Context, selected []studies.Study) error {
	plan, err := reproduce.Plan(selected, f.preset, f.seeds)
	if err != nil {
		return err
	}
	if plan, err = reproduce.Only(plan, f.runs); err != nil {
		return usage(fmt.Errorf("--runs: %w", err))
	}
	if f.on.addr != "" {
		client, err := f.on.dial(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Status(ctx, ""); err != nil {
			return err
		}
		return knownNames(f.local.backend, f.local.engine)
	}
	for _, run := range plan {
		if err := f.local.check(run.Experiment); err != nil {
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
	engine, err := simulator.Choose(b, f.engine)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, engine, nil
}

// runAt trains e on a running cluster. A run there that is not finished
// is not replaced.
func runAt(ctx context.Context, cluster clusterFlags, e experiment.Experiment) (conduct.Result, error) {
	plan, err := e.Plan()
	if err != nil {
		return conduct.Result{}, usage(err)
	}
	at, err := cluster.endpoint(ctx)
	if err != nil {
		return conduct.Result{}, err
	}
	return conduct.Run(ctx, conduct.Options{Plan: plan, Until: wire.Stage_STAGE_TRAIN, At: at, Checkpoint: true})
}
