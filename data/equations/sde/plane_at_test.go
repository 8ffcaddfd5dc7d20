package sde

import (
	"math"
	"testing"
)

// Bilinear coefficients come out as they are, and beyond the grid as at its edge; every
// form of the diffusion becomes a matrix.
func TestPlaneAt(t *testing.T) {
	p := Plane{X: Grid{-1, 1, 5}, Y: Grid{0, 3, 4}}
	b := func(x, y float64) (float64, float64) { return 1 + x - 2*y + x*y, y - x }
	s := func(x, y float64, c int) float64 { return 5 + float64(c) + x*y }
	var diffusion [5][]float32
	for j := range p.Y.N {
		for i := range p.X.N {
			x, y := p.X.At(i), p.Y.At(j)
			b0, b1 := b(x, y)
			p.Drift = append(p.Drift, float32(b0), float32(b1))
			for _, k := range []int{1, 2, 4} {
				for c := range k {
					diffusion[k] = append(diffusion[k], float32(s(x, y, c)))
				}
			}
		}
	}
	for _, at := range [][2]float64{{0.3, 1.7}, {-1, 0}, {1, 3}, {2, 4}, {-9, 1.5}} {
		x, y := min(max(at[0], -1), 1), min(max(at[1], 0), 3)
		b0, b1 := b(x, y)
		v := [4]float64{s(x, y, 0), s(x, y, 1), s(x, y, 2), s(x, y, 3)}
		for _, c := range []struct {
			diffusion []float32
			want      [4]float64
		}{
			{[]float32{2}, [4]float64{2, 0, 0, 2}}, {[]float32{0, 3}, [4]float64{0, 0, 0, 3}}, {[]float32{1, 2, 3, 4}, [4]float64{1, 2, 3, 4}},
			{diffusion[1], [4]float64{v[0], 0, 0, v[0]}}, {diffusion[2], [4]float64{v[0], 0, 0, v[1]}}, {diffusion[4], v},
		} {
			p.Diffusion = c.diffusion
			drift, got := p.At(at[0], at[1])
			worst := max(math.Abs(drift[0]-b0), math.Abs(drift[1]-b1))
			for k := range got {
				worst = max(worst, math.Abs(got[k]-c.want[k]))
			}
			if !(worst <= 1e-5) {
				t.Errorf("at %v: drift %v, diffusion %v, want %v, %v and %v", at, drift, got, b0, b1, c.want)
			}
		}
	}
}
