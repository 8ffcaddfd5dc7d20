package sensor

import (
	"math"

	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/gomlx/gomlx/core/graph"
)

// A probe of a pair is a row (d, f) of displacement and force at every step. What the network must
// know of it is the force along the displacement as a function of the distance. This
// representation is its kernel regression by the functions ρ_k of pairs.go, which takes no
// training: with g = asinh(f·d), e is the mean over the steps of
//
//	[ρ_1(|d|) g, …, ρ_K(|d|) g, ρ_1(|d|), …, ρ_K(|d|)]
//
// and the ratio of its halves, summed over the sensors, is the force at K distances. Where no
// sensor passes the ratio is 0. The hyperbolic sine keeps the forces of collisions, which are a
// hundred times the others, in range. A rotation of a probe does not change e.

// leastWeight, of the mean over the sensors, makes a ratio 0 where none passes.
const leastWeight = 1e-4

// force returns e [n, m, 2K] of the probes [n, m, steps, 4].
func (n Network) force(probes *graph.Node) *graph.Node {
	part := func(from int) *graph.Node {
		return graph.Slice(probes, graph.AxisRange().Spacer(), graph.AxisRange(from, from+2))
	}
	d, f := part(0), part(2)
	rho := n.radial(graph.ReduceSum(graph.Mul(d, d), -1)) // [n, m, steps, K]
	g := asinh(graph.ReduceSum(graph.Mul(f, d), -1))
	e := graph.Concatenate([]*graph.Node{graph.Mul(rho, graph.ExpandAxes(g, -1)), rho}, -1)
	return graph.ReduceMean(e, 2)
}

// asinh is ln(|x| + √(1 + x²)) with the sign of x.
func asinh(x *graph.Node) *graph.Node {
	size, square := graph.Abs(x), graph.Mul(x, x)
	root := graph.OnePlus(graph.Sqrt(graph.OnePlus(square)))
	return graph.Mul(graph.Sign(x), graph.Log1P(graph.Add(size, graph.Div(square, root))))
}

// ratio is the first half of e [n, 2K] over its second: [n, K].
func ratio(e *graph.Node) *graph.Node {
	k := e.Shape().Dimensions[1] / 2
	part := func(from int) *graph.Node { return graph.Slice(e, graph.AxisRange(), graph.AxisRange(from, from+k)) }
	return graph.Div(part(0), graph.AddScalar(part(k), leastWeight))
}

// force writes the vector e [2K] of one probe [steps, 4] to dst.
func (h *Host) force(dst, probe []float32) {
	k := h.config.Radial
	spacing := float32(radialSpacing(k))
	rho := make([]float32, k)
	for ; len(probe) > 0; probe = probe[4:] {
		x, y, fx, fy := probe[0], probe[1], probe[2], probe[3]
		radial(rho, x*x+y*y, spacing)
		g := float32(math.Asinh(float64(fx*x + fy*y)))
		for i, weight := range rho {
			dst[i] += weight * g / float32(h.config.Steps)
			dst[k+i] += weight / float32(h.config.Steps)
		}
	}
}

// radial writes ρ_k of a squared distance, at places that are spacing apart, to dst [K].
func radial(dst []float32, square, spacing float32) {
	s := 0.5 * math.Log1p(float64(square)/(radialUnit*radialUnit))
	kernels.Bumps(dst, float32(s)/spacing)
}
