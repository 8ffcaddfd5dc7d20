package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
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
}

// add notes a function.
func (in *inflated) add(i int, e float64) {
	if e > diagnostics.WarnedInflation {
		in.count++
	}
	if e > in.worst {
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
	return fmt.Sprintf("steps of %g make the variance of %d of the first %d functions of %s more than %g %% too large, that of function %d %s: choose %s %.2g",
		in.dt, in.count, pilotFunctions, family, 100*diagnostics.WarnedInflation, in.index, diagnostics.TooLarge(in.worst),
		settings, diagnostics.TimeStep(in.dt, in.worst, diagnostics.WantedInflation))
}
