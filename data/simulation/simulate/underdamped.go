package simulate

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

const (
	checkedStates = 256  // uniform in the box
	sameFormula   = 1e-9 // two numbers that differ by less, relative to their size, are equal but for rounding
)

// pairsOf finds the positions and velocities of an equation that has the form of BAOAB. Coordinates
// without noise are positions. It compares drifts at 256 states of the box, not formulas, so that it
// does not matter how these are written. The error is an ErrIntegrator.
func pairsOf(s sde.Space) ([]pair, error) {
	refuse := func(format string, args ...any) ([]pair, error) {
		return nil, fmt.Errorf("%w %v needs positions q and velocities v with dq = c·v dt, dv = (F(q) − γv)dt + σdW: %s", ErrIntegrator, BAOAB, fmt.Sprintf(format, args...))
	}
	d := s.Dim()
	if s.Noise != sde.AdditiveNoise || s.Terms != d {
		return refuse("the diffusion is not a diagonal of numbers that do not depend on the state")
	}
	states := s.Uniform(checkedStates, 0)
	drift, sigma := s.Coefficients(states)
	var positions, velocities []int
	for k := range d {
		if sigma[k] == 0 {
			positions = append(positions, k)
		} else {
			velocities = append(velocities, k)
		}
	}
	if len(positions) != len(velocities) {
		return refuse("%d of %d coordinates have noise, not half of them", len(velocities), d)
	}
	resting := slices.Clone(states) // the same positions without velocities
	for _, v := range velocities {
		for at := v; at < len(resting); at += d {
			resting[at] = 0
		}
	}
	force, _ := s.Coefficients(resting)
	friction := make(map[int]float64)
	for _, v := range velocities {
		gamma, ok := ratio(states, drift, force, d, v, v)
		if !ok {
			return refuse("the drift of x[%d] is not a force of the positions and a friction in proportion to x[%d]", v, v)
		}
		if !(gamma < 0) {
			return refuse("x[%d] has the friction %.4g, want a positive one", v, -gamma)
		}
		friction[v] = -gamma
	}
	none, pairs := make([]float64, len(drift)), make([]pair, 0, len(positions))
	for _, q := range positions {
		found := false
		for _, v := range velocities {
			rate, ok := ratio(states, drift, none, d, v, q)
			if taken := slices.ContainsFunc(pairs, func(p pair) bool { return p.v == v }); ok && rate != 0 && !taken {
				pairs = append(pairs, pair{q: q, v: v, rate: rate, friction: friction[v]})
				found = true
				break
			}
		}
		if !found {
			return refuse("x[%d] has no noise, and its drift is not in proportion to a velocity of its own", q)
		}
	}
	return pairs, nil
}

// ratio is r with drift k = rest k + r·x[v] at all states, if there is one.
func ratio(states, drift, rest []float64, d, v, k int) (r float64, ok bool) {
	largest := 0
	for i := range len(states) / d {
		if math.Abs(states[i*d+v]) > math.Abs(states[largest*d+v]) {
			largest = i
		}
	}
	r = (drift[largest*d+k] - rest[largest*d+k]) / states[largest*d+v]
	for i := range len(states) / d {
		total, part := drift[i*d+k], rest[i*d+k]
		moved := r * states[i*d+v]
		if !(math.Abs(total-part-moved) <= sameFormula*(math.Abs(total)+math.Abs(part)+math.Abs(moved))) {
			return 0, false
		}
	}
	return r, true
}
