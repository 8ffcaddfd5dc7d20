package ondevice

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// softminShape is the shape of a program that moves a block of a potential a part of
// the way to
//
//	−ε log Σ_j w_j exp((g_j − ½|x_i−y_j|²)/ε).
//
// Its inputs are x [targets, d], y [d, sources], w and g [sources], the values before
// [targets] and, as scalars, ε, 1/ε and the part; its output is the values after. With
// flat, for large ε, where all terms are nearly equal, it takes the logarithm of a
// number near 1 as log1p of the sum of expm1, which rounds the exponents and not ε.
type softminShape struct {
	targets, sources, d int
	flat                bool
}

// flatRatio is the multiple of the squared diameter above which ε is large: exponents
// are not below −½ there.
const flatRatio = 2

func (s *Sinkhorn) softmin(k softminShape) (*backend.Program, error) {
	if p := s.softmins[k]; p != nil {
		return p, nil
	}
	sources, scalar := backend.Shape(k.sources), backend.Shape()
	p, err := s.backend.Compile(fmt.Sprintf("softmin %+v", k), slices.Concat(
		[]shapes.Shape{backend.Shape(k.targets, k.d), backend.Shape(k.d, k.sources), sources, sources, backend.Shape(k.targets)},
		[]shapes.Shape{scalar, scalar, scalar}), k.build)
	if err == nil {
		s.softmins[k] = p
	}
	return p, err
}

func (k softminShape) build(in []*graph.Node) []*graph.Node {
	x, y, w, g, before, eps, inverse, part := in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]
	// One coordinate after the other: an array of all differences would be d times as
	// large, and |x|² + |y|² − 2xy would cancel digits.
	var square *graph.Node
	for i := range k.d {
		from := graph.Slice(x, graph.AxisRange(), graph.AxisRange(i, i+1)) // [targets, 1]
		to := graph.Slice(y, graph.AxisRange(i, i+1), graph.AxisRange())   // [1, sources]
		z := graph.Square(graph.Sub(from, to))
		if square == nil {
			square = z
		} else {
			square = graph.Add(square, z)
		}
	}
	exponents := graph.Sub(graph.InsertAxes(g, 0), graph.MulScalar(square, 0.5)) // times ε
	largest := graph.ReduceAndKeep(exponents, graph.ReduceMax, -1)
	exponents = graph.Mul(graph.Sub(exponents, largest), inverse)
	sum := func(terms *graph.Node) *graph.Node {
		return graph.ReduceSum(graph.Mul(terms, graph.InsertAxes(w, 0)), -1)
	}
	var logarithm *graph.Node
	if k.flat {
		logarithm = graph.Log1P(sum(graph.Expm1(exponents)))
	} else {
		logarithm = graph.Log(sum(graph.Exp(exponents)))
	}
	target := graph.Neg(graph.Add(graph.Reshape(largest, k.targets), graph.Mul(eps, logarithm)))
	return []*graph.Node{graph.Add(before, graph.Mul(part, graph.Sub(target, before)))}
}

// joinShape is the shape of a program that makes one array of the blocks of a
// potential.
type joinShape struct{ blocks, length int }

func (s *Sinkhorn) join(k joinShape) (*backend.Program, error) {
	if p := s.joins[k]; p != nil {
		return p, nil
	}
	p, err := s.backend.Compile(fmt.Sprintf("join %+v", k), slices.Repeat([]shapes.Shape{backend.Shape(k.length)}, k.blocks),
		func(in []*graph.Node) []*graph.Node { return []*graph.Node{graph.Concatenate(in, 0)} })
	if err == nil {
		s.joins[k] = p
	}
	return p, err
}
