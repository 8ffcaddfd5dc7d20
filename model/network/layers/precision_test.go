package layers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// bfloat16 rounds to the nearest number with 8 bits of mantissa, ties to even.
func bfloat16(x float32) float64 {
	bits := math.Float32bits(x)
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// A product of bfloat16, and both of its gradients, are sums of products of
// rounded factors, and the sums are not rounded: they agree with those in float64
// to 1e-5 of their terms' sizes, where a rounding more or less would make 1e-3.
func TestBFloat16Product(t *testing.T) {
	const n, k, m = 7, 300, 5
	fill := func(size int, f func(float64) float64) []float32 {
		values := make([]float32, size)
		for i := range values {
			values[i] = float32(f(float64(i)))
		}
		return values
	}
	x, w, g := fill(n*k, math.Sin), fill(k*m, func(v float64) float64 { return math.Cos(v * v) }), fill(n*m, math.Cos)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for name, product := range map[string]func(x, w *graph.Node) *graph.Node{
			"Product": layers.BFloat16.Product,
			"Einsum": func(x, w *graph.Node) *graph.Node {
				return graph.Transpose(layers.BFloat16.Einsum("nk,km->mn", x, w), 0, 1)
			},
		} {
			t.Run(name, func(t *testing.T) {
				got := products(t, b, product, x, w, g, n, k, m)
				for i := range n {
					for j := range m {
						var want, size float64
						for l := range k {
							term := bfloat16(x[i*k+l]) * bfloat16(w[l*m+j])
							want, size = want+term, size+math.Abs(term)
						}
						checkClose(t, fmt.Sprintf("product[%d,%d]", i, j), got[0][i*m+j], want, size)
					}
					for l := range k {
						var want, size float64
						for j := range m {
							term := bfloat16(g[i*m+j]) * bfloat16(w[l*m+j])
							want, size = want+term, size+math.Abs(term)
						}
						checkClose(t, fmt.Sprintf("gradient of x[%d,%d]", i, l), got[1][i*k+l], want, size)
					}
				}
				for l := range k {
					for j := range m {
						var want, size float64
						for i := range n {
							term := bfloat16(x[i*k+l]) * bfloat16(g[i*m+j])
							want, size = want+term, size+math.Abs(term)
						}
						checkClose(t, fmt.Sprintf("gradient of w[%d,%d]", l, j), got[2][l*m+j], want, size)
					}
				}
			})
		}
	})
}

// products returns y = f(x, w) and the gradients of Σ g·y.
func products(t *testing.T, b *backend.Backend, f func(x, w *graph.Node) *graph.Node, x, w, g []float32, n, k, m int) [][]float32 {
	t.Helper()
	inputs := []shapes.Shape{backend.Shape(n, k), backend.Shape(k, m), backend.Shape(n, m)}
	program, err := b.Compile("product", inputs, func(in []*graph.Node) []*graph.Node {
		y := f(in[0], in[1])
		return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllSum(graph.Mul(y, in[2])), in[0], in[1])...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	return backendtest.Run(t, b, program, x, w, g)
}

func checkClose(t *testing.T, what string, got float32, want, size float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= 1e-5*size) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The products of the networks, and their gradients, run in bfloat16 on every
// backend, at sizes for which XLA has a kernel of its own, and agree with float32.
func TestBFloat16Einsum(t *testing.T) {
	sizes := map[rune]int{'n': 8, 'q': 4, 'k': 4, 'h': 4, 'd': 32, 'm': 16, 'e': 16, 's': 8}
	for _, equation := range []string{
		"nqhd,nkhd->nhqk", "nhqk,nkhd->nqhd", // attention
		"nkhd,ehd->nhke", "nqe,nme->nqm", "nqm,nme->nqe", "nhke,ehd->nkhd", // of latent tokens to sensors
		"nq,kq->nk", "nqd,kqd->ndk", "nsk,nk->ns", "nsk,ndk->nsd", // the DeepONet's
	} {
		t.Run(equation, func(t *testing.T) {
			var shape [2][]int
			factors, _, _ := strings.Cut(equation, "->")
			for i, indices := range strings.Split(factors, ",") {
				for _, index := range indices {
					shape[i] = append(shape[i], sizes[index])
				}
			}
			backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
				program, err := b.Compile("einsum", []shapes.Shape{backend.Shape(shape[0]...), backend.Shape(shape[1]...)}, func(in []*graph.Node) []*graph.Node {
					var of [2][]*graph.Node
					for i, precision := range layers.Precisions() {
						y := precision.Einsum(equation, in[0], in[1])
						of[i] = append(graph.Gradient(graph.ReduceAllSum(graph.Mul(y, y)), in[0], in[1]), y)
					}
					var errors []*graph.Node // squared, relative
					for i, exact := range of[0] {
						d := graph.Sub(of[1][i], exact)
						errors = append(errors, graph.Div(graph.ReduceAllSum(graph.Mul(d, d)), graph.ReduceAllSum(graph.Mul(exact, exact))))
					}
					return []*graph.Node{graph.Stack(errors, 0)}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer program.Close()
				var buffers []backend.Buffer
				defer func() { backend.Free(buffers...) }()
				for i := range shape {
					values := make([]float32, program.Input(i).Size())
					for j := range values {
						values[j] = float32(math.Sin(float64((i+1)*j*j + j)))
					}
					buffer, err := b.Upload(values, shape[i]...)
					if err != nil {
						t.Fatal(err)
					}
					buffers = append(buffers, buffer)
				}
				outputs, err := program.Run(buffers...)
				if err != nil {
					t.Fatal(err)
				}
				buffers = append(buffers, outputs...)
				var got [3]float32
				if err := backend.Download(got[:], outputs[0]); err != nil {
					t.Fatal(err)
				}
				for i, what := range []string{"gradient of the first", "gradient of the second", "result"} {
					if d := math.Sqrt(float64(got[i])); !(d > 1e-5 && d < 0.01) {
						t.Errorf("%s is %.2g from float32, relative to its length", what, d)
					}
				}
			})
		})
	}
}
