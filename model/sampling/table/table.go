// Package table samples invariant laws on the line thousands of times as fast as the network
// that it tabulates. The trunk of a DeepONet depends on state and time only, not on the
// equation:
//
//	v(x, t) = h(x, t)·slope + offset,  with h the trunk's last hidden layer and the code
//	                                   [slope, offset] of the equation.
//
// So a table of h at the times of a fixed-step solver serves all equations. The line from −8 to
// 8, in the flow's coordinates, is cut into 512 cells. In each, h is the polynomial of degree 7
// through the cell's 8 Chebyshev points. A polynomial's coefficients are linear in h, so the
// table holds coefficients, and one matrix product table·code gives those of v for an equation.
// At the highest frequency of the paper's embeddings, 16 cycles per unit, the polynomial is
// within 1e-5 of the sine. Samples that leave the table's range are computed by the network.
package table

import (
	"context"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/kernels"
)

const (
	lo, hi = -8., 8. // of the table, in the flow's coordinates
	cells  = 512
	terms  = 8 // of a cell's polynomial

	// perUnit is the number of cells in a unit of x.
	perUnit = cells / (hi - lo)
)

// Table holds, for every time of a scheme, a layer from an equation's code [width+1] to the
// coefficients of its velocity [cells, terms]. It is safe for concurrent use.
type Table struct {
	scheme scheme
	layers []*kernels.Dense
	file   *mapping // that holds the layers, or nil
}

// build evaluates the trunk at all nodes of all times.
func build(ctx context.Context, host *deeponet.Host, s scheme) (*Table, error) {
	t := &Table{scheme: s, layers: make([]*kernels.Dense, len(s.times))}
	err := simulate.Each(ctx, len(s.times), func(_ context.Context, i int) error {
		t.layers[i] = tabulate(host, s.times[i])
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// tabulate makes the layer of one time.
func tabulate(host *deeponet.Host, time float64) *kernels.Dense {
	nodes, transform := chebyshev()
	width := host.CodeSize() - 1
	x := make([]float32, cells*terms)
	for i := range x {
		x[i] = float32(lo + (float64(i/terms)+(1+nodes[i%terms])/2)/perUnit)
	}
	h := make([]float32, len(x)*width)
	host.Hidden(h, x, time)

	layer := kernels.EmptyDense(width+1, cells*terms)
	coefficients := make([]float32, cells*terms*width) // [cells·terms, width]
	for c := range cells {
		span := h[c*terms*width : (c+1)*terms*width]
		kernels.NewDense(span, nil, terms, width).Apply(coefficients[c*terms*width:(c+1)*terms*width], transform, kernels.Linear)
	}
	row := make([]float32, cells*terms)
	for k := range width {
		for i := range row {
			row[i] = coefficients[i*width+k]
		}
		layer.SetRow(k, row)
	}
	for i := range row { // the offset is a constant
		row[i] = 0
		if i%terms == 0 {
			row[i] = 1
		}
	}
	layer.SetRow(width, row)
	return layer
}

// chebyshev returns the Chebyshev points s_j of [−1, 1] and the matrix M [terms, terms] from
// the values at these points to the coefficients of the polynomial through them, Σ_k c_k s^k
// with c = M·v. M is the inverse of the Vandermonde matrix V_jk = s_j^k.
func chebyshev() (points []float64, transform []float32) {
	points = make([]float64, terms)
	for j := range points {
		points[j] = math.Cos(math.Pi * (2*float64(j) + 1) / (2 * terms))
	}
	transform = make([]float32, terms*terms)
	for j := range terms {
		// Column j is the Lagrange polynomial Π_{i≠j} (s − s_i)/(s_j − s_i).
		product := []float64{1}
		for i := range terms {
			if i == j {
				continue
			}
			next := append([]float64{0}, product...)
			for k, c := range product {
				next[k] -= c * points[i]
			}
			for k := range next {
				next[k] /= points[j] - points[i]
			}
			product = next
		}
		for k, c := range product {
			transform[k*terms+j] = float32(c)
		}
	}
	return points, transform
}

// A field is the velocity of one equation at one time: the coefficients [cells, terms], in
// s = 2·(position in the cell) − 1.
type field []float32

// evaluate writes v(x) to dst, and NaN for states outside the table.
func (f field) evaluate(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		u := (v - lo) * perUnit
		if !(u >= 0 && u < cells) {
			dst[i] = nan
			continue
		}
		c := int(u)
		s := 2*(u-float32(c)) - 1
		p := (*[terms]float32)(f[c*terms:])
		dst[i] = ((((((p[7]*s+p[6])*s+p[5])*s+p[4])*s+p[3])*s+p[2])*s+p[1])*s + p[0]
	}
}

// slope is v′(x), and NaN outside the table.
func (f field) slope(x float32) (v, slope float64) {
	u := (float64(x) - lo) * perUnit
	if !(u >= 0 && u < cells) {
		return math.NaN(), math.NaN()
	}
	c := int(u)
	s := 2*(u-float64(c)) - 1
	for _, p := range slices.Backward(f[c*terms : (c+1)*terms]) {
		slope = slope*s + v
		v = v*s + float64(p)
	}
	return v, slope * 2 * perUnit
}

var nan = float32(math.NaN())
