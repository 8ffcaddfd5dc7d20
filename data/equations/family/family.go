// Package family has the families of SDEs that experiments learn. Function i of
// a family is a function of (seed, i) alone.
package family

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Family is a distribution over SDEs. All methods are safe for concurrent use.
type Family interface {
	// Name is what experiments and shard files call the family.
	Name() string
	// Dim is d, the numbers of a state.
	Dim() int
	// Fields are the tensors that shards store of every function, in this order;
	// none where networks see a function through probes alone.
	Fields() []Field
	// Function makes function i. It refuses what cannot be simulated, naming the
	// function.
	Function(seed uint64, i int) (Function, error)
}

// Field names a tensor and gives its shape for one function.
type Field = shard.Field

// Function is one SDE of a family.
type Function struct {
	System sde.System
	Fields [][]float32 // the values of the family's Fields
}

// Sampler is a family that draws by itself instead of being simulated.
type Sampler interface {
	// Sample is the function Sample of a family of this kind.
	Sample(ctx context.Context, dst []float32, d Draws, progress func(done, total int)) error
}

// Exact is a one-dimensional family whose invariant laws are known.
type Exact interface {
	// Law is the exact invariant law of function i.
	Law(seed uint64, i int) (Law, error)
}

// Timed is a family of laws at physical times: its functions are equations at times.
type Timed interface {
	// Equation is the number of the equation of function i. Functions of one equation
	// have consecutive numbers, one function for each interval of Times.
	Equation(i int) int
	// Times are the ends of the intervals, in increasing order.
	Times() []float64
	// Time is that of function i.
	Time(seed uint64, i int) float64
	// TimeOf is that of a function, to the precision of its fields.
	TimeOf(f Function) float64
	// At is the function with the equation of f at another time. It refuses times
	// outside Times.
	At(f Function, time float64) (Function, error)
	// Observes reports a scheme whose chains do not give that many samples at the
	// times of their functions.
	Observes(s simulate.Scheme, samples int) error
	// Invariant is the law that the equation of function i tends to.
	Invariant(seed uint64, i int) (Law, error)
}

// Stored is a family whose functions follow from their stored fields.
type Stored interface {
	// Restore makes the function with these fields, which it keeps. It costs no
	// more than a look at each value, whatever the first time cost. It refuses
	// lengths that differ from the family's and what cannot be simulated.
	Restore(fields [][]float32) (Function, error)
}

// Tabulated is a one-dimensional family whose fields are drift and diffusion at
// the nodes of one grid: Of makes a function of any other pair on it.
type Tabulated interface {
	Grid() sde.Grid
	Of(c sde.Coefficients) (Function, error)
}

// TabulatedPlane is Tabulated in the plane, on a grid that is the same along both
// axes. Of refuses a diffusion that functions of the family do not have.
type TabulatedPlane interface {
	Grid() sde.Grid
	Of(p sde.Plane) (Function, error)
}

// Draws asks for samples of functions First … First+Count−1.
type Draws struct {
	First, Count int
	Seed         uint64
	Scheme       simulate.Scheme // for families that are simulated
	Purpose      string          // names independent sets: "train", "reference", "floor"
	Exact        bool            // independent draws from the invariant laws, see Exact
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

// ByName finds a family, by its name or by its definition as Definition.String
// gives it, which it compiles: callers keep the family. The error lists the known names.
func ByName(name string) (Family, error) {
	if strings.HasPrefix(name, "{") {
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
	return nil, fmt.Errorf("no family is called %.80q, want one of: %s", name, strings.Join(Names(), ", "))
}
