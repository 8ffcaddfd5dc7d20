package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/stopwatch"
)

// Benchmark times Euler–Maruyama on grids of that many nodes: functions with 128
// chains each, 1,000 steps of burn-in and 32 samples ten steps apart, spread
// over all cores by Each, on every engine that runs here.
func Benchmark(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
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
	scheme := Scheme{DT: 0.01, BurnIn: 1000, Thin: 10, Chains: 128}
	width := scheme.Chains * samples
	dst := make([]float32, functions*width)
	steps := float64(functions) * float64(scheme.Chains) * float64(scheme.Steps(samples))
	var measured []stopwatch.Measurement
	for _, name := range Engines() {
		engine, err := NewEngine(name)
		if err != nil {
			return nil, err
		}
		m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
			Engine: name, What: fmt.Sprintf("1D Euler–Maruyama, %d nodes", nodes), Size: fmt.Sprintf("%d×%d", functions, scheme.Chains), Unit: "steps",
		}, rounds, steps, func(ctx context.Context) error {
			return Each(ctx, functions, func(ctx context.Context, i int) error {
				return engine.EulerMaruyama(ctx, dst[i*width:(i+1)*width], c, scheme, 0, uint64(i), "benchmark")
			}, nil)
		})
		if err != nil {
			return nil, err
		}
		measured = append(measured, m)
	}
	return measured, nil
}
