package kernels

import (
	"fmt"
	"math"
	"testing"
)

func TestBumps(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, width := range []int{1, 8, 13, 24, 32} {
			got := make([]float32, width)
			for _, u := range []float32{-40, -1, 0, 0.3, 7.5, 23, 60} {
				Bumps(got, u)
				for k, v := range got {
					d := float64(u) - float64(k)
					// Rounding of (u − k)² grows with it.
					if want := math.Exp(-0.5 * d * d); !(math.Abs(float64(v)-want) <= 4e-7*(1+d*d)*want+1e-37) {
						t.Errorf("bump %d of %d at %g is %g, want %g", k, width, u, v, want)
					}
				}
			}
		}
	})
}

// The sums are those in float64, for widths that fill vectors and widths that do not.
func TestMessages(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, size := range [][2]int{{1, 1}, {3, 8}, {32, 24}, {7, 13}} {
			n, width := size[0], size[1]
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				w, p := numbers(n*width, "weights"), numbers(n*width, "messages")
				x, y := numbers(n, "x"), numbers(n, "y")
				got := numbers(3*width, "old values")
				Messages(got, w, p, x, y)
				for k := range width {
					var want [3]float64
					for j := range n {
						m := float64(w[j*width+k]) * float64(p[j*width+k])
						want[0] += m
						want[1] += m * float64(x[j])
						want[2] += m * float64(y[j])
					}
					for part, v := range want {
						if d := math.Abs(float64(got[part*width+k]) - v); !(d <= 1e-5*max(1, math.Abs(v))) {
							t.Errorf("sum %d of %d is %g, want %g", part, k, got[part*width+k], v)
						}
					}
				}
			})
		}
	})
}
