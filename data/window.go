package data

import (
	"cmp"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// Window is the data set with the newest of total training functions, at most window of them,
// in as many shards as d has, and with the held-out functions of d. Data grow while total
// grows from run to run. Generate takes functions that another data set of the store has from
// there; where First is a multiple of the functions per shard, whole shards.
func (d Dataset) Window(total, window int) Dataset {
	d.HeldOutFrom = d.firstHeldOut()
	d.Functions = min(total, window)
	d.First = total - d.Functions
	return d
}

// HeldOutShard is the number of the held-out shard, after the training shards.
func (d Dataset) HeldOutShard() int { return d.Shards }

// ShardRange returns the functions of shard k. Training shards are 0 to Shards−1, the
// held-out shard is Shards.
func (d Dataset) ShardRange(k int) (first, count int) {
	if k == d.HeldOutShard() {
		return d.firstHeldOut(), d.HeldOut
	}
	count = d.Functions / d.Shards
	return d.TrainingFunction(k * count), count
}

// TrainingFunction is the number, within the family, of training function i.
func (d Dataset) TrainingFunction(i int) int {
	i += d.First
	if i >= d.firstHeldOut() {
		i += d.HeldOut
	}
	return i
}

// Has reports whether function i of the family is one of the training functions or of those
// held out.
func (d Dataset) Has(i int) bool {
	if from := d.firstHeldOut(); i >= from && i < from+d.HeldOut {
		return true
	}
	return d.Functions > 0 && i >= d.TrainingFunction(0) && i <= d.TrainingFunction(d.Functions-1)
}

func (d Dataset) firstHeldOut() int { return cmp.Or(d.HeldOutFrom, d.Functions) }

// heldOutBetweenShards reports held-out functions whose numbers are between those of one
// training shard, whose functions have consecutive numbers.
func (d Dataset) heldOutBetweenShards() error {
	share, from, end := d.Functions/d.Shards, d.firstHeldOut(), d.First+d.Functions
	if from <= d.First || from >= end || (from-d.First)%share == 0 {
		return nil
	}
	if d.First == 0 {
		return fmt.Errorf("data.held_out_from is %d, inside a training shard: must be a multiple of %d, or at least %d", from, share, end)
	}
	return fmt.Errorf("data.first is %d: the held-out functions, from %d, are inside a training shard: data.first must be %d plus a multiple of %d functions per shard, or data.held_out_from at least %d",
		d.First, from, from%share, share, end)
}

// equationsApart reports an equation that training and held-out functions share, at
// different times: the held-out functions would not be new to the model.
func (d Dataset) equationsApart(f family.Timed) error {
	from, end := d.firstHeldOut(), d.First+d.Functions // places in the training sequence
	var neighbours [][2]int                            // a training function and a held-out one
	if d.First < from {
		neighbours = append(neighbours, [2]int{min(from, end) - 1, from})
	}
	if end > from {
		neighbours = append(neighbours, [2]int{max(from, d.First) + d.HeldOut, from + d.HeldOut - 1})
	}
	for _, n := range neighbours {
		if f.Equation(n[0]) == f.Equation(n[1]) {
			return fmt.Errorf("data.functions: training function %d has the equation of held-out function %d: data.functions, data.held_out and data.held_out_from must be multiples of %d",
				n[0], n[1], len(f.Times())-1)
		}
	}
	return nil
}
