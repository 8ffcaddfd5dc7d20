package simulate

import (
	"context"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Far from 0, where a step's noise is below the spacing of float32 numbers (10⁻³ at 10⁴), the
// samples still have the law: the mean of the equation, and the variance σ²/(2a − a²dt).
func TestNoiseFarFromZero(t *testing.T) {
	const mean, sigma, dt, chains = 1e4, 0.07, 1e-4, 4096
	const a = 50.
	grid := sde.Grid{Lo: mean - 1, Hi: mean + 1, N: 17}
	line := tabulate(grid, func(x float64) float64 { return -a * (x - mean) }, func(float64) float64 { return sigma })
	plane := sde.Plane{X: grid, Y: sde.Grid{Lo: -1, Hi: 1, N: 17}, Diffusion: []float32{sigma}}
	for j := range 17 {
		for i := range 17 {
			plane.Drift = append(plane.Drift, float32(-a*(grid.At(i)-mean)), float32(-a*plane.Y.At(j)))
		}
	}
	for _, test := range []struct {
		name   string
		system sde.System
		start  Start
	}{{"line", line, "normal(1e4, 0.01)"}, {"plane", plane, "normal(1e4, 0.01); normal(0, 0.01)"}} {
		d := test.system.Dim()
		for _, e := range engines {
			dst := make([]float32, chains*d)
			if err := e.Chains(context.Background(), dst, test.system, Scheme{DT: dt, BurnIn: 1200, Thin: 1, Chains: chains, Start: test.start}, 1, 0, "far"); err != nil {
				t.Fatal(err)
			}
			for k := range d {
				want := mean * float64(1-k)
				var sum, squares float64
				for at := k; at < len(dst); at += d {
					v := float64(dst[at]) - want
					sum, squares = sum+v, squares+v*v
				}
				bias, ratio := sum/chains, squares/chains/(sigma*sigma/(2*a-a*a*dt))
				// Five standard errors.
				if math.Abs(bias) > 5*0.007/64 || math.Abs(ratio-1) > 5*math.Sqrt(2./chains) {
					t.Errorf("%s on %v, coordinate %d: mean off by %.2g, variance ratio %.4f", test.name, e, k, bias, ratio)
				}
			}
		}
	}
}
