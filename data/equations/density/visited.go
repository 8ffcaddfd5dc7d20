package density

import (
	"math"
	"slices"
)

// Visited integrates the laws on the parts of the line, between zeros of σ, in which the given
// states are, at least one in a hundred of them. Where σ vanishes the line ends, since chains
// need not pass. It fails as NewLine does if one of the parts has no invariant law
// (ErrNotNormalisable) or cannot be integrated; with ErrNoValue if no state has a σ.
func Visited(b, sigma Coefficient, states []float64) ([]*Line, error) {
	x := slices.Sorted(slices.Values(states))
	if len(x) == 0 {
		return nil, ErrNoValue
	}
	ends := append(append([]float64{math.Inf(-1)}, zeros(sigma, x)...), math.Inf(1))
	var lines []*Line
	for i := range len(ends) - 1 {
		lo, hi := ends[i], ends[i+1]
		from, _ := slices.BinarySearchFunc(x, lo, above)
		to, _ := slices.BinarySearch(x, hi)
		if to <= from || 100*(to-from) < len(x) {
			continue
		}
		part := x[from:to]
		left, right := between(part, lo, hi)
		line, err := NewLine(within(b, lo, hi), within(sigma, lo, hi), left, right)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return nil, ErrNoValue
	}
	return lines, nil
}

// above orders states for the first one beyond an end.
func above(x, end float64) int {
	if x > end {
		return 1
	}
	return -1
}

// between is an interval among sorted states, from which NewLine finds the ends of the line: with
// most of the states, but not next to an end, where they may be by many orders of magnitude
// closer, and not short beside the line.
func between(states []float64, lo, hi float64) (left, right float64) {
	left, right = states[len(states)/20], states[len(states)-1-len(states)/20]
	middle := states[len(states)/2]
	if d := middle - lo; !math.IsInf(lo, 0) {
		left, right = max(left, lo+d/2), min(right, lo+8*d)
	}
	if d := hi - middle; !math.IsInf(hi, 0) {
		left, right = max(left, hi-8*d), min(right, hi-d/2)
	}
	if least := 2 * (hi - lo) / nearest; !math.IsInf(least, 0) && right-left < least {
		left, right = max(left-least, (lo+left)/2), min(right+least, (right+hi)/2)
	}
	if least := 1e-6 * max(math.Abs(left), math.Abs(right)); right-left <= least {
		if least == 0 {
			least = 1
		}
		left, right = left-min(least, (left-lo)/2), right+min(least, (hi-right)/2)
	}
	return left, right
}

const (
	scanned  = 2048 // points at which a zero of σ is looked for, between the states
	beyond   = 1024 // and to either side
	zooms    = 120
	vanishes = 1e-6 // part of the values beside a minimum of |σ| below which it is zero
)

// zeros are the zeros of σ around sorted states, as far as NewLine looks for the end of a line,
// in increasing order: where it changes its sign, and where it touches zero as |x| does. It
// looks at even distances and at the states, and outside at growing distances.
func zeros(sigma Coefficient, sorted []float64) []float64 {
	first, last := sorted[0], sorted[len(sorted)-1]
	var x []float64
	for i := range scanned {
		x = append(x, first+(last-first)*float64(i)/(scanned-1), sorted[i*(len(sorted)-1)/(scanned-1)])
	}
	length := last - first
	for k := range beyond {
		distance := length * (math.Pow(1+nearest, float64(k+1)/beyond) - 1)
		x = append(x, first-distance, last+distance)
	}
	slices.Sort(x)
	x = slices.Compact(x)
	s := make([]float64, len(x))
	sigma(s, x)
	at := func(x float64) float64 {
		v := []float64{0}
		sigma(v, []float64{x})
		return v[0]
	}
	var found []float64
	for i, v := range s {
		switch {
		case v == 0:
			found = append(found, x[i])
		case i > 0 && s[i-1] != 0 && (v < 0) != (s[i-1] < 0):
			negative := s[i-1] < 0
			_, z := bisect(func(x float64) bool { return (at(x) < 0) == negative }, x[i-1], x[i])
			found = append(found, z)
		case i > 0 && i < len(s)-1 && math.Abs(v) <= math.Abs(s[i-1]) && math.Abs(v) < math.Abs(s[i+1]):
			if z, least := lowest(at, x[i-1], x[i+1]); least <= vanishes*min(math.Abs(s[i-1]), math.Abs(s[i+1])) {
				found = append(found, z)
			}
		}
	}
	slices.Sort(found)
	return slices.CompactFunc(found, func(a, b float64) bool { return math.Abs(b-a) <= 1e-9*length })
}

// bisect narrows the interval from a, where a condition holds, to b, where it does not.
func bisect(holds func(x float64) bool, a, b float64) (last, first float64) {
	for range 200 {
		middle := a + (b-a)/2
		if middle <= a || middle >= b {
			break
		}
		if holds(middle) {
			a = middle
		} else {
			b = middle
		}
	}
	return a, b
}

// lowest finds the minimum of |f| between a and b, where it has one.
func lowest(f func(x float64) float64, a, b float64) (at, least float64) {
	for range zooms {
		p, q := a+(b-a)/3, b-(b-a)/3
		if math.Abs(f(p)) < math.Abs(f(q)) {
			b = q
		} else {
			a = p
		}
	}
	at = a + (b-a)/2
	return at, math.Abs(f(at))
}
