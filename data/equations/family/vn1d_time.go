package family

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// vn1dTime has the equations of vn1d at physical times. The law of a function is that of
// X_τ, started from X₀ ~ N(0, 1), instead of the invariant law. Networks read b, σ and log τ.
//
// Functions K·j … K·j+K−1 are equation j of vn1d at K times, one in each interval of Times,
// uniform in log τ.
//
// Chains of the same length simulate all times. X_τ of (b, σ) has the law of Y_T for
// dY = (τ/T)·b(Y)ds + √(τ/T)·σ(Y)dW, the same equation at a slower pace. That is the System
// of a function. Its chains end at T, the longest time, with one sample each; a step dt
// advances physical time by dt·τ/T.
type vn1dTime struct{}

const (
	shortestTime  = 0.05
	longestTime   = 50 // T, the burn-in of vn1d
	timeIntervals = 8  // K
)

func (vn1dTime) Name() string { return "vn1d_time" }

func (vn1dTime) Dim() int { return 1 }

func (vn1dTime) Grid() sde.Grid { return vn1dGrid }

func (vn1dTime) Fields() []Field {
	return append(line{vn1dGrid}.Fields(), Field{Name: "log_time", Shape: []int{1}})
}

// Times are the K+1 ends of the intervals of time, in geometric progression.
func (vn1dTime) Times() []float64 {
	ends := make([]float64, timeIntervals+1)
	for k := range ends {
		ends[k] = shortestTime * math.Pow(longestTime/shortestTime, float64(k)/timeIntervals)
	}
	ends[timeIntervals] = longestTime
	return ends
}

// Equation is the number, within vn1d, of the equation of function i.
func (vn1dTime) Equation(i int) int { return i / timeIntervals }

// Time is τ of function i.
func (t vn1dTime) Time(seed uint64, i int) float64 {
	u := random.New(seed, "vn1d_time/time", uint64(i)).Float64()
	ends, k := t.Times(), i%timeIntervals
	return ends[k] * math.Pow(ends[k+1]/ends[k], u)
}

func (t vn1dTime) Function(seed uint64, i int) (Function, error) {
	c, err := vn1d{}.coefficients(seed, t.Equation(i))
	if err != nil {
		return Function{}, err
	}
	f, err := t.at(c, t.Time(seed, i))
	if err != nil {
		return Function{}, fmt.Errorf("%s function %d: %w", t.Name(), i, err)
	}
	return f, nil
}

// Of returns the function of an equation at the longest time.
func (t vn1dTime) Of(c sde.Coefficients) (Function, error) { return t.at(c, longestTime) }

// At returns the equation of f at another time.
func (t vn1dTime) At(f Function, time float64) (Function, error) {
	return t.at(sde.Coefficients{Grid: vn1dGrid, Drift: f.Fields[0], Diffusion: f.Fields[1]}, time)
}

// TimeOf is τ of a function, to the precision of its field.
func (vn1dTime) TimeOf(f Function) float64 { return math.Exp(float64(f.Fields[2][0])) }

func (vn1dTime) at(c sde.Coefficients, time float64) (Function, error) {
	if !(time >= shortestTime && time <= longestTime) {
		return Function{}, fmt.Errorf("time %g is not in %g…%g", time, shortestTime, float64(longestTime))
	}
	f, err := line{vn1dGrid}.Of(c)
	if err != nil {
		return Function{}, err
	}
	slow := time / longestTime
	f.System = sde.Coefficients{Grid: vn1dGrid, Drift: scaled(c.Drift, slow), Diffusion: scaled(c.Diffusion, math.Sqrt(slow))}
	f.Fields = append(f.Fields, []float32{float32(math.Log(time))})
	return f, f.System.Validate()
}

func scaled(values []float32, by float64) []float32 {
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = float32(float64(v) * by)
	}
	return values
}

// Observes fails for a scheme whose chains do not give their only sample at T, or do not
// start from N(0, 1).
func (t vn1dTime) Observes(s simulate.Scheme, samples int) error {
	start, err := s.Start.Along(0)
	switch span := s.DT * float64(s.BurnIn); {
	case err != nil:
		return err
	case s.Chains != samples:
		return fmt.Errorf("%d chains for %d samples of %s: must be as many, since a chain has one sample at its time", s.Chains, samples, t.Name())
	case math.Abs(span-longestTime) > 1e-6*longestTime:
		return fmt.Errorf("chains of %s take dt·burn_in = %g units of time: must be %d, its longest time", t.Name(), span, longestTime)
	case start != random.Law{Form: random.Normal, B: 1}:
		return fmt.Errorf("chains of %s start from %v: must be normal(0, 1)", t.Name(), start)
	}
	return nil
}

// Invariant is the invariant law of function i's equation, the limit of X_τ for long times.
func (t vn1dTime) Invariant(seed uint64, i int) (Law, error) {
	return vn1d{}.Law(seed, t.Equation(i))
}
