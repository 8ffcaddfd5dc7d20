package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// The knots of a law are this many quantiles of the noise, evenly from −reach to reach.
const (
	knots = 2049
	reach = 6.
)

// ErrNoLaw means that the flow of an equation leaves the table.
var ErrNoLaw = errors.New("the model's flow of this equation gives no density")

// Law is the law of a model's samples of one equation. The flow map Φ from the noise to the
// samples is increasing, since solutions of dx/dt = v(x, t) do not cross. So with p and F the
// density and the distribution function of N(0,1), the law has
//
//	distribution function F(z), density p(z)/Φ′(z), u-quantile Φ(F⁻¹(u)),  z = Φ⁻¹(x).
//
// A solver with few steps may fold the line where the flow is steep. Then Φ is made of runs, on
// each of which it rises or falls; densities and probabilities are sums over the runs. Between
// the knots of a run Φ⁻¹ is the monotone cubic through the knots with their slopes 1/Φ′ (Fritsch
// and Carlson, SIAM J. Numer. Anal. 17, 1980), and beyond the outermost knots a line.
type Law struct {
	runs   []run
	lo, hi float64 // of all knots
}

// run is a part of the noise on which the flow map is monotone.
type run struct {
	z, x   []float64 // knots, x increasing
	slope  []float64 // dz/dx at the knots, of one sign
	lower  bool      // it goes on below the first knot
	higher bool      // and beyond the last
}

// knot is a point of the flow map with its derivative Φ′.
type knot struct{ z, x, derivative float64 }

// Law computes the law of one function's samples, by a solver that has a table.
func (s *Sampler) Law(ctx context.Context, function flow.Subject, solver ode.Solver) (*Law, error) {
	t, err := s.table(ctx, solver)
	if err != nil {
		return nil, err
	}
	code, err := s.encode(ctx, []flow.Subject{function})
	if err != nil {
		return nil, err
	}
	fields := make([]field, len(t.layers))
	err = simulate.Each(ctx, len(fields), func(_ context.Context, i int) error {
		fields[i] = make(field, cells*terms)
		t.layers[i].Apply(fields[i], code, kernels.Linear)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	at := func(z float64) knot {
		x, derivative := t.scheme.map1(z, fields)
		if len(s.frame) > 0 {
			x, derivative = s.frame[0].Mean+s.frame[0].Std*x, derivative*s.frame[0].Std
		}
		return knot{z, x, derivative}
	}
	var all []knot
	for i := range knots {
		k := at(reach * (2*float64(i)/(knots-1) - 1))
		if math.IsNaN(k.x) || math.IsNaN(k.derivative) {
			if math.Abs(k.z) < 4 {
				return nil, fmt.Errorf("%w: it leaves the table", ErrNoLaw)
			}
			continue // a tail beyond the table
		}
		if n := len(all); n > 0 && all[n-1].derivative*k.derivative < 0 {
			all = append(all, fold(all[n-1], k, at)...)
		}
		all = append(all, k)
	}
	l := newLaw(all)
	if len(l.runs) == 0 {
		return nil, fmt.Errorf("%w: it is constant", ErrNoLaw)
	}
	return l, nil
}

// fold finds knots close to where the derivative changes its sign, on both sides.
func fold(a, b knot, at func(z float64) knot) []knot {
	for range 14 {
		if middle := at((a.z + b.z) / 2); middle.derivative*a.derivative > 0 {
			a = middle
		} else {
			b = middle
		}
	}
	return []knot{a, b}
}

// newLaw cuts knots, in the order of z, into runs.
func newLaw(all []knot) *Law {
	l := &Law{lo: math.Inf(1), hi: math.Inf(-1)}
	for first := 0; first < len(all); {
		last := first
		rising := all[first].derivative > 0
		follows := func(a, b knot) bool {
			return b.derivative != 0 && (b.derivative > 0) == rising && b.x != a.x && (b.x > a.x) == rising
		}
		for last+1 < len(all) && all[first].derivative != 0 && follows(all[last], all[last+1]) {
			last++
		}
		if last > first {
			r := run{lower: first == 0 && rising, higher: last == len(all)-1 && rising}
			for _, k := range all[first : last+1] {
				r.z, r.x, r.slope = append(r.z, k.z), append(r.x, k.x), append(r.slope, 1/k.derivative)
			}
			if !rising {
				slices.Reverse(r.z)
				slices.Reverse(r.x)
				slices.Reverse(r.slope)
			}
			r.limit()
			l.runs = append(l.runs, r)
			l.lo, l.hi = min(l.lo, r.x[0]), max(l.hi, r.x[len(r.x)-1])
		}
		first = last + 1
	}
	return l
}

// map1 carries one state and its derivative by the noise through all steps. The derivative is
// that of the solver's map itself, d(x_{k+1})/d(x_k).
func (s scheme) map1(x float64, fields []field) (_, derivative float64) {
	h := 1 / float64(s.steps)
	derivative = 1
	for k := range s.steps {
		at := s.evaluations(k)
		k1, d1 := fields[at[0]].slope(float32(x))
		if !s.rk4 {
			x, derivative = x+h*k1, derivative*(1+h*d1)
			continue
		}
		middle, end := fields[at[1]], fields[at[2]]
		k2, d2 := middle.slope(float32(x + h/2*k1))
		d2 *= 1 + h/2*d1
		k3, d3 := middle.slope(float32(x + h/2*k2))
		d3 *= 1 + h/2*d2
		k4, d4 := end.slope(float32(x + h*k3))
		d4 *= 1 + h*d3
		x += h / 6 * (k1 + 2*(k2+k3) + k4)
		derivative *= 1 + h/6*(d1+2*(d2+d3)+d4)
	}
	return x, derivative
}

// limit makes the cubics between the knots monotone: no slope is more than three times the mean
// slope of an interval beside it.
func (r *run) limit() {
	for i := range len(r.x) - 1 {
		mean := (r.z[i+1] - r.z[i]) / (r.x[i+1] - r.x[i])
		for _, k := range []int{i, i + 1} {
			if math.Abs(r.slope[k]) > 3*math.Abs(mean) {
				r.slope[k] = 3 * mean
			}
		}
	}
}

// inverse is z = Φ⁻¹(x) and dz/dx on the run; not ok outside it.
func (r *run) inverse(x float64) (z, slope float64, ok bool) {
	last := len(r.x) - 1
	switch {
	case !(x > r.x[0]):
		return r.z[0] + (x-r.x[0])*r.slope[0], r.slope[0], r.lower || x == r.x[0]
	case x >= r.x[last]:
		return r.z[last] + (x-r.x[last])*r.slope[last], r.slope[last], r.higher || x == r.x[last]
	}
	i := sort.SearchFloat64s(r.x, x) - 1
	h := r.x[i+1] - r.x[i]
	u := (x - r.x[i]) / h
	a, b := h*r.slope[i], h*r.slope[i+1]
	rise := r.z[i+1] - r.z[i]
	// The cubic with values z_i, z_{i+1} and slopes a, b in u: z_i + a·u + c·u² + d·u³.
	c, d := 3*rise-2*a-b, a+b-2*rise
	return r.z[i] + u*(a+u*(c+u*d)), (a + u*(2*c+3*u*d)) / h, true
}

// below is the probability of the noise that the run carries to x or below.
func (r *run) below(x float64) float64 {
	last := len(r.x) - 1
	if x < r.x[0] && !r.lower {
		return 0
	}
	z := r.z[last]
	if x < r.x[last] || r.higher {
		z, _, _ = r.inverse(x)
	}
	from := r.z[0]
	if r.lower {
		from = math.Inf(-1)
	}
	return math.Abs(normalCDF(z) - normalCDF(from))
}

// normalCDF is the distribution function of N(0,1).
func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// PDF is the density at x.
func (l *Law) PDF(x float64) (density float64) {
	for i := range l.runs {
		if z, slope, ok := l.runs[i].inverse(x); ok {
			density += math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * math.Abs(slope)
		}
	}
	return density
}

// CDF is the distribution function at x.
func (l *Law) CDF(x float64) float64 {
	if len(l.runs) == 1 {
		z, _, _ := l.runs[0].inverse(x)
		return normalCDF(z) // also where 1 − CDF is small
	}
	sum := 0.
	for i := range l.runs {
		sum += l.runs[i].below(x)
	}
	return min(sum, 1)
}

// Quantile is the x with CDF(x) = u, for u in (0, 1).
func (l *Law) Quantile(u float64) float64 {
	lo, hi := l.lo, l.hi
	for width := hi - lo; l.CDF(lo) > u; width *= 2 {
		lo -= width
	}
	for width := hi - lo; l.CDF(hi) < u && !math.IsInf(hi, 0); width *= 2 {
		if l.CDF(hi+width) == l.CDF(hi) {
			break // the upper tail is beyond the table
		}
		hi += width
	}
	for range 200 {
		middle := lo + (hi-lo)/2
		if middle == lo || middle == hi {
			break
		}
		if l.CDF(middle) < u {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo + (hi-lo)/2
}

// Support is an interval with all but 1e-7 of the law.
func (l *Law) Support() (lo, hi float64) { return l.Quantile(5e-8), l.Quantile(1 - 5e-8) }
