package flow

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Inputs that are stored nowhere follow from the coefficients on a grid. Their values at every
// node are appended to dst. Their scale is fixed, so that no normalisation of the training set is
// needed. Lengths are in the units of a frame.
var (
	derivedOnLine = map[string]func(dst []float32, c sde.Coefficients, frame Frame) ([]float32, error){
		"potential": potential,
		"score":     score,
	}
	derivedInPlane = map[string]func(dst []float32, p sde.Plane, frame Frame) ([]float32, error){
		"force": force,
	}
)

// Grid is where a family's functions have their coefficients. The zero Grid stands for a family
// without one: then nothing is derived.
type Grid struct {
	sde.Grid               // along every axis
	Plane    family.Stored // makes the equations of the plane; nil on the line
}

// GridOf is the grid of a family.
func GridOf(f family.Family) Grid {
	switch tabulated := f.(type) {
	case family.Tabulated:
		return Grid{Grid: tabulated.Grid()}
	case family.TabulatedPlane:
		if stored, ok := f.(family.Stored); ok {
			return Grid{tabulated.Grid(), stored}
		}
	}
	return Grid{}
}

// derives reports whether the input of that name follows from the coefficients.
func (g Grid) derives(name string) bool {
	switch {
	case g.N == 0:
		return false
	case g.Plane != nil:
		return derivedInPlane[name] != nil
	}
	return derivedOnLine[name] != nil
}

// shape is that of derived inputs: in the plane they have two numbers at a node.
func (g Grid) shape() []int {
	if g.Plane != nil {
		return []int{g.N, g.N, 2}
	}
	return []int{g.N}
}

// derive appends the input of that name, of the function with these fields, to dst.
func (s *Stored) derive(dst []float32, name string, fields [][]float32) ([]float32, error) {
	if s.grid.Plane != nil {
		f, err := s.grid.Plane.Restore(fields)
		if err != nil {
			return dst, err
		}
		return derivedInPlane[name](dst, f.System.(sde.Plane), s.frame)
	}
	if max(s.drift, s.diffusion) >= len(fields) {
		return dst, errors.New("it follows from drift and diffusion")
	}
	c := sde.Coefficients{Grid: s.grid.Grid, Drift: fields[s.drift], Diffusion: fields[s.diffusion]}
	return derivedOnLine[name](dst, c, s.frame)
}

// potential is log(1 + U)/2 − 1, U = −log p above its least value on the nodes. The
// logarithm keeps both apart: wells that differ by little, and, for samples of
// chains that have not found the deepest well, barriers of hundreds.
func potential(dst []float32, c sde.Coefficients, _ Frame) ([]float32, error) {
	u, err := density.Potential(c)
	for _, v := range u {
		dst = append(dst, float32(math.Log1p(v)/2-1))
	}
	return dst, err
}

// score is arsinh(s)/4 of s = (log p)′ = 2b/σ² − 2σ′/σ, which spans orders of
// magnitude. A potential has no unit.
func score(dst []float32, c sde.Coefficients, frame Frame) ([]float32, error) {
	if err := c.Validate(); err != nil {
		return dst, err
	}
	for i := range c.Grid.N {
		lo, hi := max(i-1, 0), min(i+1, c.Grid.N-1)
		slope := math.Log(float64(c.Diffusion[hi])/float64(c.Diffusion[lo])) / (c.Grid.At(hi) - c.Grid.At(lo))
		sigma := float64(c.Diffusion[i])
		s := 2*float64(c.Drift[i])/(sigma*sigma) - 2*slope
		dst = append(dst, float32(math.Asinh(s*frame.Scale(0))/4))
	}
	return dst, nil
}

// force is arsinh(f) of both numbers of f = 2D⁻¹(b − ½∇·D), D = σσᵀ, at a node. It is ∇ log p where
// the equation is reversible. arsinh keeps the differences of functions in range beside
// the walls of wells.
func force(dst []float32, p sde.Plane, frame Frame) ([]float32, error) {
	_, constant := p.DiffusionTerms()
	for node := range p.Nodes() {
		d := covariance(p, node)
		det := d.xx*d.yy - d.xy*d.xy
		if !(det > 1e-12*(d.xx+d.yy)*(d.xx+d.yy)) {
			return dst, fmt.Errorf("the noise at node %d is in one direction", node)
		}
		bx, by := float64(p.Drift[2*node]), float64(p.Drift[2*node+1])
		if !constant {
			dx, dy := divergence(p, node)
			bx, by = bx-dx/2, by-dy/2
		}
		dst = append(dst,
			float32(math.Asinh(2*(d.yy*bx-d.xy*by)/det*frame.Scale(0))),
			float32(math.Asinh(2*(d.xx*by-d.xy*bx)/det*frame.Scale(1))))
	}
	return dst, nil
}

// symmetric is a symmetric matrix.
type symmetric struct{ xx, xy, yy float64 }

// covariance is D = σσᵀ at a node.
func covariance(p sde.Plane, node int) symmetric {
	_, s := p.At(p.X.At(node%p.X.N), p.Y.At(node/p.X.N))
	return symmetric{s[0]*s[0] + s[1]*s[1], s[0]*s[2] + s[1]*s[3], s[2]*s[2] + s[3]*s[3]}
}

// divergence is ∇·D at a node, with central differences.
func divergence(p sde.Plane, node int) (x, y float64) {
	i, j := node%p.X.N, node/p.X.N
	i0, i1, j0, j1 := max(i-1, 0), min(i+1, p.X.N-1), max(j-1, 0), min(j+1, p.Y.N-1)
	left, right := covariance(p, j*p.X.N+i0), covariance(p, j*p.X.N+i1)
	lower, upper := covariance(p, j0*p.X.N+i), covariance(p, j1*p.X.N+i)
	width, height := p.X.At(i1)-p.X.At(i0), p.Y.At(j1)-p.Y.At(j0)
	return (right.xx-left.xx)/width + (upper.xy-lower.xy)/height, (right.xy-left.xy)/width + (upper.yy-lower.yy)/height
}
