package worker

import (
	"context"
	"math/bits"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// ahead is how many steps are assembled before they are needed: one in the
// device's hands, one waiting, one being filled.
const ahead = 2

// A stepBatch is what one rank computes in one step: its shards' part of the
// global batch, cut into micro-batches of the few sizes that are compiled.
type stepBatch struct {
	step  ergoflow.Step
	micro []*flow.Batch
	ends  []int // of groups whose gradients are rounded alone, in micro
}

// A prefetcher assembles the coming steps' batches beside the training loop,
// so that the device does not wait for them.
type prefetcher struct {
	ready chan *stepBatch
	free  chan *stepBatch
	err   error // set before ready is closed
	done  chan struct{}
}

// prefetch starts assembling from the replica's present step for the given
// shards. It ends with ctx.
func prefetch(ctx context.Context, r *replica, shards []int) *prefetcher {
	p := &prefetcher{
		ready: make(chan *stepBatch, ahead),
		free:  make(chan *stepBatch, ahead+1),
		done:  make(chan struct{}),
	}
	groups, ends := r.cut(shards)
	model := r.experiment.Velocity()
	assemblers := make([]*flow.Assembler, len(r.conditioners))
	for i, c := range r.conditioners {
		assemblers[i] = flow.NewAssembler(r.batches, model.Dim(), r.experiment.Training.Coupling, c)
		assemblers[i].Times = r.experiment.Training.Times
	}
	for range ahead + 1 {
		b := &stepBatch{micro: make([]*flow.Batch, len(groups)), ends: ends}
		for i := range b.micro {
			b.micro[i] = new(flow.Batch)
		}
		p.free <- b
	}
	go func() {
		defer close(p.done)
		defer close(p.ready)
		for step := r.at(); step < r.plan.Steps; step++ {
			var b *stepBatch
			select {
			case b = <-p.free:
			case <-ctx.Done():
				p.err = ctx.Err()
				return
			}
			b.step = step
			assembler := assemblers[int(step)%len(assemblers)]
			for i, group := range groups {
				micro := b.micro[i]
				micro.Reset(r.batches.BatchSamples, model.Dim(), len(model.Inputs()))
				for _, k := range group {
					assembler.Append(micro, r.shards[k], r.batches.Picks(int(step), int(k)))
				}
				if err := assembler.Complete(ctx, micro); err != nil {
					p.err = err
					return
				}
			}
			select {
			case p.ready <- b:
			case <-ctx.Done():
				p.err = ctx.Err()
				return
			}
		}
	}()
	return p
}

// next returns the next step's batch; give it back with recycle.
func (p *prefetcher) next(ctx context.Context) (*stepBatch, error) {
	select {
	case b, ok := <-p.ready:
		if !ok {
			return nil, p.err
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *prefetcher) recycle(b *stepBatch) { p.free <- b }

// wait returns when the prefetcher's goroutine has ended.
func (p *prefetcher) wait() { <-p.done }

// cut makes micro-batches of a rank's shards. Where training is reproducible none
// has shards of two groups; ends says where the groups end.
func (r *replica) cut(shards []int) (micro [][]int, ends []int) {
	if !r.reproducible() {
		micro = microBatches(shards, r.largest())
		return micro, []int{len(micro)}
	}
	for u := range r.plan.Units() {
		first, end := r.plan.Unit(u)
		var group []int
		for _, k := range shards {
			if int(k) >= first && int(k) < end {
				group = append(group, k)
			}
		}
		if len(group) > 0 {
			micro = append(micro, microBatches(group, r.largest())...)
			ends = append(ends, len(micro))
		}
	}
	return micro, ends
}

// microBatches cuts the shards into groups of at most so many, whose lengths are
// powers of two, largest first: no membership needs a shape that is not compiled
// already.
func microBatches(shards []int, most int) [][]int {
	var groups [][]int
	for len(shards) > 0 {
		n := 1 << (bits.Len(uint(min(len(shards), most))) - 1)
		groups = append(groups, shards[:n])
		shards = shards[n:]
	}
	return groups
}
