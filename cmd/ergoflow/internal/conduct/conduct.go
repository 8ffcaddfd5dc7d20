// Package conduct takes runs to a stage: on a cluster that is there, or on one of
// child processes that it starts on this machine and ends with the run.
package conduct

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/queue"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/report"
)

// Options say which run to conduct, and where.
type Options struct {
	Plan  ergoflow.Plan
	Until wire.Stage
	// Local starts a cluster on this machine. Nil takes the one that At says, which stays.
	Local *Local
	At    Endpoint
	// Start is the state at step 0 of a run that begins from an earlier state, encoded. Nil:
	// the plan has no start, or the coordinator has a checkpoint of the run already.
	Start []byte
	// Submission says what becomes of the run where another is not finished. On a local
	// cluster it takes that one's place.
	Submission
	// Checkpoint fetches the final checkpoint.
	Checkpoint bool
	// Out gets the progress; nil: standard error.
	Out *os.File
}

// A Result is what is known of a run that has reached its stage.
type Result struct {
	Stages     []report.StageTime
	Status     coordinator.Status
	Checkpoint []byte // if it was asked for
}

// Run submits a run and follows it, with progress on Options.Out, until the stage is
// reached. It returns when a local cluster has ended.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Out == nil {
		o.Out = os.Stderr
	}
	var local *cluster
	if o.Local != nil {
		var err error
		if local, err = start(ctx, *o.Local); err != nil {
			return Result{}, err
		}
		defer func() {
			if ctx.Err() != nil {
				fmt.Fprintln(o.Out, "interrupted: the workers and the coordinator end in order; a second Ctrl-C ends at once")
			}
			local.stop()
		}()
		fmt.Fprintf(o.Out, "%s: run %.12s in %s, %d workers\n", o.Plan.Experiment, o.Plan.Run, o.Local.Dir, o.Local.Workers)
		if at := local.addresses.HTTP; at != "" {
			fmt.Fprintf(o.Out, "page: http://%s\n", at)
		}
		o.At, o.Replace = Endpoint{Addr: local.addresses.Control}, true
	}
	c, err := Dial(o.At)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	id, err := c.submit(ctx, local, o)
	if err != nil {
		return Result{}, err
	}
	r, err := c.follow(ctx, id, o, local)
	if err != nil || !o.Checkpoint {
		return r, err
	}
	err = local.insist(ctx, func() error {
		r.Checkpoint, err = c.checkpoint(ctx, o.Plan.Run)
		return err
	})
	return r, err
}

// Enqueue submits a run to the cluster at o.At, and returns its number.
func Enqueue(ctx context.Context, o Options) (queue.ID, error) {
	c, err := Dial(o.At)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.submit(ctx, nil, o)
}

func (c *Client) submit(ctx context.Context, local *cluster, o Options) (id queue.ID, err error) {
	if o.Start != nil { // before the run is submitted, which fails without it
		if err := local.insist(ctx, func() error { return c.saveStart(ctx, o.Plan, o.Start) }); err != nil {
			return 0, err
		}
	}
	err = local.insist(ctx, func() (err error) {
		id, err = c.Submit(ctx, o.Plan, o.Until, o.Submission)
		return err
	})
	return id, err
}

// insist repeats a call while the coordinator of a local cluster does not answer because
// it is being started again. Without a local cluster, nil, it calls once.
func (c *cluster) insist(ctx context.Context, call func() error) error {
	for begin := time.Now(); ; {
		err := call()
		if c == nil || !restarting(err) || time.Since(begin) > restartPatience {
			return err
		}
		if gone := c.err(coordinator.Status{}); gone != nil {
			return gone
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(statusEvery):
		}
	}
}
