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
			for _, activation := range []Activation{Linear, GELU, Mish} {
				got := make([]float32, n*out)
				NewDense(w, b, in, out).Apply(got, x, activation)
				for i := range n {
					for j := range out {
						want := float64(b[j])
						for k := range in {
							want += float64(x[i*in+k]) * float64(w[k*out+j])
						}
						want = activated(activation, want)
						if d := math.Abs(float64(got[i*out+j]) - want); !(d <= 2e-6*math.Sqrt(float64(in))*max(1, math.Abs(want))) {
							t.Fatalf("%d×%d→%d, activation %d: [%d, %d] is %g, want %g", n, in, out, activation, i, j, got[i*out+j], want)
						}
					}
				}
			}
		}
	})
}

// activated is the activation in float64.
func activated(a Activation, x float64) float64 {
	switch a {
	case GELU:
		return x * math.Erfc(-x/math.Sqrt2) / 2
	case Mish:
		return x * math.Tanh(math.Log1p(math.Exp(x)))
	}
	return x
}

func TestActivations(t *testing.T) {
	each(t, func(t *testing.T) {
		var x []float32
		for i := -2000; i <= 2001; i++ {
			x = append(x, float32(i)/200)
		}
		x = append(x, -1e6, -100, -50, 15, 25, 50, 100, 1e6, 0)
		for _, a := range []Activation{GELU, Mish} {
			y := append([]float32(nil), x...)
			a.Apply(y)
			for i, v := range x {
				want := activated(a, float64(v))
				if v > 500 {
					want = float64(v) // the exponential overflows
				}
				if d := math.Abs(float64(y[i]) - want); !(d <= 5e-7*max(1, math.Abs(float64(v)))) {
					t.Errorf("activation %d of %g is %g, want %g", a, v, y[i], want)
				}
			}
		}
	})
}

// rowWidths are the widths of rows in the tests: multiples of every vector's length, and others.
var rowWidths = []int{1, 6, 8, 24, 32, 37, 128}

func TestNormalise(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, width := range rowWidths {
			x, gain, shift := numbers(5*width, "input"), numbers(width, "gain"), numbers(width, "shift")
			for i := range x {
				x[i] = 3*x[i] + 10
			}
			for _, a := range []Activation{Linear, GELU, Mish} {
				got := append([]float32(nil), x...)
				Normalise(got, got, gain, shift, a)
				for first := 0; first < len(x); first += width {
					var mean, variance float64
					for _, v := range x[first : first+width] {
						mean += float64(v) / float64(width)
					}
					for _, v := range x[first : first+width] {
						variance += (float64(v) - mean) * (float64(v) - mean) / float64(width)
					}
					for i, v := range x[first : first+width] {
						want := activated(a, (float64(v)-mean)/math.Sqrt(variance+1e-5)*float64(gain[i])+float64(shift[i]))
						if d := math.Abs(float64(got[first+i]) - want); !(d <= 1e-5*max(1, math.Abs(want))) {
							t.Fatalf("width %d, activation %d: [%d] is %g, want %g", width, a, first+i, got[first+i], want)
						}
					}
				}
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, width := range rowWidths {
			x := numbers(5*width, "input")
			for i := range x {
				x[i] = 20*x[i] + 300
			}
			got := append([]float32(nil), x...)
			Softmax(got, width)
			for first := 0; first < len(x); first += width {
				var sum float64
				for _, v := range x[first : first+width] {
					sum += math.Exp(float64(v) - 300)
				}
				for i, v := range x[first : first+width] {
					want := math.Exp(float64(v)-300) / sum
					if d := math.Abs(float64(got[first+i]) - want); !(d <= 1e-6) {
						t.Fatalf("width %d: [%d] is %g, want %g", width, first+i, got[first+i], want)
					}
				}
			}
		}
	})
}

func TestRows(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, width := range rowWidths {
			x, y, gain := numbers(3*width, "x"), numbers(3*width+1, "y")[1:], numbers(width, "gain")
			scaled, added := append([]float32(nil), x...), append([]float32(nil), x...)
			Scale(scaled, gain)
			AddScaled(added, y, gain)
			for i, v := range x {
				g := float64(gain[i%width])
				if want := float64(v) * g; !(math.Abs(float64(scaled[i])-want) <= 1e-6*max(1, math.Abs(want))) {
					t.Fatalf("width %d: scaled[%d] is %g, want %g", width, i, scaled[i], want)
				}
				if want := float64(v) + float64(y[i])*g; !(math.Abs(float64(added[i])-want) <= 1e-6*max(1, math.Abs(want))) {
					t.Fatalf("width %d: added[%d] is %g, want %g", width, i, added[i], want)
				}
			}
			var want float64
			for i, v := range x[:width] {
				want += float64(v) * float64(y[i])
			}
			if got := float64(Dot(x[:width], y[:width])); !(math.Abs(got-want) <= 2e-6*math.Sqrt(float64(width))*max(1, math.Abs(want))) {
				t.Fatalf("width %d: product is %g, want %g", width, got, want)
			}
		}
	})
}

// Every head is softmax(QKᵀ)V in float64, whatever the sizes, and a second state does not see
// the first one.
func TestAttention(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, size := range [][3]int{{1, 1, 1}, {4, 2, 4}, {32, 4, 32}, {45, 3, 40}} {
			tokens, heads, head := size[0], size[1], size[2]
			width := heads * head
			attention := NewAttention(tokens, heads, head)
			for _, purpose := range []string{"first", "second"} {
				x := numbers(tokens*3*width, purpose)
				at := func(i, part, h, k int) float64 { return float64(x[i*3*width+part*width+h*head+k]) }
				got := make([]float32, tokens*width)
				attention.Apply(got, x)
				for h := range heads {
					for i := range tokens {
						scores, sum := make([]float64, tokens), 0.
						for j := range scores {
							for k := range head {
								scores[j] += at(i, 0, h, k) * at(j, 1, h, k)
							}
							scores[j] = math.Exp(scores[j])
							sum += scores[j]
						}
						for k := range head {
							var want float64
							for j, s := range scores {
								want += s / sum * at(j, 2, h, k)
							}
							if v := got[i*width+h*head+k]; !(math.Abs(float64(v)-want) <= 2e-5) {
								t.Fatalf("%v, %s: head %d, token %d, number %d is %g, want %g", size, purpose, h, i, k, v, want)
							}
						}
					}
				}
			}
		}
	})
}

// The same weights can be set by rows and by columns, and a layer with another bias leaves the
// first as it is.
func TestSetColumn(t *testing.T) {
	const in, out = 5, 37
	w, b, x := numbers(in*out, "weight"), numbers(out, "bias"), numbers(in, "input")
	rows, columns := NewDense(w, nil, in, out), EmptyDense(in, out)
	column := make([]float32, in)
	for j := range out {
		for k := range column {
			column[k] = w[k*out+j]
		}
		columns.SetColumn(j, column)
	}
	want, got, biased := make([]float32, out), make([]float32, out), make([]float32, out)
	rows.WithBias(b).Apply(biased, x, Linear)
	rows.Apply(want, x, Linear)
	columns.Apply(got, x, Linear)
	for j := range want {
		if got[j] != want[j] || math.Abs(float64(biased[j]-want[j]-b[j])) > 1e-6 {
			t.Fatalf("output %d is %g by columns, %g by rows, %g with a bias of %g", j, got[j], want[j], biased[j], b[j])
		}
	}
}

func BenchmarkDense(b *testing.B) {
	for _, size := range [][3]int{{2304, 256, 256}, {1, 1024, 256}, {16, 257, 4096}} {
		n, in, out := size[0], size[1], size[2]
		b.Run(fmt.Sprintf("%dx%dto%d", n, in, out), func(b *testing.B) {
			d := NewDense(numbers(in*out, "weight"), nil, in, out)
			x, y := numbers(n*in, "input"), make([]float32, n*out)
			for b.Loop() {
				d.Apply(y, x, Linear)
			}
			b.ReportMetric(2*float64(n)*float64(in)*float64(out)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkActivations(b *testing.B) {
	for a, name := range map[Activation]string{GELU: "gelu", Mish: "mish"} {
		b.Run(name, func(b *testing.B) {
			x := numbers(1<<12, "x")
			for b.Loop() {
				a.Apply(x)
			}
			b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds()/1e9, "G/s")
		})
	}
}

func BenchmarkNormalise(b *testing.B) {
	x, gain, shift := numbers(1<<14, "x"), numbers(128, "gain"), numbers(128, "shift")
	for b.Loop() {
		Normalise(x, x, gain, shift, Linear)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds()/1e9, "G/s")
}

func BenchmarkAttention(b *testing.B) {
	x, y, a := numbers(32*384, "x"), make([]float32, 32*128), NewAttention(32, 4, 32)
	for b.Loop() {
		a.Apply(y, x)
	}
	b.ReportMetric(4*32*32*128*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
