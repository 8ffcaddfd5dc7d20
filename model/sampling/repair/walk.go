package repair

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// walk is the samples on their way.
type walk struct {
	equation Equation
	engine   *simulate.Engine
	seed     uint64
	x        []float32
	exact    []float64 // the same in double precision, where formulas are followed
	rounds   uint64
	steps    int // without those of approach
	dt       float64
	finer    float64 // a part of the time step that is taken: 1, or less after a divergence
	replicas bool    // of particles: chains have them from now on
	tempered bool    // they have had them
}

func newWalk(x []float32, e Equation, seed uint64) *walk {
	w := &walk{equation: e, engine: simulate.Fastest(), seed: seed, x: x, finer: 1}
	if e.Formulas != nil {
		w.exact = make([]float64, len(x))
		for i, v := range x {
			w.exact[i] = float64(v)
		}
	}
	return w
}

// advance takes steps of dt. Every round has noise of its own.
func (w *walk) advance(ctx context.Context, dt float64, steps int) (err error) {
	w.rounds++
	if w.exact == nil {
		err = w.engine.Continue(ctx, w.x, w.equation.System, dt, steps, w.seed, w.rounds, "repair")
	} else if err = w.engine.ContinueFunc(ctx, w.exact, w.equation.Formulas, sde.WholeLine, dt, steps, w.seed, w.rounds, "repair"); err == nil {
		for i, v := range w.exact {
			w.x[i] = float32(v)
		}
	}
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	return nil
}

// run takes steps of the equation's time step.
func (w *walk) run(ctx context.Context, steps int) error {
	wanted, _ := w.timeSteps()
	w.dt = wanted
	if w.replicas {
		return w.temper(ctx, steps)
	}
	w.steps += steps
	return w.advance(ctx, w.dt, steps)
}

// Ladder has temperatures up to that at which clusters of particles64d melt, and Melting is how many steps
// replicas take at them before they exchange states.
var Ladder = simulate.Tempering{Temperatures: 16, Hottest: 6, Every: 10}

const (
	Melting = 1000
	// Coarser than the time step of Euler–Maruyama's is that of MALA at first.
	Coarser = 4
	// stepOfReplica is the time of a step of all replicas, by MALA, beside that of a step without any.
	stepOfReplica = 32
)

// temper takes steps along chains with replicas.
func (w *walk) temper(ctx context.Context, steps int) error {
	particles := w.equation.System.(sde.Particles)
	w.rounds++
	_, dt, err := w.engine.Temper(ctx, w.x, particles, Coarser*w.dt, Ladder, Melting, steps, w.seed, w.rounds, "repair")
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	w.dt = dt
	w.steps += Melting + steps
	w.tempered = true
	return nil
}

// cost is what a round of so many steps costs, in steps without replicas.
func (w *walk) cost(steps int) float64 {
	if w.replicas {
		return stepOfReplica * float64(Melting+steps)
	}
	return float64(steps)
}

const (
	// approached is a part of the time step, and with approachSteps of it a state goes from
	// far out to the others: each step takes at most half of its distance.
	approached     = 0.5
	approachSteps  = 8
	approachRounds = 100
	// coarsest is the part of s²/σ², half the time in which a linear drift forgets, that a step
	// takes at most.
	coarsest = 0.1
	// mostStates are looked at.
	mostStates = 1 << 12
)

// approach brings in states that are so far out that steps of the equation's time step would
// throw them across the others, or beyond all bounds.
func (w *walk) approach(ctx context.Context) error {
	for range approachRounds {
		wanted, stable := w.timeSteps()
		if stable > approached*wanted {
			return nil
		}
		if !(stable > 0) {
			return fmt.Errorf("repair: a drift or a diffusion is not finite at a sample: %w", simulate.ErrDiverged)
		}
		if err := w.advance(ctx, stable, approachSteps); err != nil {
			return err
		}
	}
	return nil
}

// timeSteps are the time step with which the variance becomes too large by one part in a hundred,
// by diagnostics.Inflation from the states, with two digits; and the largest step in which
// neither drift nor noise moves a state by more than half of its distance from the median, or of
// the spread, whichever is larger.
func (w *walk) timeSteps() (wanted, stable float64) {
	dim, states, drift, noise, local := w.coefficients()
	mean, deviation := make([]float64, dim), make([]float64, dim)
	n := float64(len(states) / dim)
	for i, v := range states {
		mean[i%dim] += v / n
	}
	for i, v := range states {
		deviation[i%dim] += (v - mean[i%dim]) * (v - mean[i%dim]) / n
	}
	wanted, stable = math.Inf(1), math.Inf(1)
	probe := 1.0 // the estimate is of this step, in the equation's own unit of time
	for c := range dim {
		if a := noise[c*dim+c]; a > 0 && deviation[c] > 0 {
			probe = min(probe, 1e-3*deviation[c]/a)
		}
	}
	if e := diagnostics.Inflation(probe, dim, states, drift, noise); e > 0 {
		wanted = diagnostics.TimeStep(probe, e, diagnostics.WantedInflation)
	}
	for c := range dim {
		if a := noise[c*dim+c]; a > 0 && deviation[c] > 0 {
			wanted = min(wanted, coarsest*deviation[c]/a)
		}
	}
	for c := range dim {
		middle, spread := quartiles(states, dim, c)
		for i := c; i < len(states); i += dim {
			reach := 0.5 * max(math.Abs(states[i]-middle), spread)
			if b := math.Abs(drift[i]); b > 0 {
				stable = min(stable, reach/b)
			}
			if local != nil && local[i] > 0 {
				stable = min(stable, reach*reach/local[i])
			}
		}
	}
	wanted *= w.finer
	if math.IsInf(wanted, 1) { // neither drift nor noise
		wanted = probe
	}
	return rounded(wanted), min(stable, wanted)
}

// rounded has two digits.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 1, 64), 64)
	if err != nil { // beyond all numbers
		return v
	}
	return r
}

// quartiles are the median and half the distance between the quartiles along an axis.
func quartiles(states []float64, dim, axis int) (median, spread float64) {
	var along []float64
	for i := axis; i < len(states); i += dim {
		along = append(along, states[i])
	}
	slices.Sort(along)
	n := len(along) - 1
	return along[n/2], (along[3*n/4] - along[n/4]) / 2
}

// coefficients are states [n, dim], their drift, the mean of σσᵀ [dim, dim], and on the line
// σ² at every state. Of particles, each one is a state in the plane.
func (w *walk) coefficients() (dim int, states, drift, noise, local []float64) {
	d := 1
	if w.exact == nil {
		d = w.equation.System.Dim()
	}
	n := len(w.x) / d
	// All are looked at for what is far out, of particles some, since each costs all pairs.
	stride := 1
	if particles, ok := w.equation.System.(sde.Particles); ok && w.exact == nil {
		most := max(mostStates/particles.N, 1)
		stride = (n + most - 1) / most
	}
	for i := 0; i < n; i += stride {
		for _, v := range w.x[i*d : (i+1)*d] {
			states = append(states, float64(v))
		}
	}
	drift = make([]float64, len(states))
	count := float64(len(states) / d)
	if w.exact != nil {
		sigma := make([]float64, len(states))
		w.equation.Drift(drift, states)
		w.equation.Diffusion(sigma, states)
		return 1, states, drift, []float64{squared(sigma)}, sigma
	}
	switch system := w.equation.System.(type) {
	case sde.Coefficients:
		sigma := make([]float64, len(states))
		for i, v := range states {
			drift[i], sigma[i] = system.DriftAt(v), system.DiffusionAt(v)
		}
		return 1, states, drift, []float64{squared(sigma)}, sigma
	case sde.Plane:
		noise = make([]float64, 4)
		for i := 0; i < len(states); i += 2 {
			b, s := system.At(states[i], states[i+1])
			copy(drift[i:], b[:])
			for k, v := range [4]float64{s[0]*s[0] + s[1]*s[1], s[0]*s[2] + s[1]*s[3], s[0]*s[2] + s[1]*s[3], s[2]*s[2] + s[3]*s[3]} {
				noise[k] += v / count
			}
		}
		return 2, states, drift, noise, nil
	case sde.Space:
		z, drift, noise := lift.Moved(system, states)
		return d, z, drift, noise, nil
	case sde.Particles:
		for i := 0; i < n; i += stride {
			at := i / stride * d
			system.Drift(drift[at:at+d], w.x[i*d:(i+1)*d])
		}
		a := system.Noise * system.Noise
		return 2, states, drift, []float64{a, 0, 0, a}, nil
	}
	panic(fmt.Sprintf("repair: a system of type %T", w.equation.System))
}

// squared squares the numbers in place and returns the mean.
func squared(v []float64) (mean float64) {
	for i, s := range v {
		v[i] = s * s
		mean += v[i] / float64(len(v))
	}
	return mean
}
