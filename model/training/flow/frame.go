package flow

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// States says in which coordinates the flow carries noise to samples.
type States string

const (
	// Raw states are the samples themselves: the paper's experiments, whose families have
	// centre 0 and scale 1.
	Raw States = "raw"
	// Standardised states are z_k = (x_k − mean_k)/std_k, mean and std over the training
	// samples. Learning then depends on no unit of x.
	Standardised States = "standardised"
	// Whitened states are z = L⁻¹(x − m), with mean m and covariance LLᵀ of the Gaussian closure of
	// each equation (package closure): for equations without a grid.
	Whitened States = "whitened"
	// Settled states are the same with the mean and the covariance of a few chains (closure.Settled):
	// where the closure does not come to rest, or does in one of several wells.
	Settled States = "settled"
)

// StatesKinds lists the known ones.
func StatesKinds() []States { return []States{Raw, Standardised, Whitened, Settled} }

// Own reports whether each equation has coordinates of its own.
func (s States) Own() bool { return s == Whitened || s == Settled }

// base are those of an equation, of chains with time steps dt if they are Settled.
func (s States) base(space sde.Space, dt float64) (closure.Base, error) {
	if s == Settled {
		return closure.Settled(space, dt)
	}
	return closure.Of(space), nil
}

// Seen is the equation in its own coordinates, if it has any.
func (s States) Seen(system sde.System, dt float64) (sde.System, error) {
	space, ok := system.(sde.Space)
	if !ok || !s.Own() {
		return system, nil
	}
	b, err := s.base(space, dt)
	if err != nil {
		return nil, err
	}
	return b.Equation(space), nil
}

// Frame are the flow's coordinates: the standard of every coordinate of a state. The empty
// frame leaves states as they are.
type Frame []shard.Standard

// FrameOf takes the standards of states in dim dimensions from a normalisation. Without any it
// is the empty frame.
func FrameOf(n shard.Normalisation, dim int) (Frame, error) {
	if _, ok := n[shard.State(0)]; !ok {
		return nil, nil
	}
	f := make(Frame, dim)
	for k := range f {
		var ok bool
		if f[k], ok = n[shard.State(k)]; !ok {
			return nil, fmt.Errorf("the normalisation lacks %s of %d coordinates", shard.State(k), dim)
		}
	}
	return f, nil
}

// Standardise turns states x [n, d] into the flow's coordinates, in place.
func (f Frame) Standardise(x []float32) {
	for k, s := range f {
		for i := k; i < len(x); i += len(f) {
			x[i] = float32((float64(x[i]) - s.Mean) / s.Std)
		}
	}
}

// Restore turns the flow's coordinates z [n, d] into states, in place.
func (f Frame) Restore(z []float32) {
	for k, s := range f {
		for i := k; i < len(z); i += len(f) {
			z[i] = float32(s.Mean + s.Std*float64(z[i]))
		}
	}
}

// logVolume is log |det ∂x/∂z|.
func (f Frame) logVolume() (sum float64) {
	for _, s := range f {
		sum += math.Log(math.Abs(s.Std))
	}
	return sum
}

// Standardised returns the states x [n, d] in the flow's coordinates: x itself in the empty
// frame.
func (f Frame) Standardised(x []float32) []float32 {
	if len(f) == 0 {
		return x
	}
	x = slices.Clone(x)
	f.Standardise(x)
	return x
}

// Scale is the standard deviation of coordinate k: 1 in the empty frame.
func (f Frame) Scale(k int) float64 {
	if len(f) == 0 {
		return 1
	}
	return f[k].Std
}
