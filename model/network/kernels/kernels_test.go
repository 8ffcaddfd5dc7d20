package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// numbers are n normal draws.
func numbers(n int, purpose string) []float32 {
	source := random.New(1, purpose, uint64(n))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(source.NormFloat64())
	}
	return x
}

// The layer is the matrix product in float64, for sizes that fill tiles and sizes that do not.
func TestDense(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, size := range [][3]int{{1, 1, 1}, {6, 32, 32}, {7, 33, 31}, {5, 257, 65}, {13, 3, 100}} {
			n, in, out := size[0], size[1], size[2]
			w, b, x := numbers(in*out, "weight"), numbers(out, "bias"), numbers(n*in, "input")
			for _, activate := range []bool{false, true} {
				got := make([]float32, n*out)
				NewDense(w, b, in, out).Apply(got, x, activate)
				for i := range n {
					for j := range out {
						want := float64(b[j])
						for k := range in {
							want += float64(x[i*in+k]) * float64(w[k*out+j])
						}
						if activate {
							want *= math.Erfc(-want/math.Sqrt2) / 2
						}
						if d := math.Abs(float64(got[i*out+j]) - want); !(d <= 2e-6*math.Sqrt(float64(in))*max(1, math.Abs(want))) {
							t.Fatalf("%d×%d→%d, activate %t: [%d, %d] is %g, want %g", n, in, out, activate, i, j, got[i*out+j], want)
						}
					}
				}
			}
		}
	})
}

func TestGELU(t *testing.T) {
	each(t, func(t *testing.T) {
		var x []float32
		for i := -2000; i <= 2001; i++ {
			x = append(x, float32(i)/200)
		}
		x = append(x, -1e6, 1e6, 0)
		y := append([]float32(nil), x...)
		GELU(y)
		for i, v := range x {
			want := float64(v) * math.Erfc(-float64(v)/math.Sqrt2) / 2
			if d := math.Abs(float64(y[i]) - want); !(d <= 5e-7*max(1, math.Abs(float64(v)))) {
				t.Errorf("GELU(%g) is %g, want %g", v, y[i], want)
			}
		}
	})
}

func BenchmarkDense(b *testing.B) {
	for _, size := range [][3]int{{2304, 256, 256}, {1, 1024, 256}, {16, 257, 4096}} {
		n, in, out := size[0], size[1], size[2]
		b.Run(fmt.Sprintf("%dx%dto%d", n, in, out), func(b *testing.B) {
			d := NewDense(numbers(in*out, "weight"), nil, in, out)
			x, y := numbers(n*in, "input"), make([]float32, n*out)
			for b.Loop() {
				d.Apply(y, x, false)
			}
			b.ReportMetric(2*float64(n)*float64(in)*float64(out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkGELU(b *testing.B) {
	x := numbers(1<<12, "x")
	for b.Loop() {
		GELU(x)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds()/1e9, "G/s")
}
