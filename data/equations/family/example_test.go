package family

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// wells is the complete example of docs/families.md: overdamped motion in a random quartic
// double well,
//
//	b = −U′,  U = x⁴/4 − a·x²/2 − c·x,  σ = √(2T)
//
// with a ~ U(½, 2), c ~ U(−¼, ¼), T ~ U(0.3, 0.6). It has Dim, Fields, Grid, Of and Restore
// of line. To train on it, move it to a file without _test, and add wells{line{wellsGrid}} to
// the list families.
type wells struct{ line }

var wellsGrid = sde.Grid{Lo: -4, Hi: 4, N: 64}

func (wells) Name() string { return "wells" }

func (w wells) Function(seed uint64, i int) (Function, error) {
	return w.function("wells", i, w.coefficients(seed, i))
}

func (wells) coefficients(seed uint64, i int) sde.Coefficients {
	rng := random.New(seed, "wells/coefficients", uint64(i))
	a, tilt, temperature := 0.5+1.5*rng.Float64(), (rng.Float64()-0.5)/2, 0.3+0.3*rng.Float64()
	c := sde.Coefficients{Grid: wellsGrid, Drift: make([]float32, wellsGrid.N), Diffusion: make([]float32, wellsGrid.N)}
	for j := range c.Drift {
		x := wellsGrid.At(j)
		c.Drift[j] = float32(a*x - x*x*x + tilt)
		c.Diffusion[j] = float32(math.Sqrt(2 * temperature))
	}
	return c
}

// Law makes it a KnownLaw: evaluations then give the distance to the invariant law.
func (w wells) Law(seed uint64, i int) (Law, error) { return density.New(w.coefficients(seed, i)) }

// An identity that any invariant law on the line has: the current is zero, so that
// E[2b + (σ²)′] = 0, here E[a·x − x³ + c] = 0, up to the grid's interpolation.
func TestWells(t *testing.T) {
	var f Family = wells{line{wellsGrid}}
	if _, ok := f.(Tabulated); !ok {
		t.Error("a model of wells cannot draw from other equations")
	}
	for i := range 8 {
		law, err := f.(KnownLaw).Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		c := f.(wells).coefficients(1, i)
		const n = 1 << 12
		mean, square := 0.0, 0.0
		for k := range n {
			b := c.DriftAt(law.Quantile((float64(k) + 0.5) / n))
			mean, square = mean+b/n, square+b*b/n
		}
		if !(math.Abs(mean) <= 0.01*math.Sqrt(square)) {
			t.Errorf("function %d: the mean drift is %g, its root mean square %g", i, mean, math.Sqrt(square))
		}
	}
}
