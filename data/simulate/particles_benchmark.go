package simulate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/stopwatch"
)

// BenchmarkParticles times whole steps of particles with a Morse potential, 16
// functions of 16 chains spread over all cores by Each, on every engine that
// runs here. It counts unordered pairs of particles. A round lasts 0.2 s or
// more.
func BenchmarkParticles(ctx context.Context, particles, rounds int) ([]stopwatch.Measurement, error) {
	if particles < 2 || particles > sde.MaxParticles {
		return nil, fmt.Errorf("%d particles are outside 2 to %d", particles, sde.MaxParticles)
	}
	morse := func(r2 float64) float64 { // U = 2((1 − e)² − 1), e = exp(−3(r − 1))
		r := math.Sqrt(r2)
		e := math.Exp(-3 * (r - 1))
		return -12 * (1 - e) * e / r
	}
	system := sde.Particles{N: particles, Trap: 0.5, Noise: 1, Force: sde.Tabulate(morse, 0.6, 4)}
	const functions, chains = 16, 16
	width := chains * system.Dim()
	dst := make([]float32, functions*width)
	var measured []stopwatch.Measurement
	for _, name := range Engines() {
		engine, err := NewEngine(name)
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, steps int) error {
			scheme := Scheme{DT: 1e-4, BurnIn: steps, Thin: 1, Chains: chains, Start: 1.5}
			return Each(ctx, functions, func(ctx context.Context, i int) error {
				return engine.EulerMaruyama(ctx, dst[i*width:(i+1)*width], system, scheme, 0, uint64(i), "benchmark")
			}, nil)
		}
		steps := 1
		for took := time.Duration(0); took < 200*time.Millisecond; {
			steps *= 2
			start := time.Now()
			if err := run(ctx, steps); err != nil {
				return nil, err
			}
			took = time.Since(start)
		}
		pairs := float64(functions*chains) * float64(steps) * float64(particles*(particles-1)/2)
		m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
			Engine: name, What: fmt.Sprintf("pair forces, %d particles", particles), Size: fmt.Sprintf("%d×%d", functions, chains), Unit: "pairs",
		}, rounds, pairs, func(ctx context.Context) error { return run(ctx, steps) })
		if err != nil {
			return nil, err
		}
		measured = append(measured, m)
	}
	return measured, nil
}
