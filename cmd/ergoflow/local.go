package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// maxWorkers on one machine: more is a typing error.
const maxWorkers = 256

// localFlags describe a cluster on this machine.
type localFlags struct {
	dir     string
	store   string
	workers int
	backend string
	engine  string
	http    string // of the coordinator's page; empty: none
}

func (f *localFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of the run (default ergoflow-runs/NAME-PRESET)")
	cmd.Flags().IntVar(&f.workers, "workers", 2, "number of worker processes")
	cmd.Flags().StringVar(&f.backend, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	addSimulator(cmd, &f.engine)
}

func (f *localFlags) addStore(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.store, "store", "", "where shards are: a directory, nats://BUCKET or s3://BUCKET/PREFIX?endpoint=URL (default DIR/shards)")
}

// refuse refuses flags of workers where the command starts none.
func (f *localFlags) refuse(cmd *cobra.Command) error {
	for _, name := range []string{"backend", "engine", "store", "workers"} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		hint := "give it to the workers"
		if name == "workers" {
			hint = "start as many with `ergoflow worker --join`"
		}
		if name == "store" {
			hint = "give it to the coordinator"
		}
		return withHint(usagef("--%s is for --local", name), "%s", hint)
	}
	return nil
}

// check refuses what the processes of a cluster for e would fail for, before they are
// started. Whether there is a device they find out themselves.
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
	if f.store != "" {
		if _, err := store.Parse(f.store); err != nil {
			return usage(err)
		}
	}
	if err := knownNames(f.backend, f.engine); err != nil {
		return err
	}
	return f.checkMemory(e, plan)
}

// checkMemory refuses more workers than the memory has room for, each with its part of the
// shards.
func (f *localFlags) checkMemory(e experiment.Experiment, plan ergoflow.Plan) error {
	name := f.backend
	if name == backend.Auto {
		name = backend.XLACPU
	}
	shards := (plan.Shards + f.workers - 1) / f.workers
	functions := shards * e.BatchPlan().FunctionsPerStep()
	if most := e.Training.MicroBatch; most > 0 {
		functions = min(functions, most)
	}
	what := fmt.Sprintf("%s with %d workers on %s", e.Name, f.workers, name)
	return memory.Check(what, uint64(f.workers)*e.Trainer().Memory(name, functions))
}

// run conducts e to a stage on a cluster on this machine. After training the result has
// the final checkpoint. start is the state that a warm start begins from, as startFrom has it.
func (f *localFlags) run(ctx context.Context, e experiment.Experiment, until wire.Stage, start []byte) (conduct.Result, error) {
	if err := f.check(e); err != nil {
		return conduct.Result{}, err
	}
	f.dir = cmp.Or(f.dir, defaultDir(e))
	o, err := f.options(e)
	if err != nil {
		return conduct.Result{}, err
	}
	o.Until, o.Start, o.Checkpoint = until, start, until == wire.Stage_STAGE_TRAIN
	return conduct.Run(ctx, o)
}

// options are those of a run of e on a cluster on this machine.
func (f *localFlags) options(e experiment.Experiment) (conduct.Options, error) {
	plan, err := e.Plan()
	if err != nil {
		return conduct.Options{}, usage(err)
	}
	threads := max(1, runtime.GOMAXPROCS(0)/f.workers)
	if e.Training.Reproducible {
		threads = 1 // with other numbers of threads XLA rounds differently
	}
	return conduct.Options{Plan: plan, Local: &conduct.Local{Dir: f.dir, Store: f.store, Workers: f.workers, HTTP: f.http,
		Args: []string{"--shard-cache", f.cacheDir(), "--backend", f.backend, "--engine", f.engine, "--threads", strconv.Itoa(threads)}}}, nil
}
