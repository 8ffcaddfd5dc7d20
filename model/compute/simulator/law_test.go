package simulator

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// One sample from each of many chains is an independent sample of the invariant law.
// For the Ornstein–Uhlenbeck process under Euler–Maruyama it is N(3, 1/(1−Δt/2)). For
// another equation the test compares with the processor's samples for another seed.
func TestLaw(t *testing.T) {
	const functions, chains = 8, 1024
	tabulate := func(grid sde.Grid, drift, diffusion func(x float64) float64) func(int) (sde.System, error) {
		c := sde.Coefficients{Grid: grid}
		for i := range grid.N {
			c.Drift = append(c.Drift, float32(drift(grid.At(i))))
			c.Diffusion = append(c.Diffusion, float32(diffusion(grid.At(i))))
		}
		return func(int) (sde.System, error) { return c, nil }
	}
	batch := simulate.Batch{Count: functions, Scheme: simulate.Scheme{DT: 0.02, BurnIn: 500, Thin: 1, Chains: chains}, Seed: 1, Purpose: "law"}
	s := opened(t, backendtest.Fast(t))
	draw := func(by simulate.Simulator, b simulate.Batch) []float32 {
		dst := make([]float32, functions*chains)
		if err := by.Simulate(context.Background(), dst, b, nil); err != nil {
			t.Fatal(err)
		}
		return dst
	}

	batch.System = tabulate(sde.Grid{Lo: -7, Hi: 13, N: 64},
		func(x float64) float64 { return 3 - x }, func(float64) float64 { return math.Sqrt2 })
	exact := distuv.Normal{Mu: 3, Sigma: 1 / math.Sqrt(0.99)}
	// The law of √n sup|F−Φ| exceeds 1.95 with probability 0.001, 2.7 with 10⁻⁶.
	if d := distance(draw(s, batch), exact.CDF); !(d < 1.95) {
		t.Errorf("Ornstein–Uhlenbeck: √n·KS is %.2f against the exact law", d)
	}
	short := batch
	short.Scheme.BurnIn = 100
	if d := distance(draw(s, short), exact.CDF); !(d > 2.7) {
		t.Errorf("Ornstein–Uhlenbeck: √n·KS is %.2f without enough burn-in", d)
	}

	batch.System = tabulate(sde.Grid{Lo: -5, Hi: 5, N: 256},
		func(x float64) float64 { return x - x*x*x + math.Sin(5*x) }, func(x float64) float64 { return 1 + 0.5*math.Cos(2*x) })
	other := batch
	other.Seed = 2
	_, p, err := metrics.KS(draw(s, batch), draw(plain(t), other))
	if err != nil || !(p >= 0.001) {
		t.Errorf("p = %v against the processor, error %v", p, err)
	}
}

// distance is √n sup|F−cdf|, F the sample's distribution function.
func distance(sample []float32, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n, d := float64(len(sample)), 0.
	for i, x := range sample {
		p := cdf(float64(x))
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	return d * math.Sqrt(n)
}

func TestBenchmark(t *testing.T) {
	b := backendtest.Fast(t)
	found, err := Benchmark(context.Background(), b, 8, 1, 1)
	if err != nil || len(found) != 1 || found[0].Size != "1×128" || !(found[0].Rate > 0) || found[0].Engine != "device "+b.Name {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := Benchmark(context.Background(), b, 1, 1, 1); err == nil {
		t.Error("timed a grid of one node")
	}
}
