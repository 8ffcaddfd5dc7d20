package probe

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The probes of one function of the paper: cn2d with 256 sensors, particles64d
// with 512 pairs, on one goroutine.
func BenchmarkFill(b *testing.B) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: 32}
	plane := sde.Plane{X: grid, Y: grid, Diffusion: []float32{math.Sqrt2}}
	for n := range plane.Nodes() {
		x, y := grid.At(n%32), grid.At(n/32)
		plane.Drift = append(plane.Drift, float32(-x+math.Sin(2*y)), float32(-y+math.Sin(2*x)))
	}
	particles := sde.Particles{N: 32, Trap: 0.5, Noise: 1, Force: sde.Tabulate(func(r2 float64) float64 { return math.Exp(-r2) }, 0, 4)}
	for _, c := range []struct {
		system sde.System
		config Config
	}{
		{plane, Config{Kind: Trajectory, Sensors: 256, Steps: 20, DT: 0.01}},
		{plane, Config{Kind: Walk, Sensors: 256, Steps: 20, DT: 0.0025}},
		{particles, Config{Kind: Pairs, Sensors: 512, Steps: 20, DT: 0.001}},
	} {
		b.Run(string(c.config.Kind), func(b *testing.B) {
			dst := make([]float32, c.config.Size())
			b.ReportAllocs()
			var i uint64
			for b.Loop() {
				if err := c.config.Fill(dst, c.system, 1, "train", i); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(c.config.Sensors*c.config.Steps)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
