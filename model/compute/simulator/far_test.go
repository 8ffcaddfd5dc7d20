package simulator

import (
	"context"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

// Far from 0 devices keep noise that is below the spacing of float32 numbers, as the
// processor does: a free walk of variance σ²·time from its start.
func TestNoiseFarFromZero(t *testing.T) {
	const centre, sigma, dt, steps, chains = 1e4, 0.001, 0.01, 400, 1024
	grid := sde.Grid{Lo: centre - 1, Hi: centre + 1, N: 5}
	line := sde.Coefficients{Grid: grid, Drift: make([]float32, 5), Diffusion: []float32{sigma, sigma, sigma, sigma, sigma}}
	plane := sde.Plane{X: grid, Y: grid, Drift: make([]float32, 50), Diffusion: []float32{sigma}}
	want := math.Sqrt(sigma*sigma*dt*steps + 1e-8)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := opened(t, b)
		for name, system := range map[string]sde.System{"line": line, "plane": plane} {
			x := make([]float32, chains*system.Dim())
			err := s.Simulate(context.Background(), x, simulate.Batch{
				Count: 1, System: func(int) (sde.System, error) { return system, nil }, Purpose: "far",
				Scheme: simulate.Scheme{DT: dt, BurnIn: steps, Thin: 1, Chains: chains, Start: "normal(1e4, 1e-4)"},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			squares := 0.
			for _, v := range x {
				squares += (float64(v) - centre) * (float64(v) - centre)
			}
			// The array's numbers are 10⁻³ apart, which adds a variance of 10⁻⁶/12.
			deviation := math.Sqrt(squares/float64(len(x)) - 0x1p-20/12)
			if math.Abs(deviation/want-1) > 0.15 {
				t.Errorf("%s: deviation %.4g after %d steps, want %.4g", name, deviation, steps, want)
			}
		}
	})
}
