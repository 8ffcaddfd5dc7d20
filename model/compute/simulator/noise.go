package simulator

import (
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// generators are the chains' xoshiro128+ generators: four words, each
// [functions, chains] of uint32.
type generators [4]*graph.Node

// next advances all generators and returns a standard normal number from each. It is
// the number that simulate.Normal makes of the same output, up to the rounding of a
// cubic whose products and sums the compiler fuses.
func (s generators) next(inverse inverse) (generators, *graph.Node) {
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	r := graph.Add(s0, s3)
	shifted := shiftLeft(s1, 9)
	s2 = graph.BitwiseXor(s2, s0)
	s3 = graph.BitwiseXor(s3, s1)
	s1 = graph.BitwiseXor(s1, s2)
	s0 = graph.BitwiseXor(s0, s3)
	s2 = graph.BitwiseXor(s2, shifted)
	s3 = graph.BitwiseOr(shiftLeft(s3, 11), shiftRight(s3, 32-11))
	return generators{s0, s1, s2, s3}, inverse.normal(r)
}

// inverse holds Φ⁻¹ as in simulate.Normal: the coefficients of its cubics, and the
// values where it has no cubic (one draw in 65,536).
type inverse struct {
	constant *graph.Node    // c₀ of the half-octaves, then all values without a cubic
	powers   [3]*graph.Node // c₁, c₂, c₃
}

var segments = len(simulate.Cubics())

// inverseSize is the length of the array that inverseOf takes.
var inverseSize = 4*segments + simulate.CubicFirst

// uploadInverse uploads Φ⁻¹: c₁, c₂, c₃, then the constants.
func uploadInverse(b *backend.Backend) (backend.Buffer, error) {
	cubics := simulate.Cubics()
	values := make([]float32, 0, inverseSize)
	for _, power := range []int{1, 2, 3, 0} {
		for _, c := range cubics {
			values = append(values, c[power])
		}
	}
	for v := range uint32(simulate.CubicFirst) {
		values = append(values, simulate.Normal(v))
	}
	return b.Upload(values, len(values))
}

// inverseOf splits the array of uploadInverse.
func inverseOf(values *graph.Node) inverse {
	var n inverse
	for i := range n.powers {
		n.powers[i] = graph.Slice(values, graph.AxisRange(i*segments, (i+1)*segments))
	}
	n.constant = graph.Slice(values, graph.AxisRange(3*segments))
	return n
}

// normal is ±Φ⁻¹(1−(v+½)/2³²): the sign is the top bit of r, v its other bits.
func (n inverse) normal(r *graph.Node) *graph.Node {
	g := r.Graph()
	v := graph.BitwiseAnd(r, graph.Const(g, uint32(1<<31-1)))
	// Without the bits v>>24 the conversion rounds towards zero. Exponent and top
	// mantissa bit of f number the half-octave.
	truncated := graph.BitwiseAnd(v, graph.BitwiseNot(shiftRight(v, 24)))
	f := graph.ConvertDType(graph.ConvertDType(truncated, dtypes.Int32), dtypes.Float32)
	segment := graph.Sub(graph.ConvertDType(shiftRight(graph.Bitcast(f, dtypes.Uint32), 22), dtypes.Int32), graph.Const(g, int32((127+15)<<1)))

	low := graph.LessThan(segment, graph.Const(g, int32(0)))
	f = graph.Where(low, graph.Const(g, float32(0)), f)
	at := graph.Where(low, graph.Add(graph.ConvertDType(v, dtypes.Int32), graph.Const(g, int32(segments))), segment)

	// Gather clamps an index out of range to the nearest end.
	x := gather(n.powers[2], segment)
	for _, c := range []*graph.Node{gather(n.powers[1], segment), gather(n.powers[0], segment), gather(n.constant, at)} {
		x = graph.Add(c, graph.Mul(f, x))
	}
	sign := graph.BitwiseAnd(r, graph.Const(g, uint32(1<<31)))
	return graph.Bitcast(graph.BitwiseXor(graph.Bitcast(x, dtypes.Uint32), sign), dtypes.Float32)
}

// This package makes every scalar by graph.Const. Other functions of the graph library
// reuse scalars, even in closures that cannot access them.

func shiftLeft(x *graph.Node, bits uint32) *graph.Node {
	return graph.BitwiseShiftLeft(x, graph.Const(x.Graph(), bits))
}

func shiftRight(x *graph.Node, bits uint32) *graph.Node {
	return graph.BitwiseShiftRightLogical(x, graph.Const(x.Graph(), bits))
}

// gather looks up every index in a vector.
func gather(vector, index *graph.Node) *graph.Node {
	return graph.Gather(vector, graph.InsertAxes(index, -1))
}
