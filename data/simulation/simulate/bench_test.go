package simulate

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// tabulate evaluates coefficients on a grid.
func tabulate(g sde.Grid, drift, diffusion func(x float64) float64) sde.Coefficients {
	c := sde.Coefficients{Grid: g, Drift: make([]float32, g.N), Diffusion: make([]float32, g.N)}
	for i := range g.N {
		c.Drift[i], c.Diffusion[i] = float32(drift(g.At(i))), float32(diffusion(g.At(i)))
	}
	return c
}

// Steps per second of one goroutine, for the paper's two grids on the line and
// two kinds of diffusion in the plane, on every engine.
func BenchmarkEulerMaruyama(b *testing.B) {
	line := func(nodes int) sde.Coefficients {
		return tabulate(sde.Grid{Lo: -5, Hi: 5, N: nodes},
			func(x float64) float64 { return -x + math.Sin(3*x) },
			func(x float64) float64 { return 1 + 0.3*math.Cos(x) })
	}
	for _, e := range engines {
		for _, c := range []struct {
			name   string
			system sde.System
		}{
			{"nodes=64", line(64)}, {"nodes=256", line(256)},
			{"plane=constant", smoothPlane(1, true)}, {"plane=full", smoothPlane(4, false)},
		} {
			b.Run(fmt.Sprintf("%v/%s", e, c.name), func(b *testing.B) {
				s := Scheme{DT: 0.01, BurnIn: 1000, Thin: 10, Chains: 128}
				dst := make([]float32, 128*32*c.system.Dim())
				b.ReportAllocs()
				for i := range b.N {
					if err := e.Chains(context.Background(), dst, c.system, s, 1, uint64(i), "bench"); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(s.Steps(32)*s.Chains)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msteps/s")
			})
		}
	}
}

func BenchmarkNormals(b *testing.B) {
	for _, e := range engines {
		b.Run(e.String(), func(b *testing.B) {
			n := new(normals)
			for l := range lanes {
				n.seed(l, 1, "bench", 0, uint64(l))
			}
			b.ResetTimer()
			for range b.N {
				e.fill(n, lanes)
			}
			b.ReportMetric(float64(lanes*window)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
