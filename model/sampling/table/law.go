package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// The knots of a law are this many quantiles of the noise, evenly from −reach to reach.
const (
	knots = 2049
	reach = 6.
)

// ErrNoLaw means that the flow of an equation is not an increasing map within the table.
var ErrNoLaw = errors.New("the model's flow of this equation gives no density")

// Law is the law of a model's samples of one equation. The flow map Φ from the noise to the
// samples is increasing, since solutions of dx/dt = v(x, t) do not cross. So with p and F the
// density and the distribution function of N(0,1), the law has
//
//	distribution function F(z), density p(z)/Φ′(z), u-quantile Φ(F⁻¹(u)),  z = Φ⁻¹(x).
//
// Between the knots Φ⁻¹ is the monotone cubic through the knots with their slopes 1/Φ′ (Fritsch
// and Carlson, SIAM J. Numer. Anal. 17, 1980), and beyond the last knot a line.
type Law struct {
	z, x  []float64 // knots
	slope []float64 // dz/dx at the knots
}

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
	for i, layer := range t.layers {
		fields[i] = make(field, cells*terms)
		layer.Apply(fields[i], code, false)
	}
	l := &Law{}
	for i := range knots {
		z := reach * (2*float64(i)/(knots-1) - 1)
		x, derivative := t.scheme.map1(z, fields)
		if math.IsNaN(x) || math.IsNaN(derivative) {
			if math.Abs(z) < 4 {
				return nil, fmt.Errorf("%w: it leaves the table", ErrNoLaw)
			}
			continue // a tail beyond the table
		}
		if !(derivative > 0) || len(l.x) > 0 && !(x > l.x[len(l.x)-1]) {
			return nil, fmt.Errorf("%w: the solver's map decreases at z = %.3g", ErrNoLaw, z)
		}
		l.z, l.x, l.slope = append(l.z, z), append(l.x, x), append(l.slope, 1/derivative)
	}
	l.limit()
	for i := range l.x {
		if len(s.frame) > 0 {
			l.x[i] = s.frame[0].Mean + s.frame[0].Std*l.x[i]
			l.slope[i] /= s.frame[0].Std
		}
	}
	return l, nil
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
func (l *Law) limit() {
	for i := range len(l.x) - 1 {
		mean := (l.z[i+1] - l.z[i]) / (l.x[i+1] - l.x[i])
		l.slope[i] = min(l.slope[i], 3*mean)
		l.slope[i+1] = min(l.slope[i+1], 3*mean)
	}
}

// inverse is z = Φ⁻¹(x) and dz/dx.
func (l *Law) inverse(x float64) (z, slope float64) {
	last := len(l.x) - 1
	switch {
	case !(x > l.x[0]):
		return l.z[0] + (x-l.x[0])*l.slope[0], l.slope[0]
	case x >= l.x[last]:
		return l.z[last] + (x-l.x[last])*l.slope[last], l.slope[last]
	}
	i := sort.SearchFloat64s(l.x, x) - 1
	h := l.x[i+1] - l.x[i]
	u := (x - l.x[i]) / h
	a, b := h*l.slope[i], h*l.slope[i+1]
	rise := l.z[i+1] - l.z[i]
	// The cubic with values z_i, z_{i+1} and slopes a, b in u: z_i + a·u + c·u² + d·u³.
	c, d := 3*rise-2*a-b, a+b-2*rise
	return l.z[i] + u*(a+u*(c+u*d)), (a + u*(2*c+3*u*d)) / h
}

// PDF is the density at x.
func (l *Law) PDF(x float64) float64 {
	z, slope := l.inverse(x)
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * slope
}

// CDF is the distribution function at x.
func (l *Law) CDF(x float64) float64 {
	z, _ := l.inverse(x)
	return math.Erfc(-z/math.Sqrt2) / 2
}

// Quantile is the x with CDF(x) = u, for u in (0, 1).
func (l *Law) Quantile(u float64) float64 {
	z := distuv.UnitNormal.Quantile(u)
	last := len(l.z) - 1
	switch {
	case !(z > l.z[0]):
		return l.x[0] + (z-l.z[0])/l.slope[0]
	case z >= l.z[last]:
		return l.x[last] + (z-l.z[last])/l.slope[last]
	}
	i := sort.SearchFloat64s(l.z, z) - 1
	lo, hi := l.x[i], l.x[i+1]
	// Newton's method, kept inside the interval by bisection.
	x := lo + (hi-lo)*(z-l.z[i])/(l.z[i+1]-l.z[i])
	for range 60 {
		at, slope := l.inverse(x)
		if at > z {
			hi = x
		} else {
			lo = x
		}
		next := x - (at-z)/slope
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		if math.Abs(next-x) <= 1e-14*(1+math.Abs(x)) {
			return next
		}
		x = next
	}
	return x
}

// Support is an interval with all but 1e-7 of the law.
func (l *Law) Support() (lo, hi float64) { return l.Quantile(5e-8), l.Quantile(1 - 5e-8) }
