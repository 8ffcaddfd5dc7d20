package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/sde"
)

// diffusions are the six kinds, by the numbers at a node and whether they vary.
var diffusions = []struct {
	terms    int
	constant bool
}{{1, true}, {2, true}, {4, true}, {1, false}, {2, false}, {4, false}}

// jaggedPlane has coefficients that differ at every node, an inward pull, and
// different spacings.
func jaggedPlane(nx, ny, terms int, constant bool) sde.Plane {
	r := rand.New(rand.NewPCG(uint64(nx), uint64(ny)))
	p := sde.Plane{X: sde.Grid{Lo: -3, Hi: 2.5, N: nx}, Y: sde.Grid{Lo: -1, Hi: 6, N: ny}}
	for n := range p.Nodes() {
		x, y := p.X.At(n%nx), p.Y.At(n/nx)
		p.Drift = append(p.Drift, float32(-x+r.NormFloat64()), float32(2-y+r.NormFloat64()))
		if n > 0 && constant {
			continue
		}
		for term := range terms {
			s := 0.5 + r.Float64()
			if terms == 4 && (term == 1 || term == 2) { // dominated by the diagonal
				s = 0.9 * (r.Float64() - 0.5)
			}
			p.Diffusion = append(p.Diffusion, float32(s))
		}
	}
	return p
}

var planeSizes = [][2]int{{2, 2}, {2, 7}, {32, 32}, {40, 3}, {3, 200}}

// All engines give the plain one's samples to the last bit, for all kinds of
// diffusion and awkward grids and numbers of chains and steps.
func TestPlaneEnginesAgree(t *testing.T) {
	schemes := []Scheme{
		{DT: 0.01, BurnIn: 0, Thin: 1, Chains: 1},
		{DT: 0.05, BurnIn: 3, Thin: 2, Chains: 7},
		{DT: 0.02, BurnIn: 7, Thin: 8, Chains: 15},
		{DT: 0.02, BurnIn: 8, Thin: 9, Chains: 16},
		{DT: 0.1, BurnIn: 37, Thin: 10, Chains: 17},
		{DT: 0.01, BurnIn: 40, Thin: 3, Chains: 63},
		{DT: 0.01, BurnIn: 17, Thin: 33, Chains: 64},
		{DT: 0.3, BurnIn: 16, Thin: 1, Chains: 65},
		{DT: 0.03, BurnIn: 100, Thin: 5, Chains: 130},
	}
	for _, e := range otherEngines(t) {
		for _, size := range planeSizes {
			for k, kind := range diffusions {
				p := jaggedPlane(size[0], size[1], kind.terms, kind.constant)
				if terms, constant := p.DiffusionTerms(); terms != kind.terms || constant != kind.constant {
					continue // the four numbers of one matrix are those of 2×2 nodes
				}
				for function, s := range schemes {
					compareEngines(t, e, p, s, 5, uint64(10*function+k))
				}
			}
		}
	}
}

func BenchmarkPlaneEulerMaruyama(b *testing.B) {
	for _, e := range engines {
		for _, kind := range diffusions {
			for _, chains := range []int{16, 64} {
				b.Run(fmt.Sprintf("%v/terms=%d/constant=%t/chains=%d", e, kind.terms, kind.constant, chains), func(b *testing.B) {
					p := jaggedPlane(32, 32, kind.terms, kind.constant)
					s := Scheme{DT: 0.01, BurnIn: 1000, Thin: 10, Chains: chains}
					dst := make([]float32, chains*32*2)
					for i := range b.N {
						if err := e.EulerMaruyama(context.Background(), dst, p, s, 1, uint64(i), "bench"); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(s.Steps(32)*s.Chains)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msteps/s")
				})
			}
		}
	}
}

var _ = math.Pi
