package optim

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// AdamW holds the constants of the update. Over the mean gradient g, clipped to
// a global norm of at most ClipNorm,
//
//	m ← β₁m + (1−β₁)g
//	v ← β₂v + (1−β₂)g²
//	θ ← (1 − ηλ)θ − η · m/(1−β₁ᵏ) / (√(v/(1−β₂ᵏ)) + ε)
//
// at the k-th update (k = 1, 2, …), η and β₁ from the schedule. As in PyTorch, the
// bias correction is the k-th power of the current β₁, although β₁ varies. Where the moments
// restart, k begins at 1 again with them.
type AdamW struct {
	WeightDecay float64 // λ
	ClipNorm    float64 // 1.0
	Schedule    OneCycle
	Restart     int64 // the caller sets the moments to zero before every step that it divides; 0: never
}

const (
	beta2   = 0.999
	epsilon = 1e-8
	// clipEpsilon is what torch.nn.utils.clip_grad_norm_ adds to the norm.
	clipEpsilon = 1e-6
)

// Validate reports the first constant out of range.
func (a AdamW) Validate() error {
	switch {
	case !(a.Schedule.Peak > 0 && a.Schedule.Peak <= 1):
		return fmt.Errorf("optimizer: peak learning rate %g is not in (0, 1]", a.Schedule.Peak)
	case a.Schedule.Total < 1:
		return fmt.Errorf("optimizer: %d steps", a.Schedule.Total)
	case !(a.WeightDecay >= 0 && a.WeightDecay <= 1):
		return fmt.Errorf("optimizer: weight decay %g is not in [0, 1]", a.WeightDecay)
	case !(a.ClipNorm > 0) || math.IsInf(a.ClipNorm, 0):
		return fmt.Errorf("optimizer: clip norm %g is not positive and finite", a.ClipNorm)
	}
	return nil
}

// scalars is the number of scalars that the compiled update takes.
const scalars = 5

// Scalars returns the scalars of a step, counted from zero: decay 1−ηλ, step size
// η/(1−β₁ᵏ), β₁, 1−β₁ and √(1−β₂ᵏ), computed in float64.
func (a AdamW) Scalars(step int64) []float32 {
	rate, beta1 := a.Schedule.At(step)
	k := float64(step + 1)
	if a.Restart > 0 {
		k = float64(step%a.Restart + 1)
	}
	return []float32{
		float32(1 - rate*a.WeightDecay),
		float32(rate / (1 - math.Pow(beta1, k))),
		float32(beta1),
		float32(1 - beta1),
		float32(math.Sqrt(1 - math.Pow(beta2, k))),
	}
}

// Compile compiles the update of vectors of length size:
//
//	(θ, m, v, sum, scalars) → (θ', m', v', norm)
//
// where sum [size+2] holds the gradient sum, the loss sum and the number of
// samples, by which the gradient is divided; norm is that of the mean gradient
// before clipping.
func (a AdamW) Compile(b *backend.Backend, size int) (*backend.Program, error) {
	vector := backend.Shape(size)
	inputs := []shapes.Shape{vector, vector, vector, backend.Shape(size + 2), backend.Shape(scalars)}
	return b.Compile("update", inputs, func(in []*graph.Node) []*graph.Node {
		theta, m, v, sum := in[0], in[1], in[2], in[3]
		scalar := func(i int) *graph.Node {
			return graph.Reshape(graph.Slice(in[4], graph.AxisElem(i)))
		}
		decay, rate, beta1, oneMinusBeta1, root := scalar(0), scalar(1), scalar(2), scalar(3), scalar(4)

		count := graph.Reshape(graph.Slice(sum, graph.AxisElem(size+1)))
		g := graph.Div(graph.Slice(sum, graph.AxisRange(0, size)), count)
		norm := graph.Sqrt(graph.ReduceAllSum(graph.Mul(g, g)))
		g = graph.Mul(g, graph.MinScalar(graph.Div(graph.Scalar(norm.Graph(), norm.DType(), a.ClipNorm), graph.AddScalar(norm, clipEpsilon)), 1))

		m = graph.Add(graph.Mul(beta1, m), graph.Mul(oneMinusBeta1, g))
		v = graph.Add(graph.MulScalar(v, beta2), graph.MulScalar(graph.Mul(g, g), 1-beta2))
		denominator := graph.AddScalar(graph.Div(graph.Sqrt(v), root), epsilon)
		theta = graph.Sub(graph.Mul(decay, theta), graph.Div(graph.Mul(rate, m), denominator))
		return []*graph.Node{theta, m, v, norm}
	})
}
