package family

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// rare1d has laws with rare transitions between narrow modes,
//
//	p = Σ₁³ wᵢ N(μᵢ, sᵢ²),  w ~ Dirichlet(1,1,1), μ ~ U(−3,3), s ~ U(0.1,0.5)
//	σ = 0.1 + 0.1 Σ₁² aₖ cos(bₖx + cₖ),  a ~ U(−¼,¼), b ~ U(½,2), c ~ U(0,2π)
//
// and the drift b = ½σ²(log p)′ + σσ′ that makes p invariant with zero flux
// (Itô), on 256 nodes of [−5, 5]. Samples are draws from the mixture itself.
type rare1d struct{ line }

var rare1dGrid = sde.Grid{Lo: -5, Hi: 5, N: 256}

// rare1dFunction is one function in closed form.
type rare1dFunction struct {
	law     mixture
	a, b, c [2]float64
}

func newRare1D(seed uint64, i int) rare1dFunction {
	rng := random.New(seed, "rare1d/coefficients", uint64(i))
	uniform := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	var f rare1dFunction
	var total float64
	for k := range f.law { // Dirichlet(1,1,1): normalised unit exponentials
		f.law[k].weight = rng.ExpFloat64()
		total += f.law[k].weight
	}
	for k := range f.law {
		f.law[k].weight /= total
		f.law[k].mean = uniform(-3, 3)
		f.law[k].std = uniform(0.1, 0.5)
	}
	for k := range f.a {
		f.a[k], f.b[k], f.c[k] = uniform(-0.25, 0.25), uniform(0.5, 2), uniform(0, 2*math.Pi)
	}
	return f
}

// at returns b(x) and σ(x).
func (f *rare1dFunction) at(x float64) (drift, diffusion float64) {
	sigma, slope := 0.1, 0.0
	for k := range f.a {
		sin, cos := math.Sincos(f.b[k]*x + f.c[k])
		sigma += 0.1 * f.a[k] * cos
		slope -= 0.1 * f.a[k] * f.b[k] * sin
	}
	return sigma*sigma/2*f.law.score(x) + sigma*slope, sigma
}

// tabulate evaluates the function on a grid.
func (f *rare1dFunction) tabulate(g sde.Grid) sde.Coefficients {
	c := sde.Coefficients{Grid: g, Drift: make([]float32, g.N), Diffusion: make([]float32, g.N)}
	for j := range g.N {
		b, s := f.at(g.At(j))
		c.Drift[j], c.Diffusion[j] = float32(b), float32(s)
	}
	return c
}

func (rare1d) Name() string { return "rare1d" }

func (r rare1d) Function(seed uint64, i int) (Function, error) {
	f := newRare1D(seed, i)
	return r.function("rare1d", i, f.tabulate(r.grid))
}

// Sample ignores the scheme: draws from the mixture are independent and exact.
func (r rare1d) Sample(ctx context.Context, dst []float32, d SampleSpec, progress func(done, total int)) error {
	return exactDraws(ctx, r, dst, d, progress)
}

// Law is the mixture. The invariant law of the tabulated coefficients differs from it where
// modes are narrow compared with the grid.
func (rare1d) Law(seed uint64, i int) (Law, error) {
	f := newRare1D(seed, i)
	return &f.law, nil
}
