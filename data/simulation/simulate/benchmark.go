package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
)

// BenchmarkLine times Euler–Maruyama on grids of that many nodes: functions with 128 chains
// each, on all cores, on every engine of this processor. Burn-in and thinning are those of
// the family vn1d: 5,000 steps, then 64 samples ten steps apart. The time includes tables,
// generators and samples.
func BenchmarkLine(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: nodes}
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	c := sde.Coefficients{Grid: grid, Drift: make([]float32, nodes), Diffusion: make([]float32, nodes)}
	for i := range nodes {
		x := grid.At(i)
		c.Drift[i], c.Diffusion[i] = float32(-x+math.Sin(3*x)), float32(1+0.3*math.Cos(x))
	}
	scheme := Scheme{DT: 0.01, BurnIn: 5000, Thin: 10, Chains: benchmarkChains}
	return benchmark(ctx, fmt.Sprintf("1D Euler–Maruyama, %d nodes", nodes), c, scheme, 64, functions, rounds)
}

// BenchmarkPlane does the same in the plane on grids of nodes×nodes, with the diffusion √2·I
// and with a matrix at every node: 2,000 steps, then 16 samples 50 steps apart, as for the
// paper's training data.
func BenchmarkPlane(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: nodes}
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	p := sde.Plane{X: grid, Y: grid, Diffusion: []float32{math.Sqrt2}}
	var matrices []float32
	for n := range p.Nodes() {
		x, y := grid.At(n%nodes), grid.At(n/nodes)
		p.Drift = append(p.Drift, float32(-x+math.Sin(2*y)), float32(-y+math.Sin(2*x)))
		matrices = append(matrices, float32(1+0.3*math.Cos(x)), float32(0.3*math.Sin(y)), float32(0.3*math.Sin(x)), float32(1+0.3*math.Cos(y)))
	}
	what := fmt.Sprintf("2D Euler–Maruyama, %d×%d nodes, ", nodes, nodes)
	scheme := Scheme{DT: 0.01, BurnIn: 2000, Thin: 50, Chains: benchmarkChains}
	constant, err := benchmark(ctx, what+"constant diffusion", p, scheme, 16, functions, rounds)
	if err != nil {
		return nil, err
	}
	p.Diffusion = matrices
	full, err := benchmark(ctx, what+"full diffusion", p, scheme, 16, functions, rounds)
	return append(constant, full...), err
}

// benchmarkChains fill the lanes twice.
const benchmarkChains = 2 * lanes

func benchmark(
	ctx context.Context, what string, system sde.System, scheme Scheme, samples, functions, rounds int,
) ([]stopwatch.Measurement, error) {
	if functions < 1 || functions > 1<<16 {
		return nil, fmt.Errorf("%d functions: must be 1 to %d", functions, 1<<16)
	}
	batch := Batch{
		Count:   functions,
		System:  func(int) (sde.System, error) { return system, nil },
		Scheme:  scheme,
		Purpose: "benchmark",
	}
	chains := functions * scheme.Chains
	dst := make([]float32, chains*samples*system.Dim())
	steps := float64(chains) * float64(scheme.Steps(samples))
	var measured []stopwatch.Measurement
	for _, engine := range engines {
		m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
			Engine: engine.String(), What: what, Size: fmt.Sprintf("%d×%d", functions, scheme.Chains), Unit: "steps",
		}, rounds, steps, func(ctx context.Context) error {
			return engine.Simulate(ctx, dst, batch, nil)
		})
		if err != nil {
			return nil, err
		}
		measured = append(measured, m)
	}
	return measured, nil
}
