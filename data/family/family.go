// Package family has the families of SDEs that experiments learn. Function i of
// a family is a function of (seed, i) alone.
package family

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// Family is a distribution over one-dimensional SDEs. All methods are safe for
// concurrent use.
type Family interface {
	// Name is what experiments and shard files call the family.
	Name() string
	// Grid is where the coefficients of every function are tabulated.
	Grid() sde.Grid
	// Coefficients makes function i. It refuses coefficients that are not
	// finite or not elliptic, naming the function.
	Coefficients(seed uint64, i int) (sde.Coefficients, error)
	// Sample fills dst, shape [d.Count, samples], with draws as the data set has
	// them, simulated where the family has no better way. progress, which may be
	// nil, is told how many functions are done. Errors name the function; dst
	// must not be used then.
	Sample(ctx context.Context, dst []float32, d Draws, by simulate.Simulator, progress func(done, total int)) error
	// Law is the exact invariant law of function i.
	Law(seed uint64, i int) (Law, error)
}

// Draws asks for samples of functions First … First+Count−1.
type Draws struct {
	First, Count int
	Seed         uint64
	Scheme       simulate.Scheme // for families that are simulated
	Purpose      string          // names independent sets: "train", "reference", "floor"
}

// Law is a one-dimensional probability law in closed form or by quadrature.
type Law interface {
	PDF(x float64) float64
	CDF(x float64) float64
	Quantile(u float64) float64
	Mean() float64
	Variance() float64
	Sample(dst []float32, rng *rand.Rand)
}

var families = []Family{vn1d{}, rare1d{}}

// Names lists the known families.
func Names() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.Name()
	}
	return names
}

// ByName finds a family. The error lists the known names.
func ByName(name string) (Family, error) {
	for _, f := range families {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("no family is called %q, want one of: %s", name, strings.Join(Names(), ", "))
}
