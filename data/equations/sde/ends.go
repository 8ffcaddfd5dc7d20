package sde

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEnds means coefficients that do not suit the ends of a domain.
var ErrEnds = errors.New("the coefficients do not suit the domain")

const (
	// closed is how far coefficients may differ, relative to the largest of their kind, at the two
	// ends of a circle, which are one point: formulas round.
	closed = 1e-6
	// checkedEnds bounds the states that are moved to each end.
	checkedEnds = 64
)

// checkEnds moves coordinates of states [n, dim] to their ends. It refuses a drift or an S·Sᵀ that
// is not the same at both ends of a circle, and a reflecting end without noise into which the drift
// leads: a state would stay there. Underdamped motion is of that kind, whose velocity should turn
// round instead. It refuses reflection with a matrix as diffusion, too: whether a state is sent back
// along the coordinate or along S·Sᵀ then makes different laws.
func (s Space) checkEnds(states []float64) error {
	d := s.Dim()
	if s.Domain.Has(Reflecting) && d > 1 && s.Terms == d*d {
		return fmt.Errorf("%w: reflect with a matrix as diffusion is not supported: give σ·I or a diagonal", ErrEnds)
	}
	states = states[:min(len(states), checkedEnds*d)]
	for k, r := range s.Domain {
		var err error
		switch r.Ends {
		case Joined:
			err = s.checkJoined(states, k, r)
		case Reflecting:
			err = errors.Join(s.checkReflecting(states, k, r, r.Lo, -1), s.checkReflecting(states, k, r, r.Hi, 1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moved are the states with coordinate k at x.
func moved(states []float64, d, k int, x float64) []float64 {
	states = slices.Clone(states)
	for at := k; at < len(states); at += d {
		states[at] = x
	}
	return states
}

func (s Space) checkJoined(states []float64, k int, r Range) error {
	d := s.Dim()
	lo, hi := moved(states, d, k, r.Lo), moved(states, d, k, r.Hi)
	drift, terms := s.Coefficients(lo)
	otherDrift, otherTerms := s.Coefficients(hi)
	var spread, otherSpread []float64 // only S·Sᵀ matters
	for at := 0; at < len(terms); at += s.Terms {
		spread = append(spread, Spread(terms[at:at+s.Terms], d)...)
		otherSpread = append(otherSpread, Spread(otherTerms[at:at+s.Terms], d)...)
	}
	for _, part := range []struct {
		name        string
		first, last []float64
	}{{"drift", drift, otherDrift}, {"noise S·Sᵀ", spread, otherSpread}} {
		largest, width := 0., len(part.first)/(len(states)/d)
		for i := range part.first {
			largest = max(largest, math.Abs(part.first[i]), math.Abs(part.last[i]))
		}
		for i, v := range part.first {
			if w := part.last[i]; !(math.Abs(v-w) <= closed*largest) {
				at := i / width
				return fmt.Errorf("%w: component %d of the %s is %.6g at x = %.4g and %.6g at x = %.4g, which are one point of %v",
					ErrEnds, i%width, part.name, v, lo[at*d:][:d], w, hi[at*d:][:d], r)
			}
		}
	}
	return nil
}

// checkReflecting is of one end; outward is the sign of a drift that leads out of it.
func (s Space) checkReflecting(states []float64, k int, r Range, at, outward float64) error {
	if math.IsInf(at, 0) {
		return nil
	}
	d := s.Dim()
	states = moved(states, d, k, at)
	drift, terms := s.Coefficients(states)
	for i := 0; i < len(drift); i += d {
		x, b, sigma := states[i:][:d], drift[i+k], terms[i/d*s.Terms:][min(k, s.Terms-1)]
		for j, v := range slices.Concat(drift[i:i+d], terms[i/d*s.Terms:][:s.Terms]) {
			if !(math.Abs(v) <= math.MaxFloat32) {
				part, component := "drift", j
				if j >= d {
					part, component = "diffusion", j-d
				}
				return fmt.Errorf("%w: component %d of the %s is %v at x = %.4g, an end of %v", ErrEnds, component, part, v, x, r)
			}
		}
		if sigma == 0 && b*outward > 0 {
			return fmt.Errorf("%w: at x = %.4g the drift leads out of %v and coordinate %d has no noise: a state would stay at the end", ErrEnds, x, r, k)
		}
	}
	return nil
}
