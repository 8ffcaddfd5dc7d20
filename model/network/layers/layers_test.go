package layers_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// run returns f(x) and the gradient of Σ w·f(x) of x and w [rows, n].
func run(t *testing.T, b *backend.Backend, x, w []float32, rows int, f func(*graph.Node) *graph.Node) (y, gradient []float32) {
	t.Helper()
	shape := backend.Shape(rows, len(x)/rows)
	program, err := b.Compile("layer", []shapes.Shape{shape, shape}, func(in []*graph.Node) []*graph.Node {
		y := f(in[0])
		return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllSum(graph.Mul(y, in[1])), in[0])...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	results := backendtest.Run(t, b, program, x, w)
	return results[0], results[1]
}

// points from −30 to 30, dense around zero, and far outside.
func points() []float32 {
	x := []float32{-1e4, -200, -89, 89, 200, 1e4}
	for i := -100; i <= 100; i++ {
		x = append(x, float32(math.Copysign(30*math.Pow(math.Abs(float64(i))/100, 3), float64(i))))
	}
	return x
}

// The activations and their gradients are the formulas, in float64.
func TestActivations(t *testing.T) {
	softplus := func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for name, test := range map[string]struct {
		layer        func(*graph.Node) *graph.Node
		value, slope func(float64) float64
	}{
		"Mish": {layers.Mish,
			func(x float64) float64 { return x * math.Tanh(softplus(x)) },
			func(x float64) float64 {
				s := math.Tanh(softplus(x))
				return s + x*(1-s*s)*sigmoid(x)
			}},
		"GELU": {layers.GELU,
			func(x float64) float64 { return x * phi(x) },
			func(x float64) float64 { return phi(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) }},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
				x := points()
				w := make([]float32, len(x))
				for i := range w {
					w[i] = float32(1 + i%3)
				}
				y, gradient := run(t, b, x, w, 1, test.layer)
				for i, v := range x {
					near(t, "value", v, y[i], test.value(float64(v)))
					near(t, "slope", v, gradient[i], float64(w[i])*test.slope(float64(v)))
				}
			})
		})
	}
}

// near fails unless got is within 2e-6 of want, relative to the largest of want, x and 1:
// XLA's erf(x) stays 9e-8 away from −1.
func near(t *testing.T, what string, x, got float32, want float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= 2e-6*max(1, math.Abs(want), math.Abs(float64(x)))) {
		t.Errorf("%s at %g is %g, want %g", what, x, got, want)
	}
}

// rowsOf are rows of numbers with means and scales of their own, the last of
// them constant.
func rowsOf(rows, n int) (x, w []float32) {
	for i := range rows * n {
		row := float64(i / n)
		value := row - 1 + (1+row)*math.Sin(float64(i*i%101))
		if i/n == rows-1 {
			value = 3
		}
		x, w = append(x, float32(value)), append(w, float32(math.Cos(float64(i))))
	}
	return x, w
}

// LayerNorm and its gradient as they are defined, in float64.
func TestNormalise(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const rows, n = 5, 16
		x, w := rowsOf(rows, n)
		y, gradient := run(t, b, x, w, rows, layers.Normalise)
		for r := range rows {
			row, g := x[r*n:(r+1)*n], w[r*n:(r+1)*n]
			var mean, variance, gMean, along float64
			for _, v := range row {
				mean += float64(v) / n
			}
			for _, v := range row {
				variance += (float64(v) - mean) * (float64(v) - mean) / n
			}
			scale := 1 / math.Sqrt(variance+1e-5)
			for i, v := range row {
				gMean += float64(g[i]) / n
				along += float64(g[i]) * (float64(v) - mean) * scale / n
			}
			for i, v := range row {
				want := (float64(v) - mean) * scale
				near(t, "value", v, y[r*n+i], want)
				near(t, "gradient", v, gradient[r*n+i], scale*(float64(g[i])-gMean-want*along))
			}
		}
	})
}

// The softmax of every row sums to one, is positive, does not change when a constant is
// added, and has the gradient p(g − Σpg).
func TestSoftmax(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const rows, n = 4, 8
		x, w := rowsOf(rows, n)
		for i := range n {
			x[i] += 500 // beyond the exponential's range
		}
		p, gradient := run(t, b, x, w, rows, layers.Softmax)
		for r := range rows {
			var total, average float64
			e := make([]float64, n)
			for i := range n {
				e[i] = math.Exp(float64(x[r*n+i]) - float64(x[r*n]))
				total += e[i]
			}
			for i := range n {
				average += e[i] / total * float64(w[r*n+i])
			}
			for i := range n {
				near(t, "value", x[r*n+i], p[r*n+i], e[i]/total)
				near(t, "gradient", x[r*n+i], gradient[r*n+i], e[i]/total*(float64(w[r*n+i])-average))
			}
		}
	})
}

// The frequencies go from low to high in equal ratios, and embed as sines and
// cosines in turn.
func TestEmbed(t *testing.T) {
	f := layers.Frequencies(3, 0.5, 8)
	for j, want := range []float64{0.5, 2, 8} {
		if !(math.Abs(f[j]-want) <= 1e-12) {
			t.Errorf("frequency %d is %g, want %g", j, f[j], want)
		}
	}
	if one := layers.Frequencies(1, 0.5, 8); one[0] != 0.5 {
		t.Errorf("one frequency is %g, want the lowest", one[0])
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		z := []float32{0, 0.1, 0.77, 1}
		program, err := b.Compile("embed", []shapes.Shape{backend.Shape(2, 2, 1)}, func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{layers.Embed(in[0], f)}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		input, err := b.Upload(z, 2, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Free(input)
		outputs, err := program.Run(input)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Free(outputs...)
		got := make([]float32, len(z)*6)
		if err := backend.Download(got, outputs[0]); err != nil {
			t.Fatal(err)
		}
		for i, v := range z {
			for j := range f {
				sin, cos := math.Sincos(2 * math.Pi * f[j] * float64(v))
				for k, want := range []float64{sin, cos} {
					if d := math.Abs(float64(got[6*i+2*j+k]) - want); !(d <= 1e-5) {
						t.Errorf("z = %g, frequency %g: %g, want %g", v, f[j], got[6*i+2*j+k], want)
					}
				}
			}
		}
	})
}

// NormGELU of rows with mean 0 is LayerNorm, gain, bias and GELU one after the
// other, in its value and all of its gradients.
func TestNormGELU(t *testing.T) {
	const n, steps, k = 3, 5, 16
	x, w := rowsOf(n*steps, k)
	gain, bias := make([]float32, k), make([]float32, k)
	for i := range gain {
		gain[i], bias[i] = 1+0.5*float32(math.Sin(float64(i))), 0.3*float32(math.Cos(float64(2*i)))
	}
	inputs := []shapes.Shape{backend.Shape(n, steps, k), backend.Shape(n, steps, k), backend.Shape(k), backend.Shape(k)}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		program, err := b.Compile("norm", inputs, func(in []*graph.Node) []*graph.Node {
			row := func(b *graph.Node) *graph.Node { return graph.Reshape(b, 1, 1, k) }
			centred := graph.Sub(in[0], graph.ReduceAndKeep(in[0], graph.ReduceMean, -1))
			deviation := graph.Sqrt(graph.AddScalar(graph.ReduceAndKeep(graph.Mul(centred, centred), graph.ReduceMean, -1), 1e-5))
			var outputs []*graph.Node
			for _, y := range []*graph.Node{
				layers.NormGELU(centred, in[2], in[3]),
				layers.GELU(graph.Add(graph.Mul(graph.Div(centred, deviation), row(in[2])), row(in[3]))),
			} {
				loss := graph.ReduceAllSum(graph.Mul(y, in[1]))
				outputs = append(append(outputs, y), graph.Gradient(loss, in[0], in[2], in[3])...)
			}
			return outputs
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		got := backendtest.Run(t, b, program, x, w, gain, bias)
		for i, what := range []string{"value", "gradient of x", "of the gain", "of the bias"} {
			for j, want := range got[4+i] {
				if d := math.Abs(float64(got[i][j] - want)); !(d <= 1e-5*max(1, math.Abs(float64(want)))) {
					t.Errorf("%s[%d] is %g, want %g", what, j, got[i][j], want)
				}
			}
		}
	})
}
