// Package family defines the families of SDEs that experiments learn: random drifts and
// diffusions on the line and in the plane, particles, and families of a user's formulas
// (Definition). Function i of a family depends on (seed, i) alone.
package family

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Family is a distribution over SDEs. All methods are safe for concurrent use.
type Family interface {
	// Name identifies the family in experiments and shard files.
	Name() string
	// Dim is the dimension of a state.
	Dim() int
	// Fields are the tensors that shards store of every function, in this order. There
	// are none where networks see functions through probes only.
	Fields() []Field
	// Function makes function i. The error names a function that cannot be simulated.
	Function(seed uint64, i int) (Function, error)
}

// Field names a tensor and gives its shape for one function.
type Field = shard.Field

// Function is one SDE of a family.
type Function struct {
	System sde.System
	Fields [][]float32 // the values of the family's Fields
}

// Sampler is a family that draws its samples itself, without simulation.
type Sampler interface {
	// Sample does what the function Sample says.
	Sample(ctx context.Context, dst []float32, d SampleSpec, progress func(done, total int)) error
}

// KnownLaw is a one-dimensional family whose invariant laws are known.
type KnownLaw interface {
	// Law is the exact invariant law of function i.
	Law(seed uint64, i int) (Law, error)
}

// Timed is a family of laws at physical times: a function is an equation and a time.
type Timed interface {
	// Equation is the number of the equation of function i. The functions of one equation
	// have consecutive numbers, one for each interval of Times.
	Equation(i int) int
	// Times are the boundaries of the intervals, in increasing order.
	Times() []float64
	// Time is the time of function i.
	Time(seed uint64, i int) float64
	// TimeOf is the time of f, to the precision of its fields.
	TimeOf(f Function) float64
	// At returns the equation of f at another time. It refuses times outside Times.
	At(f Function, time float64) (Function, error)
	// Observes fails for a scheme whose chains do not end at the times of their
	// functions, with that many samples.
	Observes(s simulate.Scheme, samples int) error
	// Invariant is the limit, for long times, of the law of function i's equation.
	Invariant(seed uint64, i int) (Law, error)
}

// Stored is a family whose functions can be restored from their stored fields.
type Stored interface {
	// Restore makes the function with these fields, which it keeps. It reads each value
	// once, however expensive Function is. It refuses fields of other lengths than the
	// family's, and functions that cannot be simulated.
	Restore(fields [][]float32) (Function, error)
}

// Tabulated is a one-dimensional family whose fields are drift and diffusion at the nodes
// of one grid. Of makes a function of any other pair on that grid.
type Tabulated interface {
	Grid() sde.Grid
	Of(c sde.Coefficients) (Function, error)
}

// TabulatedPlane is Tabulated in the plane, on a grid that is the same along both axes. Of
// refuses a diffusion of another kind than the family's.
type TabulatedPlane interface {
	Grid() sde.Grid
	Of(p sde.Plane) (Function, error)
}

// Confined is a one-dimensional family whose equations live on a domain. Coefficients are
// those of function i everywhere, unless they are known at the nodes of a grid only.
type Confined interface {
	Domain() sde.Range
	Coefficients(seed uint64, i int) (drift, diffusion density.Coefficient, ok bool)
}

// DomainOf is the domain of a family: the whole space unless it is Confined or has one without a
// grid.
func DomainOf(f Family) sde.Domain {
	switch f := f.(type) {
	case Spatial:
		return f.Domain()
	case Confined:
		return sde.Domain{f.Domain()}
	}
	return nil
}

// Outside is the place of the first number of samples [n, Dim] of a family that is outside the domain
// of its coordinate, with that; −1: none.
func Outside(f Family, samples []float32) (at int, domain sde.Range) {
	d := DomainOf(f)
	if at = d.Outside(samples); at >= 0 {
		domain = d.At(at % f.Dim())
	}
	return at, domain
}

// SampleSpec describes samples of functions First … First+Count−1.
type SampleSpec struct {
	First, Count int
	Seed         uint64
	Scheme       simulate.Scheme // for families that are simulated
	Purpose      string          // names independent sets: "train", "reference", "floor"
	Exact        bool            // independent draws from the invariant laws (HasExactDraws)
}

// Law is a one-dimensional probability law in closed form or by quadrature.
type Law interface {
	PDF(x float64) float64
	CDF(x float64) float64
	Quantile(u float64) float64
	Sample(dst []float32, rng *rand.Rand)
}

var families = []Family{vn1d{line{vn1dGrid}}, rare1d{line{rare1dGrid}}, cn2d{}, particles64d{}, vn1dTime{}}

// Names lists the known families.
func Names() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.Name()
	}
	return names
}

// ByName finds a family by its name, or compiles a definition that Definition.String
// wrote. Callers keep the family. The error lists the known names.
func ByName(name string) (Family, error) {
	if IsDefinition(name) {
		d, err := decode([]byte(name))
		if err != nil {
			return nil, err
		}
		return d.Family()
	}
	for _, f := range families {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("no family is called %.80q: must be one of %s", name, strings.Join(Names(), ", "))
}
