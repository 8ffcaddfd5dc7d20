package flow_test

import (
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// All parts of a step's batch have the same points, whatever functions are in them, and
// every function is fitted as in the whole batch. Another step has other points.
func TestPointsAreOfTheStep(t *testing.T) {
	s := open(t, functions, stored, 1)
	a := assembler(t, plan, 1, flow.Quantile)
	a.Points = 24
	whole := assemble(t, a, s, 1)
	if err := whole.Validate(); err != nil {
		t.Fatal(err)
	}
	for i, pick := range plan.Picks(1, 0) {
		var single flow.Batch
		single.Reset(plan.BatchSamples, 1, len(inputs))
		a.Append(&single, s, []batch.Pick{pick})
		if err := a.Complete(t.Context(), &single, 1); err != nil {
			t.Fatal(err)
		}
		lo, hi := i*a.Points, (i+1)*a.Points
		if !slices.Equal(single.X, whole.X) || !slices.Equal(single.T, whole.T) {
			t.Errorf("function %d has other points alone", i)
		}
		if !slices.Equal(single.Velocity, whole.Velocity[lo:hi]) || !slices.Equal(single.Weight, whole.Weight[lo:hi]) {
			t.Errorf("function %d is fitted in another way alone", i)
		}
	}
	if other := assemble(t, a, s, 2); slices.Equal(other.X, whole.X) || slices.Equal(other.T, whole.T) {
		t.Error("two steps have the same points")
	}
}

// A batch that was used with points is one without them after Reset, and the reverse.
func TestPointsAreReset(t *testing.T) {
	s := open(t, functions, stored, 1)
	a := assembler(t, plan, 1, flow.Quantile)
	var b flow.Batch
	for _, points := range []int{24, 0, 7} {
		a.Points = points
		b.Reset(plan.BatchSamples, 1, len(inputs))
		a.Append(&b, s, plan.Picks(1, 0))
		if err := a.Complete(t.Context(), &b, 1); err != nil {
			t.Fatal(err)
		}
		if err := b.Validate(); err != nil || b.Points != points {
			t.Errorf("%d points instead of %d, %v", b.Points, points, err)
		}
	}
	for name, spoil := range map[string]func(*flow.Batch){
		"points cut":     func(b *flow.Batch) { b.X = b.X[1:] },
		"times cut":      func(b *flow.Batch) { b.T = b.T[1:] },
		"velocities cut": func(b *flow.Batch) { b.Velocity = b.Velocity[1:] },
		"weights cut":    func(b *flow.Batch) { b.Weight = b.Weight[1:] },
	} {
		cut := b
		if spoil(&cut); cut.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
