package trainer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// The sum of a batch at shared points, with weights of 1, is that of pairs x₀ = x − t·u,
// x₁ = x₀ + u, whose paths lead through the same points at the same velocities. A weight of 2
// counts a pair twice.
func TestSharedPointsAreThosePairs(t *testing.T) {
	b := backendtest.Fast(t)
	for _, dim := range []int{1, 2} {
		const n, points = 3, 5
		own := config(1)
		model := own.Model.(deeponet.Config)
		model.Dimension = dim
		own.Model, own.Samples = model, points
		shared := own
		shared.Points = points
		pairs := noise(0, n, points, model)
		at := noise(0, n, points, model)
		at.Points = points
		for i := range n * points * dim {
			at.Velocity = append(at.Velocity, pairs.X1[i]-pairs.X0[i])
		}
		at.X, at.T = slices.Clone(pairs.X0[:points*dim]), pairs.T[:points]
		at.Weight = make([]float32, n*points)
		pairs.T = nil
		for f := range n {
			for j := range points {
				at.Weight[f*points+j] = 1
				pairs.T = append(pairs.T, at.T[j])
				for k := range dim {
					i := (f*points+j)*dim + k
					pairs.X0[i] = at.X[j*dim+k] - at.T[j]*at.Velocity[i]
					pairs.X1[i] = pairs.X0[i] + at.Velocity[i]
				}
			}
		}
		of := func(c trainer.Config, batch *flow.Batch) []float32 {
			tr, _ := newTrainer(t, b, c)
			return total(t, tr, batch)
		}
		want, got := of(own, pairs), of(shared, at)
		scale := 0.0
		for _, v := range want[:len(want)-2] {
			scale = max(scale, math.Abs(float64(v)))
		}
		for i, v := range want {
			if !(math.Abs(float64(got[i]-v)) <= 1e-4*max(scale, math.Abs(float64(v)))) {
				t.Fatalf("%d dimensions: value %d of the sum is %g, want %g", dim, i, got[i], v)
			}
		}
		for i := range at.Weight {
			at.Weight[i] = 2
		}
		for i, v := range of(shared, at)[:len(want)-1] {
			if !(math.Abs(float64(v-2*got[i])) <= 1e-4*max(scale, math.Abs(float64(v)))) {
				t.Fatalf("%d dimensions: value %d of the sum is %g with weights of 2, %g of 1", dim, i, v, got[i])
			}
		}
		tr, _ := newTrainer(t, b, shared)
		if tr.Accumulate(pairs) == nil {
			t.Error("a trainer for shared points takes pairs")
		}
	}
}

// Points save the operations of the trunk, which is computed once for all functions.
func TestFLOPsOfPoints(t *testing.T) {
	c := config(1)
	branches := c.Model.FLOPs(10, 0) // at no state
	trunk := c.FLOPs(10) - branches
	c.Points = 2 * c.Samples
	if got := c.FLOPs(10) - branches; got != trunk/5 {
		t.Errorf("the trunk at %d points takes %g operations, at 10 × %d states %g", c.Points, got, c.Samples, trunk)
	}
	own := c
	own.Points, own.Samples = 0, c.Points
	if got, most := c.Memory("go", 1000), own.Memory("go", 1000); got >= most {
		t.Errorf("shared points take %d bytes, own ones %d", got, most)
	}
}
