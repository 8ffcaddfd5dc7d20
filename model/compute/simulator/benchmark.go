package simulator

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Benchmark times on a device what simulate.BenchmarkLine times on the processor:
// functions with 128 chains each, 1,000 steps of burn-in and 32 samples ten steps
// apart, from the coefficients to the samples in the memory of this process. A GPU
// needs some thousand functions to be busy.
func Benchmark(ctx context.Context, b *backend.Backend, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
	if functions < 1 || functions > 1<<16 {
		return nil, fmt.Errorf("%d functions are outside 1 to %d", functions, 1<<16)
	}
	grid := sde.Grid{Lo: -5, Hi: 5, N: nodes}
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	c := sde.Coefficients{Grid: grid, Drift: make([]float32, nodes), Diffusion: make([]float32, nodes)}
	for i := range nodes {
		x := grid.At(i)
		c.Drift[i], c.Diffusion[i] = float32(-x+math.Sin(3*x)), float32(1+0.3*math.Cos(x))
	}
	const samples = 32
	batch := simulate.Batch{
		Count:   functions,
		System:  func(int) (sde.System, error) { return c, nil },
		Scheme:  simulate.Scheme{DT: 0.01, BurnIn: 1000, Thin: 10, Chains: 128},
		Purpose: "benchmark",
	}
	s, err := New(b)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	chains := functions * batch.Scheme.Chains
	dst := make([]float32, chains*samples)
	steps := float64(chains) * float64(batch.Scheme.Steps(samples))
	m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
		Engine: s.String(), What: fmt.Sprintf("1D Euler–Maruyama, %d nodes", nodes),
		Size: fmt.Sprintf("%d×%d", functions, batch.Scheme.Chains), Unit: "steps",
	}, rounds, steps, func(ctx context.Context) error {
		return s.Simulate(ctx, dst, batch, nil)
	})
	return []stopwatch.Measurement{m}, err
}
