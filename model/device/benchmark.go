package device

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/data/stopwatch"
	"github.com/ergoflow/ergoflow/model/backend"
)

// Benchmark times Euler–Maruyama on grids of that many nodes: functions with
// that many chains each, 200 steps of burn-in and 16 samples ten steps apart,
// from the coefficients to the samples in this process's memory.
func Benchmark(ctx context.Context, b *backend.Backend, nodes, functions, chains, rounds int) (m stopwatch.Measurement, err error) {
	if functions < 1 || functions > 1<<16 {
		return m, fmt.Errorf("%d functions are outside 1 to %d", functions, 1<<16)
	}
	grid := sde.Grid{Lo: -5, Hi: 5, N: nodes}
	if err := grid.Validate(); err != nil {
		return m, err
	}
	c := sde.Coefficients{Grid: grid, Drift: make([]float32, nodes), Diffusion: make([]float32, nodes)}
	for i := range nodes {
		x := grid.At(i)
		c.Drift[i], c.Diffusion[i] = float32(-x+math.Sin(3*x)), float32(1+0.3*math.Cos(x))
	}
	const samples = 16
	batch := simulate.Batch{
		Count: functions, Scheme: simulate.Scheme{DT: 0.01, BurnIn: 200, Thin: 10, Chains: chains}, Purpose: "benchmark",
		System: func(int) (sde.System, error) { return c, nil },
	}
	if err := batch.Scheme.Validate(); err != nil {
		return m, err
	}
	s, err := New(b)
	if err != nil {
		return m, err
	}
	defer s.Close()
	dst := make([]float32, functions*chains*samples)
	steps := float64(functions) * float64(chains) * float64(batch.Scheme.Steps(samples))
	return stopwatch.Measure(ctx, stopwatch.Measurement{
		Engine: s.String(), What: fmt.Sprintf("1D Euler–Maruyama, %d nodes", nodes), Size: fmt.Sprintf("%d×%d", functions, chains), Unit: "steps",
	}, rounds, steps, func(ctx context.Context) error { return s.Simulate(ctx, dst, batch, nil) })
}
