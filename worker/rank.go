package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// A rank is this worker's place in one generation.
type rank struct {
	session *session
	replica *replica // nil: never prepared
	assign  message.Assign
	orders  chan protocol.Effect // Compute, Apply and Save

	ring    *allreduce.Ring
	batches *prefetcher
	sum     []float32     // of the step that is computed, over all ranks
	used    ledger.Record // what it was made of
	timing  message.Timing
	watch   *stopwatch // nil before the first step
}

func newRank(s *session, assign message.Assign) *rank {
	// At most a save and a step are ordered at a time.
	return &rank{session: s, replica: s.w.replica.Load(), assign: assign, orders: make(chan protocol.Effect, 4)}
}

// run is takePart, whose errors name the member that they blame.
func (r *rank) run(ctx context.Context) error {
	err := r.takePart(ctx)
	if e, ok := errors.AsType[*allreduce.Error](err); ok && e.Peer >= 0 && e.Peer < len(r.assign.Members) {
		return &protocol.Blame{Peer: r.assign.Members[e.Peer].ID, Err: err}
	}
	return err
}

// takePart brings the state and the ring into place, and then does what the protocol
// orders, until the generation ends.
func (r *rank) takePart(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		r.session.w.log.Info("generation ended", "generation", r.assign.Generation, "rank", r.assign.Rank, "reason", context.Cause(ctx))
	})()
	if r.replica == nil {
		return errors.New("assigned to a generation before being prepared")
	}
	err := r.replica.take(ctx, r.session, r.assign.Source)
	if err != nil {
		return err
	}
	if r.ring, err = r.connect(ctx); err != nil {
		return err
	}
	defer r.ring.Close()
	ctx, cancel := context.WithCancel(ctx)
	r.batches = prefetch(ctx, r.replica, r.assign.Shards)
	defer r.batches.wait()
	defer cancel()
	defer r.replica.dismissAll()
	r.session.post(protocol.Joined{Step: r.replica.at()})
	for {
		select {
		case order := <-r.orders:
			if err := r.obey(ctx, order); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *rank) connect(ctx context.Context) (*allreduce.Ring, error) {
	peers := make([]string, len(r.assign.Members))
	for i, m := range r.assign.Members {
		peers[i] = m.DataAddress
	}
	id := allreduce.Identity{
		Generation: r.assign.Generation,
		Rank:       r.assign.Rank,
		World:      len(peers),
	}
	format, err := allreduce.ParseWire(string(r.replica.experiment.Training.Wire))
	if err != nil {
		return nil, err
	}
	var token allreduce.Token
	if len(r.assign.Token) != len(token) {
		return nil, fmt.Errorf("the token of generation %d has %d bytes instead of %d", id.Generation, len(r.assign.Token), len(token))
	}
	return r.session.w.rings.Join(ctx, id, peers, allreduce.Options{
		Wire: format, Plan: r.replica.plan.Run, Build: ergoflow.Build(), Token: allreduce.Token(r.assign.Token),
	})
}

func (r *rank) obey(ctx context.Context, order protocol.Effect) error {
	switch order := order.(type) {
	case protocol.Compute:
		return r.compute(ctx)
	case protocol.Apply:
		return r.apply()
	case protocol.Save:
		r.session.save(ctx, order)
	}
	return nil
}

// compute sums the gradient of the next step over all ranks.
func (r *rank) compute(ctx context.Context) error {
	if r.watch == nil { // the first step of the generation
		r.watch = newStopwatch()
	}
	r.timing = message.Timing{Other: r.watch.lap()}
	at := r.replica.at()

	batch, err := r.batches.next(ctx)
	if err != nil {
		return err
	}
	r.timing.Data = r.watch.lap()
	if spoil := r.session.w.spoil; spoil != nil {
		spoil(batch)
	}
	err = r.total(ctx, at, batch)
	r.batches.recycle(batch)
	if err != nil {
		return err
	}
	r.session.post(protocol.Summed{})
	return nil
}

// apply makes the one update that all ranks make.
func (r *rank) apply() error {
	r.timing.Other += r.watch.lap()
	loss, samples, err := r.replica.apply(r.sum, r.used, r.assign.Generation, r.workers())
	if err != nil {
		return fmt.Errorf("update of step %d: %w", r.replica.at(), err)
	}
	r.timing.Update = r.watch.lap()
	r.session.post(protocol.Applied{Progress: message.Progress{
		Step: r.replica.at(), Loss: loss, Samples: samples, Timing: r.timing,
	}})
	return nil
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
