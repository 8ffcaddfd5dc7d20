package replica

import (
	"context"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// ahead is how many batches are assembled before they are needed. With the one
// that the device computes there are ahead+1 in memory.
const ahead = 2

// A Batch is what one rank computes in one step: its shards' part of the global
// batch, cut into micro-batches of the few sizes that are compiled.
type Batch struct {
	Step      ergoflow.Step
	Micro     []*flow.Batch
	groupEnds []int // end in Micro of each group whose gradient is rounded alone
}

// Batches assembles the batches of the coming steps in the background, so that
// the device does not wait for them.
type Batches struct {
	ready chan *Batch
	free  chan *Batch
	err   error // set before ready is closed
	done  chan struct{}
}

// Batches starts at the replica's step, for the given shards, and ends with ctx or
// with the run. Call Wait after that.
func (r *Replica) Batches(ctx context.Context, shards []int) *Batches {
	b := &Batches{
		ready: make(chan *Batch, ahead),
		free:  make(chan *Batch, ahead+1),
		done:  make(chan struct{}),
	}
	a := r.newAssembly(shards)
	for range ahead + 1 {
		b.free <- a.newBatch()
	}
	go func() {
		defer close(b.done)
		defer close(b.ready)
		b.err = b.fill(ctx, a, r.Step(), r.plan.Steps)
	}()
	return b
}

// fill assembles one batch after another.
func (b *Batches) fill(ctx context.Context, a *assembly, begin, end ergoflow.Step) error {
	for step := begin; step < end; step++ {
		var batch *Batch
		select {
		case batch = <-b.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := a.assemble(ctx, batch, step); err != nil {
			return err
		}
		select {
		case b.ready <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Next returns the next step's batch. Give it back with Recycle.
func (b *Batches) Next(ctx context.Context) (*Batch, error) {
	select {
	case batch, ok := <-b.ready:
		if !ok {
			return nil, b.err
		}
		return batch, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Recycle gives a batch back, to be overwritten with a later step.
func (b *Batches) Recycle(batch *Batch) { b.free <- batch }

// Wait returns when nothing is assembled any more.
func (b *Batches) Wait() { <-b.done }

// An assembly composes a rank's batches from its shards.
type assembly struct {
	replica    *Replica
	micro      [][]int // the shards of each micro-batch
	groupEnds  []int
	assemblers []*flow.Assembler // one for each conditioner
}

func (r *Replica) newAssembly(shards []int) *assembly {
	a := &assembly{replica: r, assemblers: make([]*flow.Assembler, len(r.conditioners))}
	a.micro, a.groupEnds = r.cut(shards)
	training := r.experiment.Training
	for i, c := range r.conditioners {
		a.assemblers[i] = flow.NewAssembler(r.batchPlan, r.experiment.Velocity().Dim(), training.Coupling, c)
		a.assemblers[i].Times, a.assemblers[i].Frame, a.assemblers[i].Points = training.Times, r.frame, training.Points
	}
	return a
}

func (a *assembly) newBatch() *Batch {
	b := &Batch{Micro: make([]*flow.Batch, len(a.micro)), groupEnds: a.groupEnds}
	for i := range b.Micro {
		b.Micro[i] = new(flow.Batch)
	}
	return b
}

// assemble fills b with the batch of a step.
func (a *assembly) assemble(ctx context.Context, b *Batch, step ergoflow.Step) error {
	b.Step = step
	r, model := a.replica, a.replica.experiment.Velocity()
	assembler := a.assemblers[int(step)%len(a.assemblers)]
	for i, shards := range a.micro {
		micro := b.Micro[i]
		micro.Reset(r.batchPlan.BatchSamples, model.Dim(), len(model.Inputs()))
		for _, k := range shards {
			assembler.Append(micro, r.shards[k], r.batchPlan.Picks(int(step), k))
		}
		if err := assembler.Complete(ctx, micro, int(step)); err != nil {
			return err
		}
	}
	return nil
}
