package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
)

// experimentFlags choose a configuration.
type experimentFlags struct {
	preset string
	config string
	sets   []string
	exact  bool
}

func (f *experimentFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.preset, "preset", "", "smoke, demo, scaled, best or full (default scaled)")
	cmd.Flags().StringVar(&f.config, "config", "", "YAML file over the preset")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "one field over both, as path=value; may be repeated")
}

// addReproducible is for commands that train, or look for what was trained.
func (f *experimentFlags) addReproducible(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.exact, "reproducible", false, "equal parameters, bit for bit, whatever workers come and go; slower (training.reproducible)")
}

func (f *experimentFlags) load(name string) (experiment.Experiment, error) {
	sets := f.sets
	if f.exact {
		sets = append(slices.Clone(sets), "training.reproducible=true")
	}
	e, err := experiment.Load(name, f.preset, f.config, sets)
	if err != nil && hintFor(err) == "" {
		err = withHint(err, "docs/formats.md says what each setting means, `ergoflow help` which experiments and presets there are")
	}
	if err != nil {
		return e, usage(err)
	}
	return e, nil
}

// loadTried is load for commands that generate: it refuses data that would be
// nonsense, and probes that would be.
func (f *experimentFlags) loadTried(ctx context.Context, name string) (experiment.Experiment, error) {
	e, err := f.load(name)
	if err != nil {
		return e, err
	}
	warnings, err := e.PilotRun(ctx)
	if err != nil {
		return e, usage(err)
	}
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	return e, nil
}

// localFlags say how a cluster on this machine looks.
type localFlags struct {
	dir     string
	workers int
	backend string
	engine  string
}

func (f *localFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of the run (default ergoflow-runs/NAME-PRESET)")
	cmd.Flags().IntVar(&f.workers, "workers", 2, "worker processes")
	cmd.Flags().StringVar(&f.backend, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	addSimulator(cmd, &f.engine)
}

// only refuses what is said of workers that are not started here.
func (f *localFlags) only(cmd *cobra.Command) error {
	for _, name := range []string{"backend", "engine", "workers"} {
		if cmd.Flags().Changed(name) {
			how := "give it to the workers"
			if name == "workers" {
				how = "start as many with `ergoflow worker --join`"
			}
			return withHint(usagef("--%s is for --local", name), "%s", how)
		}
	}
	return nil
}

// start starts the cluster for e.
func (f *localFlags) start(ctx context.Context, e experiment.Experiment) (*localCluster, error) {
	if err := f.check(e); err != nil {
		return nil, err
	}
	if f.dir == "" {
		f.dir = defaultDir(e)
	}
	threads := max(1, runtime.NumCPU()/f.workers)
	if e.Training.Reproducible {
		threads = 1 // XLA rounds otherwise with another number
	}
	return startLocal(ctx, f.dir, f.workers, "--backend", f.backend, "--engine", f.engine, "--threads", strconv.Itoa(threads))
}

// check refuses what processes for e would fail for, before they are started.
// Whether there is a device they must find out themselves.
func (f *localFlags) check(e experiment.Experiment) error {
	if f.workers < 1 || f.workers > maxWorkers {
		return usagef("--workers is %d, not in 1…%d", f.workers, maxWorkers)
	}
	plan, err := e.Plan()
	if err != nil {
		return usage(err)
	}
	if f.workers > plan.Units() {
		what := "shards"
		if plan.Groups > 0 {
			what = "groups of shards"
		}
		return usagef("%s has %d %s, too few for %d workers to share", e.Name, plan.Units(), what, f.workers)
	}
	return knownNames(f.backend, f.engine)
}

// maxWorkers on one machine: beyond it is surely a typing error.
const maxWorkers = 256

func runCommand() *cobra.Command {
	var choose experimentFlags
	var local localFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Do everything on this machine: generate, train, evaluate, report",
		Long: `Starts a coordinator and worker processes on this machine, makes the training
data, trains, evaluates on held-out equations and writes a table, figures and a
report. A run that was interrupted goes on where it stopped; shards that exist
are reused.`,
		Example: "  ergoflow run vn1d --preset demo\n  ergoflow run rare1d --preset smoke --workers 3 --set training.learning_rate=0.0005",
		Args:    exactly(1, "an experiment: "+experimentNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			e, err := choose.loadTried(ctx, args[0])
			if err != nil {
				return err
			}
			encoded, stages, err := conduct(ctx, e, &local, wire.Stage_STAGE_TRAIN)
			if err != nil {
				return err
			}
			_, st, err := experiment.DecodeState(encoded)
			if err != nil {
				return err
			}
			return evaluateAndReport(ctx, evaluation{
				experiment: e, state: st,
				store: filepath.Join(local.dir, "shards"), out: filepath.Join(local.dir, "report"),
				backend: local.backend, engine: local.engine, workers: local.workers, stages: stages, json: asJSON,
			})
		},
	}
	choose.add(cmd)
	choose.addReproducible(cmd)
	local.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the results as JSON (docs/formats.md)")
	return cmd
}

// conduct runs e on a local cluster until the stage is reached. It returns the
// final checkpoint, if the stage has one, and how long the parts took. The
// cluster has ended when it returns.
func conduct(ctx context.Context, e experiment.Experiment, local *localFlags, until wire.Stage) (encoded []byte, stages []report.StageTime, err error) {
	stages, err = local.conduct(ctx, e, until, func(control wire.ControlClient, run string) (err error) {
		if until == wire.Stage_STAGE_TRAIN {
			encoded, err = loadCheckpoint(ctx, control, run)
		}
		return err
	})
	return encoded, stages, err
}

// conduct runs e on a cluster on this machine until the stage is reached, and
// then asks its coordinator, before the cluster ends.
func (f *localFlags) conduct(
	ctx context.Context, e experiment.Experiment, until wire.Stage, ask func(control wire.ControlClient, run string) error,
) ([]report.StageTime, error) {
	plan, err := e.Plan()
	if err != nil {
		return nil, usage(err)
	}
	cluster, err := f.start(ctx, e)
	if err != nil {
		return nil, err
	}
	defer cluster.stop()
	fmt.Fprintf(os.Stderr, "%s: run %.12s in %s, %d workers\n", plan.Experiment, plan.Run, f.dir, f.workers)

	conn, control, err := clusterFlags{addr: cluster.addresses.Control}.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := submit(ctx, control, plan, until, true); err != nil {
		return nil, err
	}
	stages, err := follow(ctx, control, plan, until, cluster.err)
	if err != nil {
		return stages, err
	}
	return stages, ask(control, plan.Run)
}
