// Package fokkerplanck finds the invariant law of an equation in the plane as the stationary density of
// its Fokker–Planck equation, on a grid of cells. It needs neither a potential nor chains that mix: masses
// of wells are right whatever the barriers between them are.
//
// The error of the cells is measured: the law is solved for with cells of half the size, and extrapolated,
// until its distribution function no longer changes.
package fokkerplanck

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Law is an invariant law.
type Law struct {
	// Error is how much the mass of any quadrant at a corner has changed at most when the cells got half
	// the size, and what may be outside the box. The error of the cells is less: it falls with the square of
	// their size at least.
	Error float64

	grid   // in coordinates without ends, those of package lift
	domain sde.Domain
	mass   []float64 // of the cells, [n, n]
	below  []float64 // P(X₀ ≤ a, X₁ ≤ b) at their corners, [n+1, n+1]
}

// ErrUnresolved means that a law cannot be found on cells that are fine enough in time.
var ErrUnresolved = errors.New("the law cannot be resolved")

const (
	// coarsest is the least number of cells along an axis, and fitting the one with which the box is found.
	coarsest, fitting = 16, 32
	// mostWork bounds the multiplications of a solution: 128 × 128 cells take 0.1 s on one core. On circles
	// neighbours are farther apart, so that 64 × 64 are the most.
	mostWork = 3e8
	// enough is an error at which cells are fine enough, and tolerable one with the finest.
	enough, tolerable = 0.01, 0.02
	// few is the part of the law in cells of a kind that matters.
	few = 0.02
	// resizes is how often the box may change. A side where more than spilled of the law is at the end
	// moves out, one that has less than empty in the cells there moves in.
	resizes, spilled, empty = 24, 1e-4, 1e-5
	// beyond is what may be outside the box then.
	beyond = 5e-4
)

// Solve finds the law of an equation in the plane around some states [n, 2], or in the equation's box
// where there are none. The box of cells grows until the law is inside, and shrinks around it. A well beyond
// that is not found. Its error is an ErrUnresolved.
func Solve(s sde.Space, around []float32) (*Law, error) {
	if s.Dim() != 2 {
		return nil, fmt.Errorf("%w: it has %d coordinates", ErrUnresolved, s.Dim())
	}
	lifted := lift.Of(s)
	g := grid{n: fitting}
	for c, side := range lifted.Box {
		if len(around) > 0 {
			side = spanned(s.Domain.At(c), around, c)
		}
		g.axes[c] = within(s.Domain.At(c), side.Lo, side.Hi)
	}
	for resized := 0; ; resized++ {
		found, err := g.solve(lifted)
		if err != nil {
			return nil, err
		}
		axes, changed := g.resized(s.Domain, found.mass)
		if !changed {
			if found.slanted > few {
				g.axes = g.level(s.Domain, found.noise)
			}
			break
		}
		if resized == resizes {
			return nil, fmt.Errorf("%w: no box holds it", ErrUnresolved)
		}
		g.axes = axes
	}
	var coarse, before []float64 // masses of cells of twice the size, and what was extrapolated from them
	for g.n = coarsest; ; g.n *= 2 {
		fine, err := g.solve(lifted)
		if err != nil {
			return nil, err
		}
		if fine.slanted > few {
			return nil, fmt.Errorf("%w: its noise is too oblique for these cells", ErrUnresolved)
		}
		var better []float64
		if coarse != nil {
			better = g.extrapolated(coarse, fine)
		}
		if before != nil {
			change, last := g.change(before, better), (grid{g.axes, 2 * g.n}).work() > mostWork
			switch {
			case change <= enough || last && change <= tolerable:
				return &Law{Error: change + beyond, grid: g, domain: s.Domain, mass: better, below: g.cumulated(better)}, nil
			case last:
				return nil, fmt.Errorf("%w: its distribution function changes by %.2g from cells of twice the size", ErrUnresolved, change)
			}
		}
		coarse, before = fine.mass, better
	}
}

// solution is a law on cells.
type solution struct {
	mass []float64 // of the cells, [n, n]
	// slanted is the mass of the cells where the noise is too oblique for them, and upwind that of the
	// cells where there is none along a coordinate.
	slanted, upwind float64
	noise           [2]float64 // mean ½(SSᵀ)ₖₖ
}

// solve finds the masses of the cells.
func (g grid) solve(lifted sde.Space) (found solution, err error) {
	for c := range g.axes {
		if side := g.side(c); !(side > 0) || math.IsInf(side, 0) {
			return found, fmt.Errorf("%w: all states have one coordinate", ErrUnresolved)
		}
	}
	l, ok := g.evaluate(lifted)
	if !ok {
		return found, fmt.Errorf("%w: a drift or a diffusion is not finite around it", ErrUnresolved)
	}
	links, oblique := l.links()
	cells := g.n * g.n
	p, err := stationary(cells, links)
	if err != nil {
		return found, fmt.Errorf("%w: %w", ErrUnresolved, err)
	}
	for i := range g.n {
		for j := range g.n {
			cell := g.cell(i, j)
			found.mass = append(found.mass, p[cell])
			if oblique[cell] {
				found.slanted += p[cell]
			}
			d := l.d[l.at(i, j, 0, 0)]
			if !(d[0] > 0 && d[2] > 0) {
				found.upwind += p[cell]
			}
			found.noise[0] += p[cell] * d[0]
			found.noise[1] += p[cell] * d[2]
		}
	}
	return found, nil
}

// cumulated is the distribution function of masses, at the corners of the cells.
func (g grid) cumulated(mass []float64) []float64 {
	width := g.n + 1
	f := make([]float64, width*width)
	for i := range g.n {
		row := 0.
		for j := range g.n {
			row += mass[i*g.n+j]
			f[(i+1)*width+j+1] = f[i*width+j+1] + row
		}
	}
	return f
}
