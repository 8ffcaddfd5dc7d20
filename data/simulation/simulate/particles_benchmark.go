package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
)

// BenchmarkParticles times particles with a Morse potential, 16 functions of 16
// chains spread over all cores, on every engine that runs here: whole steps, and
// the pair forces alone, always at the start. It counts unordered pairs of
// particles.
func BenchmarkParticles(ctx context.Context, particles, rounds int) ([]stopwatch.Measurement, error) {
	if particles < 2 || particles > sde.MaxParticles {
		return nil, fmt.Errorf("%d particles are outside 2 to %d", particles, sde.MaxParticles)
	}
	perStep := particles * (particles - 1) / 2
	return measureParticles(ctx, particles, max(1<<20/perStep, 1), rounds) // some milliseconds for a function
}

// measureParticles takes that many steps in a round.
func measureParticles(ctx context.Context, particles, steps, rounds int) ([]stopwatch.Measurement, error) {
	morse := func(r2 float64) float64 { // U = 2((1 − e)² − 1), e = exp(−3(r − 1))
		r := math.Sqrt(r2)
		e := math.Exp(-3 * (r - 1))
		return -12 * (1 - e) * e / r
	}
	system := sde.Particles{N: particles, Trap: 0.5, Noise: 1, Force: sde.Tabulate(morse, 0.6, 4)}
	const functions, chains = 16, 16
	width := chains * system.Dim()
	dst := make([]float32, functions*width)
	perStep := particles * (particles - 1) / 2
	pairs := float64(functions*chains) * float64(steps) * float64(perStep)
	scheme := Scheme{DT: 1e-4, Thin: 1, Chains: chains, Start: "1.5"}
	walk := func(ctx context.Context, e *Engine, dst []float32, function uint64) error {
		s := scheme
		s.BurnIn = steps
		return e.Chains(ctx, dst, system, s, 0, function, "benchmark")
	}
	push := func(ctx context.Context, e *Engine, dst []float32, function uint64) error {
		w := newSwarm(e, system, scheme)
		w.active = chains
		err := w.run(ctx, dst, scheme, 0, 1, stream{purpose: "benchmark", function: function})
		for i := 0; i < steps && err == nil; i++ {
			err = w.forces(ctx, w.f, w.x, nil)
		}
		return err
	}
	var measured []stopwatch.Measurement
	for _, engine := range engines {
		for _, timed := range []struct {
			what string
			run  func(ctx context.Context, e *Engine, dst []float32, function uint64) error
		}{{"particle steps", walk}, {"pair forces", push}} {
			m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
				Engine: engine.String(), What: fmt.Sprintf("%s, %d particles", timed.what, particles),
				Size: fmt.Sprintf("%d×%d", functions, chains), Unit: "pairs",
			}, rounds, pairs, func(ctx context.Context) error {
				return Each(ctx, functions, func(ctx context.Context, i int) error {
					return timed.run(ctx, engine, dst[i*width:(i+1)*width], uint64(i))
				}, nil)
			})
			if err != nil {
				return nil, err
			}
			measured = append(measured, m)
		}
	}
	return measured, nil
}
