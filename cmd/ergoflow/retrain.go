package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	locations "github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/retraining"
)

// retrainConfig is what `retrain init` writes, and --config's usual value.
const retrainConfig = "retrain.yaml"

func retrainCommand() *cobra.Command {
	var config, schedule, scheduled, store string
	var cluster clusterFlags
	var force, quiet, asJSON, enqueued bool
	var priority int
	cmd := group(&cobra.Command{
		Use:   "retrain --config FILE",
		Short: "Train a model again, and promote it only if it is better",
		Long: `Does one retraining from start to end, without a person: collects new samples,
generates the data that are missing, trains, judges the result on held-out
equations beside the champion of the registry, and promotes it only if the gate
says that it is better. It ends at once if nothing has changed. After an
interruption the same command goes on where it was.

Ends with code 0 if the candidate was promoted or there was nothing to do, 10 if
the champion stays, 11 if the gate refuses the candidate, 12 if the budget ended
the training and nothing was promoted, 13 if another retraining of the model was
running, 1 for an error and 2 for a wrong configuration.`,
		Example: "  ergoflow retrain init -o retrain.yaml\n  ergoflow retrain check --config retrain.yaml\n  ergoflow retrain --config retrain.yaml --json",
	}, retrainInitCommand(), retrainCheckCommand())
	cmd.Args = exactly(0, "no arguments")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if enqueued {
			return enqueueRetraining(cmd.Context(), cluster, config, priority)
		}
		if priority != 0 {
			return usagef("--priority is for retrainings that wait: give --queue, too")
		}
		shown := os.Stderr
		if quiet {
			var err error
			if shown, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
				return err
			}
			defer shown.Close()
		}
		o, err := retrainOptions(config, shown)
		if err != nil {
			return err
		}
		o.Force, o.Schedule, o.Scheduled = force, schedule, scheduled
		if o.Config.Cluster, err = placed(cmd.Context(), o.Config.Cluster, cluster, store); err != nil {
			return err
		}
		done, err := openBucket(cmd.Context(), &o, cluster.dir)
		if err != nil {
			return err
		}
		out, err := retraining.Run(cmd.Context(), o)
		err = errors.Join(err, done())
		if cmd.Context().Err() != nil {
			return err
		}
		if asJSON {
			err = errors.Join(err, printJSON(out))
		} else if err == nil && !(quiet && out.Decision.Code() == 0) {
			fmt.Fprint(stdout, out)
		}
		if err == nil && out.Decision.Code() != 0 {
			return &codeError{out.Decision.Code()}
		}
		return err
	}
	f := cmd.Flags()
	f.StringVar(&config, "config", "", "YAML `FILE` of the retraining, as retrain init writes it")
	cluster.add(cmd)
	f.StringVar(&store, "store", "", "shard store of that cluster (default DIR/shards)")
	f.BoolVar(&force, "force", false, "retrain though nothing has changed")
	f.StringVar(&schedule, "schedule", "", "name of the schedule that starts this retraining")
	f.StringVar(&scheduled, "scheduled", "", "`TIME` for which the schedule starts it: a second start for that time does nothing")
	f.BoolVar(&quiet, "quiet", false, "print nothing if the code is 0, for cron")
	f.BoolVar(&asJSON, "json", false, "print the outcome as JSON (docs/formats.md)")
	f.BoolVar(&enqueued, "queue", false, "add the retraining to the queue of the coordinator of --dir or --addr, which runs it, and return")
	addPriority(cmd, &priority)
	for _, other := range []string{"force", "quiet", "json", "store", "schedule", "scheduled"} {
		cmd.MarkFlagsMutuallyExclusive("queue", other)
	}
	return cmd
}

// enqueueRetraining has a coordinator run a retraining when its turn comes.
func enqueueRetraining(ctx context.Context, cluster clusterFlags, config string, priority int) error {
	if err := checkPriority(priority); err != nil {
		return err
	}
	path, err := cluster.retrainConfig(config)
	if err != nil {
		return err
	}
	client, err := cluster.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	id, err := client.SubmitRetraining(ctx, path, priority)
	if err != nil {
		return err
	}
	printQueued(cluster, id, path)
	return nil
}

// retrainOptions loads a configuration, and connects it with the cluster and the device. shown
// gets log and progress.
func retrainOptions(path string, shown *os.File) (retraining.Options, error) {
	if path == "" {
		return retraining.Options{}, withHint(usagef("--config is missing"), "write one with `ergoflow retrain init`, and give its path")
	}
	c, e, err := retraining.Load(path)
	if err != nil {
		return retraining.Options{}, usage(err)
	}
	if err := knownNames(c.Cluster.Backend, c.Cluster.Engine); err != nil {
		return retraining.Options{}, err
	}
	return retraining.Options{
		Config: c, Experiment: e, By: "ergoflow retrain", Log: slog.New(slog.NewTextHandler(shown, nil)),
		Train: func(ctx context.Context, j retraining.Job) ([]byte, error) {
			if j.Cluster.Addr != "" {
				return trainOn(ctx, j, shown)
			}
			return trainHere(ctx, j, shown)
		},
		Evaluate: func(ctx context.Context, e retraining.Evaluation) (*evaluate.Results, error) {
			results, _, err := evaluateOn(ctx, c.Cluster.Backend, c.Cluster.Engine, shown, evaluate.Options{
				Experiment: e.Experiment, State: e.State, Frame: e.Frame, Kinds: e.Kinds, Store: shard.NewDir(e.Store),
			})
			return results, err
		},
	}, nil
}

// placed is where to train: the command line goes before the configuration.
func placed(ctx context.Context, c retraining.Cluster, on clusterFlags, store string) (retraining.Cluster, error) {
	if on.dir == "" && on.addr == "" {
		c.Context = cmp.Or(on.context, c.Context)
		if store != "" {
			return c, usagef("--store is for --addr or --dir")
		}
		return c, nil
	}
	at, err := on.endpoint(ctx)
	if err != nil {
		return c, err
	}
	c.Addr, c.Context = at.Addr, on.context
	if c.Context == "" && at.Credentials != nil {
		c.Context = coordinator.OperatorDir(on.dir)
	}
	c.Store = cmp.Or(store, c.Store)
	if c.Store == "" && on.dir != "" {
		c.Store = filepath.Join(on.dir, "shards")
	}
	if c.Store == "" {
		return c, withHint(usagef("--store is missing"), "give the shard store of the cluster at %s, which its workers read", on.addr)
	}
	l, err := locations.Parse(c.Store)
	if err != nil {
		return c, usage(err)
	}
	c.Store = l.String()
	return c, nil
}

// openBucket opens the shards of a retraining where they are in a bucket. dir is the directory of
// the coordinator whose server of NATS that is in; it may be empty.
func openBucket(ctx context.Context, o *retraining.Options, dir string) (done func() error, err error) {
	l, ok := o.Config.Bucket()
	if !ok {
		return func() error { return nil }, nil
	}
	s, err := coordinator.OpenStore(ctx, dir, l, "")
	if err != nil {
		return nil, err
	}
	o.Depot = depot.New(s)
	return s.Close, nil
}

// trainOn trains on a cluster that is there. It waits in the queue of its runs. A signal leaves
// the run there, and the next call attaches to it; the end of the budget cancels it.
func trainOn(ctx context.Context, j retraining.Job, shown *os.File) ([]byte, error) {
	plan, err := j.Experiment.Plan()
	if err != nil {
		return nil, err
	}
	bounds, err := j.Cluster.Bounds()
	if err != nil {
		return nil, err
	}
	at, err := conduct.EndpointOf(j.Cluster.Context, j.Cluster.Addr)
	if err != nil {
		return nil, err
	}
	return trained(ctx, conduct.Options{Plan: plan, Start: j.Start, Out: shown, At: at, Submission: conduct.Submission{Queue: true, Workers: bounds}},
		func() ([]byte, error) {
			if !errors.Is(context.Cause(ctx), retraining.ErrBudget) {
				return nil, nil
			}
			return conduct.Suspend(context.WithoutCancel(ctx), at, plan.Run)
		})
}

// trainHere trains on a cluster of processes on this machine.
func trainHere(ctx context.Context, j retraining.Job, shown *os.File) ([]byte, error) {
	local := localFlags{dir: j.Dir, workers: j.Cluster.Workers, backend: j.Cluster.Backend, engine: j.Cluster.Engine}
	o, err := local.options(j.Experiment)
	if err != nil {
		return nil, err
	}
	o.Start, o.Out, o.Local.Store = j.Start, shown, j.Store
	return trained(ctx, o, func() ([]byte, error) { return conduct.Newest(j.Dir, o.Plan.Run) })
}

// trained trains, and returns the last state. Where ctx ends before, newest reads the newest
// state, which comes with ctx's error.
func trained(ctx context.Context, o conduct.Options, newest func() ([]byte, error)) ([]byte, error) {
	o.Until, o.Checkpoint = wire.Stage_STAGE_TRAIN, true
	result, err := conduct.Run(ctx, o)
	if err == nil || ctx.Err() == nil {
		return result.Checkpoint, err
	}
	encoded, err := newest()
	if err != nil {
		return nil, err
	}
	return encoded, ctx.Err()
}

func retrainInitCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Write a commented configuration that works as it is",
		Example: "  ergoflow retrain init -o retrain.yaml",
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if _, err := os.Lstat(out); err == nil {
				return withHint(fmt.Errorf("%s exists", out), "give another path with -o")
			}
			if err := atomicfile.Write(out, retraining.Template); err != nil {
				return err
			}
			fmt.Fprintf(stdout, "wrote %s\n", out)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", retrainConfig, "file to write")
	return cmd
}

func retrainCheckCommand() *cobra.Command {
	var config string
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check a configuration, and say what a retraining would do now",
		Long: `Checks the configuration and its experiment, and says what a retraining would do
now: who is the champion, what would be trained, which shards are missing, how
long it would take. It changes nothing.`,
		Example: "  ergoflow retrain check --config retrain.yaml",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := retrainOptions(config, os.Stderr)
			if err != nil {
				return err
			}
			o.Force = force
			done, err := openBucket(cmd.Context(), &o, "")
			if err != nil {
				return err
			}
			forecast, err := retraining.Check(cmd.Context(), o)
			err = errors.Join(err, done())
			if err != nil {
				return err
			}
			warn(forecast.Warnings)
			if asJSON {
				return printJSON(forecast)
			}
			fmt.Fprint(stdout, forecast)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&config, "config", "", "YAML `FILE` of the retraining")
	f.BoolVar(&force, "force", false, "say what retrain --force would do")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}
