package wells

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// draws of a law, coordinate by coordinate.
func draws(n, dim int, draw func(rng *rand.Rand, coordinate int) float64) []float32 {
	rng, x := random.New(1, "wells test"), make([]float32, n*dim)
	for i := range x {
		x[i] = float32(draw(rng, i%dim))
	}
	return x
}

func look(t *testing.T, s sde.Space, x []float32) Seen {
	t.Helper()
	seen, err := For(s).Look(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// A double well along one of the coordinates and normal laws along the others: samples of one well lack
// the other, also in many dimensions. Where the noise is, within a well, is no matter.
func TestWellThatSamplesLack(t *testing.T) {
	dims := []int{1, 2, 32}
	if testing.Short() { // race's run, for which 32 coordinates take half a minute and are nothing new
		dims = dims[:2]
	}
	for _, dim := range dims {
		s := expressiontest.Space(t, dim, "i == 0 ? 4*(x[i] - x[i]^3) : -x[i]", "i == 0 ? 0.7 : sqrt(2)")
		well := func(sides float64) []float32 {
			return draws(1024, dim, func(rng *rand.Rand, c int) float64 {
				if c > 0 {
					return rng.NormFloat64()
				}
				side := 1.
				if rng.Float64() < sides {
					side = -1
				}
				return side + 0.17*rng.NormFloat64()
			})
		}
		if seen := look(t, s, well(0)); seen.Missing < 0.35 || seen.Missing > 0.65 || math.Abs(float64(seen.At[0])+1) > 0.01 {
			t.Errorf("%d dimensions, one well: %+v", dim, seen)
		}
		if seen := look(t, s, well(0.5)); seen.Missing > 0 || seen.Entered > 0 {
			t.Errorf("%d dimensions, both wells: %+v", dim, seen)
		}
	}
}

// Chains that cross a barrier now and then show the masses of its wells by how often they do, long before
// the samples have those masses. The law is symmetric.
func TestCrossingsBetweenWells(t *testing.T) {
	s := expressiontest.Space(t, 2, "i == 0 ? x[i] - x[i]^3 : -x[i]", "i == 0 ? 0.5 : sqrt(2)")
	sides := func(left float64) []float32 {
		return draws(1024, 2, func(rng *rand.Rand, c int) float64 {
			if c > 0 {
				return rng.NormFloat64()
			}
			for { // by rejection, of the density exp(4x² − 2x⁴), whose largest value is e²
				x := 2 * rng.Float64()
				if rng.Float64() < math.Exp(4*x*x-2*x*x*x*x-2) {
					if rng.Float64() < left {
						return -x
					}
					return x
				}
			}
		})
	}
	f := look(t, s, sides(0.1)).Crossings
	if f.Z() > -Chance || f.Along != "x[0]" || math.Abs(f.At) > 0.7 || f.Have < 0.85 || math.Abs(f.Law-0.5) > 0.15 {
		t.Errorf("a tenth in one well: %+v", f)
	}
	if f := look(t, s, sides(0.5)).Crossings; math.Abs(f.Z()) > Chance {
		t.Errorf("half in each well: %+v", f)
	}
}

// Chains leave a region that the law has not: it is no well. Neither is the way from the box to the
// samples, however slow.
func TestNoWells(t *testing.T) {
	normal := draws(1024, 3, func(rng *rand.Rand, _ int) float64 { return rng.NormFloat64() })
	for _, test := range []struct{ name, drift, diffusion string }{
		{"normal", "-x", "sqrt(2)"},
		{"turning", "i < 2 ? -0.02*x[i] + (i == 0 ? x[1] : -x[0]) : -x[i]", "i < 2 ? 0.2 : sqrt(2)"},
		{"slow", "i == 0 ? -0.002*x[i] : -x[i]", "i == 0 ? sqrt(0.004) : sqrt(2)"},
	} {
		s := expressiontest.Space(t, 3, test.drift, test.diffusion)
		for k := range s.Box {
			s.Box[k] = sde.Interval{Lo: -8, Hi: 8}
		}
		if seen := look(t, s, normal); seen.Missing > 0.03 || seen.Entered > 0.03 || math.Abs(seen.Crossings.Z()) > Chance {
			t.Errorf("%s: %+v", test.name, seen)
		}
	}
}

// States of a limit cycle do not come to rest, and are near others of it. Those of a second, larger one
// that the samples lack are far.
func TestCycles(t *testing.T) {
	// r' = −r(r² − 1)(r² − 4)(r² − 9)/10: cycles of radius 1 and 3, and one between them that repels.
	const growth = "(x[0]^2 + x[1]^2 - 1)*(x[0]^2 + x[1]^2 - 4)*(x[0]^2 + x[1]^2 - 9)/40"
	s := expressiontest.Space(t, 2, "(i == 0 ? -x[1] : x[0]) - x[i]*"+growth, "0.1")
	ring := func(outer float64) []float32 {
		rng, x := random.New(1, "wells test"), make([]float32, 2048)
		for i := 0; i < len(x); i += 2 {
			r, angle := 1., 2*math.Pi*rng.Float64()
			if rng.Float64() < outer {
				r = 3
			}
			x[i], x[i+1] = float32(r*math.Cos(angle)), float32(r*math.Sin(angle))
		}
		return x
	}
	if seen := look(t, s, ring(0)); seen.Missing < 0.2 {
		t.Errorf("the inner cycle: %+v", seen)
	}
	if seen := look(t, s, ring(0.5)); seen.Missing > 0 || seen.Entered > 0 {
		t.Errorf("both cycles: %+v", seen)
	}
}

// On a circle a state is near those on the other side of the cut.
func TestCircle(t *testing.T) {
	s := expressiontest.Space(t, 2, "-4*sin(2*x[i])", "0.8")
	circle := sde.Range{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}
	s.Domain = sde.Domain{circle, circle}
	for k := range s.Box {
		s.Box[k] = sde.Interval{Lo: circle.Lo, Hi: circle.Hi}
	}
	wells := func(opposite float64) []float32 {
		return draws(2048, 2, func(rng *rand.Rand, _ int) float64 {
			x := 0.2 * rng.NormFloat64()
			if rng.Float64() < opposite {
				x += math.Pi
			}
			return circle.Wrap(x)
		})
	}
	if seen := look(t, s, wells(0)); seen.Missing < 0.6 {
		t.Errorf("one well of four: %+v", seen)
	}
	if seen := look(t, s, wells(0.5)); seen.Missing > 0 {
		t.Errorf("all wells: %+v", seen)
	}
}

// Chains that do not stay within bounds are an error.
func TestDiverges(t *testing.T) {
	s := expressiontest.Space(t, 2, "x^3", "1")
	if _, err := For(s).Look(t.Context(), make([]float32, 200)); !errors.Is(err, simulate.ErrDiverged) {
		t.Errorf("error %v, want %v", err, simulate.ErrDiverged)
	}
}

// Of crossings beyond chance the larger effect is worse, else the larger Z.
func TestWorse(t *testing.T) {
	chance := Crossings{Up: 5, Down: 1, Law: 0.9, of: 15}
	some, more := Crossings{Up: 4000, Law: 0.2, of: 15}, Crossings{Up: 40, Law: 0.3, of: 15}
	if !some.worse(chance) || !more.worse(some) || some.worse(more) || chance.worse(some) {
		t.Error("the order is wrong")
	}
	for _, test := range []struct {
		c    Crossings
		want float64
	}{
		{Crossings{}, 0},
		{Crossings{Up: 14, Down: 11, of: 480}, 0},      // chance
		{Crossings{Up: 10, Down: 90, of: 1}, -7.94},    // one value
		{Crossings{Up: 82, Down: 18, of: 1000}, 5.25},  // 6.4, of the worst of 1,000
		{Crossings{Up: 10000, Down: 0, of: 100}, 7.94}, // beyond what counts
	} {
		if z := test.c.Z(); math.Abs(z-test.want) > 0.02 {
			t.Errorf("Z of %+v is %.3f, want %.3f", test.c, z, test.want)
		}
	}
}
