package density

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrParts means that an interval falls into parts between which X does not pass, or of which
// nothing says whether it does.
var ErrParts = errors.New("the equation falls into parts")

// PartsError names the point between two parts of an interval.
type PartsError struct {
	At     float64
	Lo, Hi float64 // ends of the parts on its left and its right
	Why    string
}

func (e *PartsError) Error() string {
	return fmt.Sprintf("%v at x = %.6g: %s", ErrParts, e.At+0, e.Why)
}

// Is makes it an ErrParts.
func (e *PartsError) Is(target error) bool { return target == ErrParts }

const (
	perDecade   = 32  // points of the scan
	decades     = 9   // to either side of 1
	roughStates = 401 // quantiles of a law on the points of the scan
	mostMarks   = 256
	mostAnchors = 20
	mostApart   = 1e-3 // of two integrations
)

// Find integrates the law on the open interval (lo, hi), which may be the whole line, without
// knowing where its mass is. It scans the interval, integrates roughly, and begins NewLine
// where the mass is. It does so again from the law that it found. apart is by how much two such
// integrations differ: in the distribution function, in the mean relative to the deviation, in
// the variance relative to itself.
//
// It fails as NewLine does; with ErrParts where σ vanishes, or a coefficient has no value,
// inside the interval, and there are values on both sides; with ErrNoValue if there are none.
func Find(b, sigma Coefficient, lo, hi float64) (l *Line, apart float64, err error) {
	s, err := surveyOf(within(b, lo, hi), within(sigma, lo, hi), lo, hi)
	if err != nil {
		return nil, 0, err
	}
	states, marks := s.states(), s.marks()
	var before *Line
	for pass := range 3 {
		left, right := between(states, s.lo, s.hi)
		if before != nil {
			left, right = min(left, before.Quantile(0.01)), max(right, before.Quantile(0.99))
			left, right = between(append([]float64{left}, right), s.lo, s.hi)
		}
		if pass == 2 { // other panels than before
			left -= 0.37 * min(left-s.lo, right-left)
		}
		if l, err = newLine(s.b, s.sigma, left, right, marks); err != nil {
			return nil, 0, err
		}
		if pass > 0 {
			apart = l.apart(before)
		}
		before = l
		for k := range states {
			states[k] = l.Quantile((float64(k) + 0.5) / roughStates)
		}
	}
	if !(apart <= mostApart) {
		return nil, apart, fmt.Errorf("%w: two integrations differ by %.2g", ErrTooSteep, apart)
	}
	return l, apart, nil
}

// apart is by how much two laws differ.
func (l *Line) apart(other *Line) (most float64) {
	for k := 1; k < 100; k++ {
		u := float64(k) / 100
		most = max(most, math.Abs(other.CDF(l.Quantile(u))-u))
	}
	variance := l.Variance()
	for _, d := range []float64{(l.Mean() - other.Mean()) / math.Sqrt(variance), (variance - other.Variance()) / variance} {
		if !math.IsNaN(d) {
			most = max(most, math.Abs(d))
		}
	}
	return most
}

// within is a coefficient with no values outside an open interval.
func within(c Coefficient, lo, hi float64) Coefficient {
	return func(dst, x []float64) {
		c(dst, x)
		for k, v := range x {
			if !(v > lo && v < hi) {
				dst[k] = math.NaN()
			}
		}
	}
}

// survey has the values of coefficients at points all over an interval.
type survey struct {
	b, sigma Coefficient
	lo, hi   float64 // of the part with values
	x, drift []float64
	noise    []float64
}

// surveyOf looks for the part of the interval where there are values.
func surveyOf(b, sigma Coefficient, lo, hi float64) (*survey, error) {
	x := points(lo, hi)
	drift, noise := make([]float64, len(x)), make([]float64, len(x))
	b(drift, x)
	sigma(noise, x)
	cuts := zeros(sigma, x)
	type part struct{ first, last int }
	var parts []part
	good := func(i int) bool { return usable(drift[i], noise[i]) }
	for i := range x {
		if !good(i) {
			continue
		}
		isCut := func(z float64) bool { return i > 0 && z > x[i-1] && z < x[i] }
		if n := len(parts); n > 0 && parts[n-1].last == i-1 && !slices.ContainsFunc(cuts, isCut) {
			parts[n-1].last = i
		} else {
			parts = append(parts, part{i, i})
		}
	}
	// A lone point is beside a zero that has been found to some digits only.
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.last-p.first < 2 })
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w in the domain, or the diffusion is zero", ErrNoValue)
	}
	if len(parts) > 1 {
		from, to := x[parts[0].last], x[parts[1].first]
		e := &PartsError{At: from + (to-from)/2, Lo: lo, Hi: hi, Why: "a coefficient has no value there"}
		for _, z := range cuts {
			if z >= from && z <= to {
				e.At, e.Why = z, "the diffusion vanishes there"
			}
		}
		for i := parts[0].last + 1; i < parts[1].first; i++ {
			if !good(i) {
				e.At = x[i]
			}
		}
		return nil, e
	}
	first, last := parts[0].first, parts[0].last
	s := &survey{b: b, sigma: sigma, lo: lo, hi: hi, x: x[first : last+1], drift: drift[first : last+1], noise: noise[first : last+1]}
	has := func(v float64) bool {
		d, n := []float64{0}, []float64{0}
		b(d, []float64{v})
		sigma(n, []float64{v})
		return usable(d[0], n[0])
	}
	// Beyond the points with values the line ends, unless values are only too large there.
	large := func(i int) bool {
		return math.IsInf(drift[i], 0) || math.IsInf(noise[i], 0) || math.Abs(drift[i]/noise[i]/noise[i]) >= maxRate/2
	}
	if first > 0 && !(large(first-1) && large(0)) {
		_, s.lo = bisect(has, x[first], x[first-1])
	}
	if last+1 < len(x) && !(large(last+1) && large(len(x)-1)) {
		_, s.hi = bisect(has, x[last], x[last+1])
	}
	return s, nil
}

// usable says whether the quadrature can take values of b and σ.
func usable(b, sigma float64) bool {
	return sigma != 0 && !math.IsInf(sigma, 0) && math.Abs(2*(b/sigma)/sigma) < maxRate
}

// points are points inside an open interval, in increasing order: at equal ratios of the
// distance from its finite ends, or from 0.
func points(lo, hi float64) []float64 {
	var x []float64
	for k := -decades * perDecade; k <= decades*perDecade; k++ {
		d := math.Pow(10, float64(k)/perDecade)
		switch {
		case math.IsInf(lo, 0) && math.IsInf(hi, 0):
			x = append(x, -d, d)
		case math.IsInf(hi, 0):
			x = append(x, lo+d)
		case math.IsInf(lo, 0):
			x = append(x, hi-d)
		case k <= 0:
			x = append(x, lo+(hi-lo)/2*d, hi-(hi-lo)/2*d)
		}
	}
	if math.IsInf(lo, 0) && math.IsInf(hi, 0) {
		x = append(x, 0)
	}
	slices.Sort(x)
	x = slices.Compact(x)
	return slices.DeleteFunc(x, func(v float64) bool { return !(v > lo && v < hi) })
}

// states are quantiles of a law on the points, by the trapezoidal rule.
func (s *survey) states() []float64 {
	logMass, top := s.logMasses()
	cdf, total := make([]float64, len(s.x)), 0.
	for i, l := range logMass {
		if m := math.Exp(l - top); m > 0 {
			total += m
		}
		cdf[i] = total
	}
	states := make([]float64, roughStates)
	for k := range states {
		i, _ := slices.BinarySearch(cdf, (float64(k)+0.5)/roughStates*total)
		states[k] = s.x[min(i, len(s.x)-1)]
	}
	return states
}

// logMasses are the logarithms of the masses around the points, and the largest of them. φ is
// summed outwards from the point with the largest, again and again until this stays the same: far
// from it φ is so low that nothing is left of smaller terms.
func (s *survey) logMasses() (logMass []float64, top float64) {
	n := len(s.x)
	step := func(i int) float64 { // φ from point i to the next
		at := func(i int) float64 { return 2 * (s.drift[i] / s.noise[i]) / s.noise[i] }
		return (s.x[i+1] - s.x[i]) / 2 * (at(i) + at(i+1))
	}
	phi, logMass := make([]float64, n), make([]float64, n)
	begin := n / 2
	for range mostAnchors {
		phi[begin] = 0
		for i := begin; i+1 < n; i++ {
			phi[i+1] = phi[i] + step(i)
		}
		for i := begin; i > 0; i-- {
			phi[i-1] = phi[i] - step(i-1)
		}
		best := begin
		for i := range n {
			width := s.x[min(i+1, n-1)] - s.x[max(i-1, 0)]
			logMass[i] = phi[i] - 2*math.Log(math.Abs(s.noise[i])) + math.Log(width/2)
			if logMass[i] > logMass[best] {
				best = i
			}
		}
		if top = logMass[best]; top <= logMass[begin]+1 {
			break
		}
		begin = best
	}
	return logMass, top
}

// marks are points around the stable zeros of b, at distances that double: there a law with
// little noise is.
func (s *survey) marks() (edges []float64) {
	at := func(v float64) (b, sigma float64) {
		d, n := []float64{0}, []float64{0}
		s.b(d, []float64{v})
		s.sigma(n, []float64{v})
		return d[0], n[0]
	}
	found := 0
	for i := range len(s.x) - 1 {
		if !(s.drift[i] > 0 && s.drift[i+1] <= 0) || found == mostMarks {
			continue
		}
		found++
		z, _ := bisect(func(v float64) bool { b, _ := at(v); return b > 0 }, s.x[i], s.x[i+1])
		h := 1e-4 * (s.x[i+1] - s.x[i])
		below, _ := at(z - h)
		above, sigma := at(z + h)
		slope := (below - above) / (2 * h)
		deviation := math.Abs(sigma) / math.Sqrt(2*slope)
		if !(deviation > 0) || math.IsInf(deviation, 0) {
			continue
		}
		edges = append(edges, z)
		for d := deviation / 2; d < 4*(s.x[i+1]-s.x[i])+8*deviation; d *= 2 {
			edges = append(edges, z-d, z+d)
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}
