package replica

import "math/bits"

// A rank's shards are cut into micro-batches of 2^k shards. These few sizes are
// all compiled in advance, so that no membership change needs another.

// maxMicroBatch is the largest number of shards of a micro-batch: as many as the
// experiment allows, or all of the run, or of a group where training is
// reproducible.
func (r *Replica) maxMicroBatch() int {
	most := r.plan.Shards
	if r.reproducible() {
		most = (r.plan.Shards + r.plan.Groups - 1) / r.plan.Groups
	}
	functions := r.settings.Load().microBatch
	if functions == 0 {
		return most
	}
	return min(max(functions/r.batchPlan.FunctionsPerStep(), 1), most)
}

// cut cuts a rank's shards into micro-batches. Where training is reproducible, none
// has shards of two groups, and groupEnds has the index in micro where each group
// ends.
func (r *Replica) cut(shards []int) (micro [][]int, groupEnds []int) {
	if !r.reproducible() {
		micro = microBatches(shards, r.maxMicroBatch())
		return micro, []int{len(micro)}
	}
	for u := range r.plan.Units() {
		first, end := r.plan.Unit(u)
		var group []int
		for _, k := range shards {
			if k >= first && k < end {
				group = append(group, k)
			}
		}
		if len(group) > 0 {
			micro = append(micro, microBatches(group, r.maxMicroBatch())...)
			groupEnds = append(groupEnds, len(micro))
		}
	}
	return micro, groupEnds
}

// microBatches cuts the shards into pieces of at most the given number, whose
// lengths are powers of two, largest first.
func microBatches(shards []int, most int) [][]int {
	var pieces [][]int
	for len(shards) > 0 {
		n := 1 << (bits.Len(uint(min(len(shards), most))) - 1)
		pieces = append(pieces, shards[:n])
		shards = shards[n:]
	}
	return pieces
}
