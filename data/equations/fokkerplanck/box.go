package fokkerplanck

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// spanned is from the least coordinate of the states to the largest, and a fifth wider at each end.
func spanned(r sde.Range, states []float32, coordinate int) sde.Interval {
	const margin = 0.2
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := coordinate; i < len(states); i += 2 {
		z := lift.Up(r, float64(states[i]))
		lo, hi = min(lo, z), max(hi, z)
	}
	wider := margin * (hi - lo)
	return sde.Interval{Lo: lo - wider, Hi: hi + wider}
}

// within is an axis between two coordinates, as far as a range has these.
func within(r sde.Range, lo, hi float64) axis {
	switch r.Ends {
	case sde.Joined:
		return axis{r.Lo, r.Hi, true}
	case sde.Reflecting:
		return axis{max(lo, r.Lo), min(hi, r.Hi), false}
	}
	return axis{lo, hi, false}
}

// resized moves the sides of the box that the law goes beyond, or is far from.
func (g grid) resized(domain sde.Domain, mass []float64) (axes [2]axis, changed bool) {
	axes = g.axes
	for c := range axes {
		if axes[c].circle {
			continue
		}
		along := make([]float64, g.n)
		for at, m := range mass {
			along[[]int{at / g.n, at % g.n}[c]] += m
		}
		lo, hi := axes[c].lo, axes[c].hi
		below := shift(along)
		slices.Reverse(along)
		above := shift(along)
		if max(below, above) > 0 { // where the law goes beyond one side, it may do more so later
			below, above = max(below, 0), max(above, 0)
		}
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

// level are axes that are longer along one coordinate, so that the sides of the cells are as the noise along
// them is: where it is everywhere the same, it is too oblique for no such cells.
func (g grid) level(domain sde.Domain, noise [2]float64) [2]axis {
	axes, longer := g.axes, math.Sqrt(noise[0]/noise[1])*g.side(1)/g.side(0)
	c := 0
	if longer < 1 {
		c, longer = 1, 1/longer
	}
	wider := (longer - 1) / 2 * (axes[c].hi - axes[c].lo)
	if !math.IsInf(wider, 0) && !math.IsNaN(wider) {
		axes[c] = within(domain.At(c), axes[c].lo-wider, axes[c].hi+wider)
	}
	return axes
}
