package worker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// A rank is this worker's place in one generation.
type rank struct {
	session *session
	replica *replica
	assign  *wire.Assign

	start     chan struct{} // closed by Go
	startOnce sync.Once
	saveAsked atomic.Bool // the coordinator wants a checkpoint at the next boundary
}

func (r *rank) begin() { r.startOnce.Do(func() { close(r.start) }) }

// run takes part in the generation until it ends, and complains when it ended
// for a reason of its own.
func (r *rank) run(ctx context.Context) {
	log := r.session.w.log
	defer context.AfterFunc(ctx, func() {
		log.Info("generation ended", "generation", r.assign.Generation, "rank", r.assign.Rank, "reason", context.Cause(ctx))
	})()
	err := r.join(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	log.Warn("generation broke", "generation", r.assign.Generation, "rank", r.assign.Rank, "step", r.replica.at(), "error", err)
	r.session.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Complaint{Complaint: &wire.Complaint{
		Generation: r.assign.Generation,
		Step:       int64(r.replica.at()),
		Reason:     err.Error(),
	}}})
}

// join brings the state and the ring into place, then steps.
func (r *rank) join(ctx context.Context) error {
	if err := r.replica.take(ctx, r.session, r.assign.Source); err != nil {
		return err
	}
	ring, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer ring.Close()
	r.session.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Ready{Ready: &wire.Ready{Generation: r.assign.Generation}}})
	select {
	case <-r.start:
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.steps(ctx, ring)
}

func (r *rank) connect(ctx context.Context) (*allreduce.Ring, error) {
	peers := make([]string, len(r.assign.Members))
	for i, m := range r.assign.Members {
		peers[i] = m.DataAddress
	}
	id := allreduce.Identity{
		Generation: ergoflow.Generation(r.assign.Generation),
		Rank:       int(r.assign.Rank),
		World:      len(peers),
	}
	return r.session.w.rings.Join(ctx, id, peers, allreduce.Options{})
}

// steps is the training loop.
func (r *rank) steps(ctx context.Context, ring *allreduce.Ring) error {
	ctx, cancel := context.WithCancel(ctx)
	batches := prefetch(ctx, r.replica, r.assign.Shards)
	defer batches.wait()
	defer cancel()

	steps := r.replica.plan.Steps
	for r.replica.at() < steps {
		progress, err := r.step(ctx, ring, batches)
		if err != nil {
			return err
		}
		progress.Generation = r.assign.Generation
		r.session.send(&wire.WorkerMessage{Body: &wire.WorkerMessage_Progress{Progress: progress}})
		if r.due(ergoflow.Step(progress.Step)) {
			r.session.w.save(r.session.control, r.assign.Generation)
		}
	}
	if r.assign.Saves {
		r.replica.saver.wait()
		r.session.w.save(r.session.control, r.assign.Generation)
	}
	<-ctx.Done() // the coordinator ends the generation once the state is safe
	return ctx.Err()
}

// step computes one optimizer update together with the other ranks.
func (r *rank) step(ctx context.Context, ring *allreduce.Ring, batches *prefetcher) (*wire.Progress, error) {
	watch := newStopwatch()
	at := r.replica.at()

	batch, err := batches.next(ctx)
	if err != nil {
		return nil, err
	}
	data := watch.lap()

	sum, err := r.replica.gradient(batch)
	batches.recycle(batch)
	if err != nil {
		return nil, fmt.Errorf("gradient of step %d: %w", at, err)
	}
	gradient := watch.lap()

	if err := ring.AllReduce(at, sum); err != nil {
		return nil, err
	}
	reduce := watch.lap()

	loss, samples, err := r.replica.apply(sum)
	if err != nil {
		return nil, fmt.Errorf("update of step %d: %w", at, err)
	}
	return &wire.Progress{
		Step:    int64(at) + 1,
		Loss:    loss,
		Samples: samples,
		Timing:  &wire.Timing{Data: data, Gradient: gradient, Ring: reduce, Update: watch.lap()},
	}, nil
}

// due says whether a checkpoint is to be taken after that many updates. The
// last one is taken when the steps are done.
func (r *rank) due(at ergoflow.Step) bool {
	if r.saveAsked.Swap(false) {
		return true
	}
	every := r.replica.plan.CheckpointEvery
	return r.assign.Saves && every > 0 && at%every == 0 && at < r.replica.plan.Steps
}

// A stopwatch measures consecutive parts of a step, in seconds.
type stopwatch struct{ last time.Time }

func newStopwatch() *stopwatch { return &stopwatch{time.Now()} }

func (s *stopwatch) lap() float64 {
	now := time.Now()
	d := now.Sub(s.last).Seconds()
	s.last = now
	return d
}
