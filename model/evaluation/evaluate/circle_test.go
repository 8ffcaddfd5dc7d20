package evaluate

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Distances on a circle do not see where its states begin: those of laws that are turned together stay
// the same, and a law round the cut is as near to its neighbour as elsewhere.
func TestDistancesOnACircle(t *testing.T) {
	const n = 256
	circle := sde.Range{Ends: sde.Joined, Lo: 0, Hi: 6}
	system := sde.Space{Box: []sde.Interval{{Lo: 0, Hi: 6}, {Lo: -3, Hi: 3}}, Domain: sde.Domain{circle, sde.WholeLine}}
	distance := func(turned, apart float64) FunctionResult {
		f := heldOutFunction{function: family.Function{System: system}, frame: flow.Frame{shard.Standard{Mean: 3, Std: 1.5}, shard.Standard{Std: 2}}}
		rng := random.New(1, "evaluate/circle")
		draw := func(by float64) []float32 {
			x := make([]float32, 2*n)
			for i := range n {
				x[2*i] = circle.Single(circle.Wrap(turned + by + 0.3*rng.NormFloat64()))
				x[2*i+1] = float32(rng.NormFloat64())
			}
			return x
		}
		f.compareWith(draw(0))
		d, _, err := distances(experiment.Evaluation{Blur: 0.05, Scaling: 0.5}, f, draw(apart))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	at := distance(3, 0.2) // in the middle
	for _, turned := range []float64{0, 5.9, 1} {
		d := distance(turned, 0.2)
		if math.Abs(d.SlicedW2-at.SlicedW2) > 0.1*at.SlicedW2 || math.Abs(d.Sinkhorn-at.Sinkhorn) > 0.1*at.Sinkhorn {
			t.Errorf("round %g: sliced W2 %.4f, Sinkhorn %.4f; round 3: %.4f, %.4f", turned, d.SlicedW2, d.Sinkhorn, at.SlicedW2, at.Sinkhorn)
		}
	}
	if far := distance(0, 3); far.SlicedW2 < 4*at.SlicedW2 {
		t.Errorf("the other side is at %.4f, a neighbour at %.4f", far.SlicedW2, at.SlicedW2)
	}
	// A small distance is that along the circle, in deviations.
	p := points(system, flow.Frame{shard.Standard{Mean: 3, Std: 1.5}, shard.Standard{Std: 2}}, []float32{5.99, 0, 0.02, 1})
	if arc := math.Hypot(float64(p[3]-p[0]), float64(p[4]-p[1])); len(p) != 6 || math.Abs(arc-0.03/1.5) > 1e-4 || p[5] != 0.5 {
		t.Errorf("points %v, %.5f apart, want 0.02", p, arc)
	}
}
