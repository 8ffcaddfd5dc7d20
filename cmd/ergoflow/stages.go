package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func generateCommand() *cobra.Command {
	return stageCommand("generate", "Generate the training data of an experiment",
		"  ergoflow generate vn1d --preset demo --addr 10.0.0.1:7070\n  ergoflow generate vn1d --preset demo --local", wire.Stage_STAGE_GENERATE)
}

func trainCommand() *cobra.Command {
	return stageCommand("train", "Train an experiment, after generating data that are missing",
		"  ergoflow train vn1d --preset full --dir /var/lib/ergoflow\n  ergoflow train vn1d --preset full --dir /var/lib/ergoflow --start vn1d.safetensors --set training.steps=8000", wire.Stage_STAGE_TRAIN)
}

// stageCommand submits an experiment up to a stage, to a running cluster or to
// a local one of its own.
func stageCommand(name, short, example string, until wire.Stage) *cobra.Command {
	var choose experimentFlags
	var local localFlags
	var addr, credentials, start string
	var own bool
	var how conduct.Submission
	var bounds workersFor
	cmd := &cobra.Command{
		Use:   name + " EXPERIMENT (--dir DIR | --addr HOST:PORT | --local)",
		Short: short,
		Long: short + `.

Submits the experiment to a running cluster and shows its progress. Ctrl-C
detaches, with code 130, and the cluster continues. With --queue the run waits
until those before it leave it workers, and the command returns at once. With
--workers-for 2:4 the run begins when it can have two workers, and uses four at
most; others are for the next run. With --local the command starts a cluster on
this machine and ends it after the stage.`,
		Example: example,
		Args:    exactly(1, "an experiment: "+experimentNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := choose.loadTried(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e, first, err := startFrom(cmd.Context(), e, start)
			if err != nil {
				return err
			}
			if own {
				_, err := local.run(cmd.Context(), e, until, first)
				return err
			}
			if err := local.refuse(cmd); err != nil {
				return err
			}
			if how.Priority != 0 && !how.Queue {
				return usagef("--priority is for runs that wait: give --queue, too")
			}
			if err := checkPriority(how.Priority); err != nil {
				return err
			}
			if cmd.Flags().Changed("workers-for") {
				b, err := bounds.value()
				if err != nil {
					return err
				}
				how.Workers = &b
			}
			return runOn(cmd.Context(), clusterFlags{dir: local.dir, addr: addr, context: credentials}, e, until, first, how)
		},
	}
	choose.add(cmd)
	choose.addReproducible(cmd)
	if until == wire.Stage_STAGE_TRAIN {
		addStart(cmd, &start)
	}
	local.add(cmd)
	local.addStore(cmd)
	cmd.Flags().Lookup("dir").Usage = "directory of a coordinator on this machine, or of the run with --local"
	cmd.Flags().Lookup("workers").Usage = "number of worker processes, with --local"
	cmd.Flags().Lookup("backend").Usage += ", with --local"
	cmd.Flags().Lookup("store").Usage = "where shards are, with --local: a directory, nats://BUCKET or s3://BUCKET/PREFIX?endpoint=URL (default DIR/shards)"
	cmd.Flags().Lookup("engine").Usage += ", with --local"
	cmd.Flags().StringVar(&addr, "addr", "", "`HOST:PORT` of a running coordinator's control service")
	addContext(cmd, &credentials)
	cmd.Flags().BoolVar(&own, "local", false, "start a cluster on this machine and end it after the stage")
	cmd.Flags().BoolVar(&how.Replace, "replace", false, "suspend another run that is not finished")
	cmd.Flags().BoolVar(&how.Queue, "queue", false, "add the run to the coordinator's queue, and return")
	addPriority(cmd, &how.Priority)
	bounds.add(cmd, "number of workers that the run uses, N or MIN:MAX (default: the coordinator's, or all)")
	cmd.MarkFlagsMutuallyExclusive("queue", "replace")
	cmd.MarkFlagsMutuallyExclusive("workers-for", "local")
	cmd.MarkFlagsMutuallyExclusive("queue", "local")
	cmd.MarkFlagsMutuallyExclusive("priority", "local")
	cmd.MarkFlagsMutuallyExclusive("addr", "local")
	cmd.MarkFlagsMutuallyExclusive("addr", "dir")
	return cmd
}

// runOn conducts e to a stage on a running cluster.
func runOn(ctx context.Context, cluster clusterFlags, e experiment.Experiment, until wire.Stage, start []byte, how conduct.Submission) error {
	plan, err := e.Plan()
	if err != nil {
		return usage(err)
	}
	at, err := cluster.endpoint(ctx)
	if err != nil {
		return err
	}
	o := conduct.Options{Plan: plan, Until: until, At: at, Start: start, Submission: how}
	if how.Queue {
		return enqueue(ctx, cluster, o)
	}
	_, err = conduct.Run(ctx, o)
	switch {
	case errors.Is(err, conduct.ErrBusy):
		return withHint(err, "`ergoflow status %s` shows its progress; --queue waits until it has ended, --replace suspends it", cluster)
	case errors.Is(err, context.Canceled):
		return withHint(errDetached, "`ergoflow status %s` shows its progress; the same command attaches again", cluster)
	}
	return err
}

// enqueue adds a run to the queue of a running cluster.
func enqueue(ctx context.Context, cluster clusterFlags, o conduct.Options) error {
	id, err := conduct.Enqueue(ctx, o)
	if err != nil {
		return err
	}
	printQueued(cluster, id, o.Plan.Experiment)
	return nil
}

func printQueued(cluster clusterFlags, id queue.ID, name string) {
	fmt.Fprintf(stdout, "run %d (%s) is in the queue: `ergoflow runs list %s` shows it\n", id, name, cluster)
}
