// Package fokkerplanck finds the invariant law of an equation in the plane as the stationary density of
// its Fokker–Planck equation, on a grid of cells. It needs neither a potential nor chains that mix: masses
// of wells are right whatever the barriers between them are.
//
// The error of the cells is measured: the law is solved for with cells of half the size until its
// distribution function no longer changes.
package fokkerplanck

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Law is an invariant law in coordinates without ends, those of package lift.
type Law struct {
	Axes [2]Axis
	// Below is the distribution function P(X₀ ≤ a, X₁ ≤ b) at the corners of the cells, [n+1, n+1].
	Below []float64
	// Error is how much the distribution function changes at most, at any corner and for any of the
	// four quadrants there, if the cells have half the size: an upper bound of its error where the
	// error falls with the first power of the size, or faster.
	Error float64

	domain sde.Domain
	n      int
}

// ErrUnresolved means that a law cannot be found on cells that are fine enough in time.
var ErrUnresolved = errors.New("the law cannot be resolved")

const (
	// coarsest and finest are the numbers of cells along an axis. The finest take 0.3 s on one core.
	coarsest, finest = 32, 128
	// mostWork bounds the multiplications of a solution.
	mostWork = 3e8
	// enough is an error at which cells are fine enough, and tolerable one with the finest.
	enough, tolerable = 0.01, 0.02
	// resizes is how often the box may change. A side where more than spilled of the law is at the end
	// moves out, one that has less than empty in the cells there moves in.
	resizes, spilled, empty = 12, 1e-4, 1e-5
)

// Solve finds the law of an equation in the plane around some states [n, 2]: in a box of them, which
// grows until the law is inside. A well beyond that is not found. Its error is an ErrUnresolved.
func Solve(s sde.Space, around []float32) (*Law, error) {
	if s.Dim() != 2 || len(around) == 0 {
		return nil, fmt.Errorf("%w: %d coordinates of %d numbers", ErrUnresolved, s.Dim(), len(around))
	}
	lifted := lift.Of(s)
	g := grid{boxOf(s.Domain, around), coarsest}
	mass, slanted, err := g.solve(lifted)
	for range resizes {
		if err != nil {
			return nil, err
		}
		axes, changed := g.resized(s.Domain, mass)
		if !changed {
			break
		}
		g.axes = axes
		mass, slanted, err = g.solve(lifted)
	}
	if err != nil {
		return nil, err
	}
	if _, changed := g.resized(s.Domain, mass); changed {
		return nil, fmt.Errorf("%w: no box holds it", ErrUnresolved)
	}
	if slanted > tolerable {
		g.axes = g.level(s.Domain, lifted)
	}
	law := &Law{Error: 1, domain: s.Domain}
	for ; law.Error > enough && g.n <= finest; g.n *= 2 {
		if mass, slanted, err = g.solve(lifted); err != nil {
			return nil, err
		}
		if slanted > tolerable {
			return nil, fmt.Errorf("%w: its noise is too oblique for these cells", ErrUnresolved)
		}
		finer := &Law{Axes: g.axes, Below: g.below(mass), Error: 1, domain: s.Domain, n: g.n}
		if law.n > 0 {
			finer.Error = law.apart(finer)
		}
		law = finer
	}
	if law.Error > tolerable {
		return nil, fmt.Errorf("%w: its distribution function changes by %.2g from cells of twice the size", ErrUnresolved, law.Error)
	}
	return law, nil
}

// boxOf is a box of the states, a fifth wider at each side, within the ends of the domain.
func boxOf(domain sde.Domain, states []float32) (axes [2]Axis) {
	const margin = 0.2
	for c := range axes {
		r := domain.At(c)
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := c; i < len(states); i += 2 {
			z := lift.Up(r, float64(states[i]))
			lo, hi = min(lo, z), max(hi, z)
		}
		wider := margin * (hi - lo)
		axes[c] = within(r, lo-wider, hi+wider)
	}
	return axes
}

// within is an axis between two coordinates, as far as a range has these.
func within(r sde.Range, lo, hi float64) Axis {
	switch r.Ends {
	case sde.Joined:
		return Axis{r.Lo, r.Hi, true}
	case sde.Reflecting:
		return Axis{max(lo, r.Lo), min(hi, r.Hi), false}
	}
	return Axis{lo, hi, false}
}

// solve finds the masses of the cells, [n, n], and that of cells where the noise is too oblique for them.
func (g grid) solve(lifted sde.Space) (mass []float64, slanted float64, err error) {
	for c := range g.axes {
		if side := g.side(c); !(side > 0) || math.IsInf(side, 0) {
			return nil, 0, fmt.Errorf("%w: all states have one coordinate", ErrUnresolved)
		}
	}
	l, ok := g.evaluate(lifted)
	if !ok {
		return nil, 0, fmt.Errorf("%w: a drift or a diffusion is not finite around it", ErrUnresolved)
	}
	links, oblique := l.links()
	cells := g.n * g.n
	if w := float64(width(links)); float64(cells)*w*w > mostWork {
		return nil, 0, fmt.Errorf("%w in time: its cells have too many neighbours", ErrUnresolved)
	}
	p, err := stationary(cells, links)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrUnresolved, err)
	}
	mass = make([]float64, 0, cells)
	for i := range g.n {
		for j := range g.n {
			cell := g.cell(i, j)
			mass = append(mass, p[cell])
			if oblique[cell] {
				slanted += p[cell]
			}
		}
	}
	return mass, slanted, nil
}

// level are axes that are longer along one coordinate, so that the sides of the cells are as the noise along
// them is: where it is everywhere the same, it is too oblique for no such cells.
func (g grid) level(domain sde.Domain, lifted sde.Space) [2]Axis {
	l, _ := g.evaluate(lifted)
	var noise [2]float64
	for _, d := range l.d {
		noise[0] += d[0]
		noise[1] += d[2]
	}
	axes, longer := g.axes, math.Sqrt(noise[0]/noise[1])*g.side(1)/g.side(0)
	c := 0
	if longer < 1 {
		c, longer = 1, 1/longer
	}
	wider := (longer - 1) / 2 * (axes[c].Hi - axes[c].Lo)
	if !math.IsInf(wider, 0) && !math.IsNaN(wider) {
		axes[c] = within(domain.At(c), axes[c].Lo-wider, axes[c].Hi+wider)
	}
	return axes
}

// resized moves the sides of the box that the law goes beyond, or is far from.
func (g grid) resized(domain sde.Domain, mass []float64) (axes [2]Axis, changed bool) {
	axes = g.axes
	for c := range axes {
		if axes[c].circle {
			continue
		}
		along := make([]float64, g.n)
		for at, m := range mass {
			along[[]int{at / g.n, at % g.n}[c]] += m
		}
		lo, hi := axes[c].Lo, axes[c].Hi
		below := shift(along)
		above := shift(reversed(along))
		moved := within(domain.At(c), lo-below*(hi-lo), hi+above*(hi-lo))
		if moved != axes[c] {
			axes[c], changed = moved, true
		}
	}
	return axes, changed
}

// shift is by which part of the box its lower side should move out: of masses along it.
func shift(along []float64) float64 {
	const (
		out = 0.5
		// Sides move in only where more than an eighth is empty, so that moving ends.
		worthwhile, margin = 0.125, 0.05
	)
	if along[0] > spilled {
		return out
	}
	sum, cells := 0., 0
	for _, m := range along {
		if sum += m; sum > empty {
			break
		}
		cells++
	}
	if part := float64(cells) / float64(len(along)); part > worthwhile {
		return margin - part
	}
	return 0
}

func reversed(v []float64) []float64 {
	r := make([]float64, len(v))
	for i, x := range v {
		r[len(v)-1-i] = x
	}
	return r
}

// below is the distribution function of masses, at the corners of the cells.
func (g grid) below(mass []float64) []float64 {
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

// apart is the largest difference of the masses of quadrants between a law and the same on cells of half
// the size.
func (l *Law) apart(finer *Law) float64 {
	coarse, fine := l.n+1, finer.n+1
	below := make([]float64, 0, len(l.Below))
	for i := range coarse {
		for j := range coarse {
			below = append(below, finer.Below[2*i*fine+2*j])
		}
	}
	_, most := quadrants{l.Below, coarse}.apart(quadrants{below, coarse}, false)
	return most
}
