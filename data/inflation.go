package data

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// inflation is by what part a time step makes the variance of a function too large, from the
// states of a pilot run.
func inflation(states []float32, system sde.System, dt float64) float64 {
	dim := system.Dim()
	x, drift, noise := make([]float64, len(states)), make([]float64, len(states)), make([]float64, dim*dim)
	n := float64(len(states) / dim)
	for i, v := range states {
		x[i] = float64(v)
	}
	if s, ok := system.(sde.Space); ok {
		z, drift, noise := lift.Moved(s, x)
		return diagnostics.Inflation(dt, dim, z, drift, noise)
	}
	for at := 0; at < len(x); at += dim {
		switch s := system.(type) {
		case sde.Coefficients:
			sigma := s.DiffusionAt(x[at])
			drift[at] = s.DriftAt(x[at])
			noise[0] += sigma * sigma / n
		case sde.Plane:
			b, sigma := s.At(x[at], x[at+1])
			copy(drift[at:], b[:])
			for k := range noise { // row k/2 of σσᵀ, column k%2
				noise[k] += (sigma[k/2*2]*sigma[k%2*2] + sigma[k/2*2+1]*sigma[k%2*2+1]) / n
			}
		}
	}
	return diagnostics.Inflation(dt, dim, x, drift, noise)
}

// inflated are the functions of a pilot run with one time step whose variance is too large.
type inflated struct {
	dt    float64
	paths []string // of the schemes with it
	count int
	worst float64
	index int // of the worst function

	order  int                 // of the integrator; 0: Euler's
	better simulate.Integrator // one that makes a smaller error of those functions; may be none
}

// add notes a function.
func (in *inflated) add(i int, e float64) {
	if math.Abs(e) > diagnostics.WarnedInflation {
		in.count++
	}
	if math.Abs(e) > math.Abs(in.worst) {
		in.worst, in.index = e, i
	}
}

// join keeps the worse of two pilot runs with one time step, whose chains may differ in their
// start and their length.
func (in *inflated) join(other inflated) {
	paths := slices.Concat(in.paths, other.paths)
	if other.worst > in.worst {
		*in = other
	}
	in.paths = paths
}

// warning is empty if no variance is too large.
func (in *inflated) warning(family string) string {
	if in.count == 0 {
		return ""
	}
	settings := strings.Join(in.paths, " and ")
	return fmt.Sprintf("steps of %g make the variance of %d of the first %d functions of %s more than %g %% %s, that of function %d %s: choose %s %.2g%s",
		in.dt, in.count, pilotFunctions, family, 100*diagnostics.WarnedInflation, direction(in.worst), in.index, tooLarge(in.worst),
		settings, timeStep(in.dt, in.worst, in.order), in.advice())
}

// advice names a better integrator.
func (in *inflated) advice() string {
	if in.better == simulate.Euler {
		return ""
	}
	var settings []string
	for _, path := range in.paths {
		settings = append(settings, strings.TrimSuffix(path, ".dt")+".integrator")
	}
	return fmt.Sprintf(", or %s %v, which has a smaller error", strings.Join(settings, " and "), in.better)
}

func direction(e float64) string {
	if e < 0 {
		return "too small"
	}
	return "too large"
}

// tooLarge says by how much a variance is too large or too small.
func tooLarge(e float64) string {
	if e < 0 {
		return fmt.Sprintf("about %.0f %% too small", -100*e)
	}
	return diagnostics.TooLarge(e)
}

// timeStep is one with which an error e of an integrator of that order would be the wanted one.
func timeStep(dt, e float64, order int) float64 {
	if order < 2 {
		return diagnostics.TimeStep(dt, math.Abs(e), diagnostics.WantedInflation)
	}
	return dt * math.Pow(diagnostics.WantedInflation/math.Abs(e), 1/float64(order))
}

// wouldDo names a time step, and a better integrator if there is one.
func wouldDo(e float64, system sde.Space, s simulate.Scheme) string {
	text := fmt.Sprintf("one of %.2g would do", timeStep(s.DT, e, s.Integrator.Order(system)))
	if i := better(system, s.Integrator); i != simulate.Euler {
		text += fmt.Sprintf(", or a larger one with the integrator %v", i)
	}
	return text
}

// better is an integrator with a smaller error than the one in use, of order 2 where that has 1; none
// is Euler. Instead of the tamed one, with which others may diverge, it names none.
func better(system sde.Space, used simulate.Integrator) simulate.Integrator {
	if i := simulate.Suited(system); i.Order(system) > used.Order(system) && used != simulate.Tamed {
		return i
	}
	return simulate.Euler
}
