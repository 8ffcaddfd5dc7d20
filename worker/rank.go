package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/internal/flight"
	"github.com/ergoflow/ergoflow/worker/protocol"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// A rank is this worker's place in one generation.
type rank struct {
	session *session
	replica *replica.Replica // nil before the first Prepare
	assign  message.Assign
	orders  chan protocol.Effect // Compute, Apply and Save

	ring    *allreduce.Ring
	batches *replica.Batches
	update  replica.Update // computed, not applied yet
	timing  message.Timing // of that step
	step    ergoflow.Step  // updates applied
	typical float64        // seconds of the device in a step
	watch   *replica.Stopwatch
}

func newRank(s *session, assign message.Assign) *rank {
	// At most a save and a step are ordered at a time.
	return &rank{session: s, replica: s.w.replica.Load(), assign: assign, orders: make(chan protocol.Effect, 4)}
}

// run takes part in the generation until it ends. An error of the ring names the
// members to blame.
func (r *rank) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		r.session.w.log.Info("generation ended", "generation", r.assign.Generation, "rank", r.assign.Rank, "reason", context.Cause(ctx))
	})()
	begin := time.Now()
	err := r.takePart(ctx)
	failure := err
	if ctx.Err() != nil { // the generation has ended, which is no failure of this rank
		failure = nil
	}
	r.traceGeneration(begin, failure)
	if failure != nil {
		r.session.w.meter.count(func(c *counts) { c.broken++ })
	}
	if e, ok := errors.AsType[*allreduce.Error](err); ok {
		err = r.blame(e, err)
	}
	if err != nil {
		r.broke(ctx, err)
	}
	r.session.w.meter.left()
	r.doing("")
	return err
}

// doing notes what the rank does from now on; empty: nothing any more. While it computes, its ring
// says whether it waits for another rank.
func (r *rank) doing(what string) {
	r.session.w.flight.Begin(flight.PlaceRank, what, r.assign.Generation, r.step)
}

func (r *rank) blame(e *allreduce.Error, err error) *protocol.Blame {
	blame := &protocol.Blame{Err: err}
	if e.Peer >= 0 && e.Peer < len(r.assign.Members) {
		blame.Peer = r.assign.Members[e.Peer].ID
	}
	for _, rank := range e.Silent {
		blame.Silent = append(blame.Silent, r.assign.Members[rank].ID)
	}
	return blame
}

// takePart brings the state and the ring into place, and then executes the
// protocol's orders.
func (r *rank) takePart(ctx context.Context) (err error) {
	if r.replica == nil {
		return errors.New("assigned to a generation before being prepared")
	}
	r.doing(flight.DoesConnect)
	if err := r.session.takeState(ctx, r.replica, r.assign.Source); err != nil {
		return err
	}
	if r.ring, err = r.connect(ctx); err != nil {
		return err
	}
	defer r.ring.Close()
	r.session.w.meter.joined(r.ring, r.workers())
	ctx, cancel := context.WithCancel(ctx)
	r.batches = r.replica.Batches(ctx, r.assign.Shards)
	defer r.batches.Wait()
	defer cancel()
	defer r.replica.EndSubscriptions()
	r.step = r.replica.Step()
	r.doing(flight.DoesWait)
	r.session.post(protocol.Joined{Step: r.step})
	for {
		select {
		case order := <-r.orders:
			if err := r.execute(ctx, order); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *rank) execute(ctx context.Context, order protocol.Effect) error {
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

// compute sums the gradient of the next step over all ranks, or with local steps what they
// have learned in the next round.
func (r *rank) compute(ctx context.Context) error {
	if r.watch == nil { // the first step of the generation
		r.watch = replica.NewStopwatch()
	}
	r.timing = message.Timing{Other: r.watch.Lap()}
	for range r.replica.LocalSteps() - 1 {
		if err := r.local(ctx); err != nil {
			return err
		}
	}
	batch, err := r.read(ctx)
	if err != nil {
		return err
	}
	var parts replica.Timing
	r.update, parts, err = r.replica.Compute(ctx, r.ring, batch, r.watch)
	r.batches.Recycle(batch)
	if err != nil {
		return err
	}
	r.timing.Gradient += parts.Gradient
	r.timing.Copy, r.timing.Ring = parts.Copy, parts.Ring
	r.update.Generation, r.update.Workers = r.assign.Generation, r.workers()
	r.doing(flight.DoesWait)
	r.session.post(protocol.Summed{})
	return nil
}

// local takes a step of this rank alone.
func (r *rank) local(ctx context.Context) error {
	batch, err := r.read(ctx)
	if err != nil {
		return err
	}
	err = r.replica.Local(ctx, r.assign.Rank, batch)
	r.batches.Recycle(batch)
	r.timing.Gradient += r.watch.Lap()
	return err
}

// read waits for the batch of the next step.
func (r *rank) read(ctx context.Context) (*replica.Batch, error) {
	r.doing(flight.DoesRead)
	batch, err := r.batches.Next(ctx)
	if err != nil {
		return nil, err
	}
	r.timing.Data += r.watch.Lap()
	r.doing(flight.DoesCompute)
	if change := r.session.w.changeBatch; change != nil {
		change(batch)
	}
	return batch, nil
}

// apply applies the update that all ranks apply.
func (r *rank) apply() error {
	r.timing.Other += r.watch.Lap()
	r.doing(flight.DoesUpdate)
	loss, samples, err := r.replica.Apply(r.update)
	if err != nil {
		return fmt.Errorf("update of step %d: %w", r.update.Step, err)
	}
	r.timing.Update = r.watch.Lap()
	r.session.w.meter.stepped(r.timing)
	r.step = r.replica.Step()
	r.doing(flight.DoesWait)
	r.record(loss)
	r.traceStep()
	r.session.post(protocol.Applied{Progress: message.Progress{
		Step: r.step, Loss: loss, Samples: samples, Timing: r.timing,
	}})
	return nil
}

// A step is remarkable whose work on the device took a second, and ten times as long as usual.
const (
	slowDevice       = 1.0 // seconds
	slowDeviceFactor = 10
)

// record has the flight recorder keep the step that was applied.
func (r *rank) record(loss float64) {
	t, recorder := r.timing, r.session.w.flight
	recorder.Step(r.assign.Generation, r.step, loss, flight.Phases(t))
	if t.Data > slowDevice {
		recorder.Add(flight.Record{Kind: flight.Slow, Generation: r.assign.Generation, Step: r.step, Seconds: t.Data, Text: flight.SlowBatch})
	}
	device := t.Gradient + t.Copy + t.Update
	if r.typical > 0 && device > max(slowDevice, slowDeviceFactor*r.typical) {
		recorder.Add(flight.Record{Kind: flight.Slow, Generation: r.assign.Generation, Step: r.step, Seconds: device,
			Text: fmt.Sprintf("%s; a step usually takes it %.3g s", flight.SlowDevice, r.typical)})
		return
	}
	if r.typical == 0 {
		r.typical = device
	}
	r.typical += (device - r.typical) / 16
}

// connect joins the ring of the generation.
func (r *rank) connect(ctx context.Context) (*allreduce.Ring, error) {
	peers := make([]string, len(r.assign.Members))
	identities := make([]string, len(r.assign.Members))
	for i, m := range r.assign.Members {
		peers[i], identities[i] = m.DataAddress, m.Identity
	}
	id := allreduce.Identity{
		Generation: r.assign.Generation,
		Rank:       r.assign.Rank,
		World:      len(peers),
	}
	format, err := allreduce.ParseWire(string(r.replica.Experiment().Training.Wire))
	if err != nil {
		return nil, err
	}
	var token allreduce.Token
	if len(r.assign.Token) != len(token) {
		return nil, fmt.Errorf("the token of generation %d has %d bytes instead of %d", id.Generation, len(r.assign.Token), len(token))
	}
	return r.session.w.rings.Join(ctx, id, peers, allreduce.Options{
		Wire: format, Plan: r.replica.Plan().Run, Numerics: fmt.Sprint(ergoflow.ThisRelease().Numerics), Token: allreduce.Token(r.assign.Token), Identities: identities,
	})
}

// workers of the generation, by rank.
func (r *rank) workers() []ergoflow.WorkerID {
	ids := make([]ergoflow.WorkerID, len(r.assign.Members))
	for i, m := range r.assign.Members {
		ids[i] = m.ID
	}
	return ids
}
