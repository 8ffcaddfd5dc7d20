//go:build linux && cgo && amd64

package products_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/compute/products"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// open opens XLA on the processor. ok: its programs can call the kernels.
func open(t *testing.T) (b *backend.Backend, ok bool) {
	t.Helper()
	b = backendtest.Fast(t)
	if b.Name != backend.XLACPU || !products.Supported() {
		t.Logf("without kernels: %s on %s", b.Name, b.Device)
		return b, false
	}
	return b, true
}

// matrix has normal numbers that are bfloat16, and random bits by its name.
func matrix(name string, rows, columns int) []float32 {
	source := random.New(1, "test/products/"+name, uint64(rows*columns))
	x := make([]float32, rows*columns)
	for i := range x {
		x[i] = rounded(float32(source.NormFloat64()))
	}
	return x
}

// rounded is the nearest bfloat16, ties to even.
func rounded(x float32) float32 {
	bits := math.Float32bits(x)
	bits += 0x7fff + bits>>16&1
	return math.Float32frombits(bits &^ 0xffff)
}

// reference is a·b in float64, and the sums of the terms' sizes. The matrices are stored as the
// transposes of [m, k] and [k, n] where it says so.
func reference(a, b []float32, m, k, n int, transposedA, transposedB bool) (c, size []float64) {
	c, size = make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for l := range k {
			x := a[i*k+l]
			if transposedA {
				x = a[l*m+i]
			}
			for j := range n {
				y := b[l*n+j]
				if transposedB {
					y = b[j*k+l]
				}
				term := float64(x) * float64(y)
				c[i*n+j] += term
				size[i*n+j] += math.Abs(term)
			}
		}
	}
	return c, size
}

func stored(rows, columns int, transposed bool) shapes.Shape {
	if transposed {
		rows, columns = columns, rows
	}
	return backend.Shape(rows, columns)
}

func bfloat16(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.BFloat16) }

// sizes have rows and columns beside the blocks of the kernels, odd sums, and sums that are split.
var sizes = [][3]int{ // m, k, n
	{1, 1, 1}, {7, 300, 5}, {48, 256, 64}, {49, 257, 65}, {6, 2, 130}, {95, 513, 16}, {33, 4100, 70}, {200, 2049, 31},
}

// Products are sums of the products of the factors in float32, whichever factor is stored as its
// transpose: they agree with those in float64 to 1e-6 of the terms' sizes.
func TestProducts(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	for _, s := range sizes {
		m, k, n := s[0], s[1], s[2]
		for stores := range 4 {
			transposedA, transposedB := stores&1 > 0, stores&2 > 0
			t.Run(fmt.Sprintf("%v transposed %v %v", s, transposedA, transposedB), func(t *testing.T) {
				x, y := matrix("a", m, k), matrix("b", k, n)
				axis := [2]int{1, 0}
				if transposedA {
					axis[0] = 0
				}
				if transposedB {
					axis[1] = 1
				}
				program, err := b.Compile(t.Name(), []shapes.Shape{stored(m, k, transposedA), stored(k, n, transposedB)}, func(in []*graph.Node) []*graph.Node {
					return []*graph.Node{graph.Dot(bfloat16(in[0]), bfloat16(in[1])).WithAccumulatorDType(dtypes.InvalidDType).
						WithOutputDType(dtypes.Float32).EinsumAxes([][2]int{axis}, nil)}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer program.Close()
				got := backendtest.Run(t, b, program, x, y)[0]
				want, size := reference(x, y, m, k, n, transposedA, transposedB)
				for i := range want {
					if !(math.Abs(float64(got[i])-want[i]) <= 1e-6*size[i]) {
						t.Fatalf("element %d is %g, want %g", i, got[i], want[i])
					}
				}
			})
		}
	}
}

func gelu(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }

func slope(x float64) float64 {
	return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// A layer, and its gradients, are those of the definition up to the rounding of the results and of
// the argument of GELU in the gradient.
func TestLayers(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	for _, s := range sizes {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			m, k, n := s[0], s[1], s[2]
			x, w, bias := matrix("x", m, k), matrix("w", k, n), matrix("bias", 1, n)
			for i := range w {
				w[i] = rounded(w[i] / float32(math.Sqrt(float64(k)))) // GELU's argument is of order 1
			}
			const out = 9 // columns of the layer after this one
			dy, after, dh := matrix("dy", m, out), matrix("after", n, out), matrix("dh", m, n)
			program, err := b.Compile(t.Name(), []shapes.Shape{
				backend.Shape(m, k), backend.Shape(k, n), backend.Shape(n), backend.Shape(m, out), backend.Shape(n, out), backend.Shape(m, n),
			}, func(in []*graph.Node) []*graph.Node {
				y, active := products.Layer(bfloat16(in[0]), bfloat16(in[1]), in[2])
				dx, sums := products.LayerGradient(bfloat16(in[3]), bfloat16(in[4]), y)
				last, lastSums := products.GELUGradient(in[5], y)
				float := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
				return []*graph.Node{float(active), float(dx), sums, float(last), lastSums}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			got := backendtest.Run(t, b, program, x, w, bias, dy, after, dh)
			y, _ := reference(x, w, m, k, n, false, false)
			d, size := reference(dy, after, m, out, n, false, true)
			var sums, lastSums, sumSizes, lastSizes [256]float64
			for i := range y {
				j := i % n
				y[i] += float64(bias[j])
				near(t, "GELU", i, got[0][i], gelu(y[i]), 1)
				s := slope(float64(rounded(float32(y[i]))))
				near(t, "gradient of a layer", i, got[1][i], d[i]*s, size[i])
				near(t, "gradient of GELU", i, got[3][i], float64(dh[i])*s, math.Abs(float64(dh[i])))
				sums[j] += d[i] * s
				sumSizes[j] += size[i]
				lastSums[j] += float64(dh[i]) * s
				lastSizes[j] += math.Abs(float64(dh[i]))
			}
			for j := range n { // not rounded: closer than the numbers that they sum; the argument of a slope is
				if !(math.Abs(float64(got[2][j])-sums[j]) <= 1e-3*sumSizes[j] && math.Abs(float64(got[4][j])-lastSums[j]) <= 1e-3*lastSizes[j]) {
					t.Fatalf("sums %d are %g and %g, want %g and %g", j, got[2][j], got[4][j], sums[j], lastSums[j])
				}
			}
		})
	}
}

// window has the rows of a convolution of x [rows, inputs] side by side, see products.Convolution.
func window(x []float32, rows, inputs int, c products.Convolution) []float32 {
	all := make([]float32, rows*c.Window*inputs)
	for r := range rows {
		for j := range c.Window {
			if step := r%c.Steps + j - c.Window/2; step >= 0 && step < c.Steps {
				copy(all[(r*c.Window+j)*inputs:][:inputs], x[(r+j-c.Window/2)*inputs:])
			}
		}
	}
	return all
}

var convolutions = []struct {
	sequences, inputs, n int
	products.Convolution
}{
	{7, 24, 16, products.Convolution{Window: 1, Steps: 1}},
	{5, 16, 48, products.Convolution{Window: 3, Steps: 20}},
	{3, 64, 128, products.Convolution{Window: 5, Steps: 33}},
	{40, 32, 200, products.Convolution{Window: 3, Steps: 7}},
	{9, 48, 5, products.Convolution{Window: 3, Steps: 1}},
	{2500, 16, 48, products.Convolution{Window: 1, Steps: 70}}, // results that are written past the caches
}

// A convolution, and the gradient of its weights, are those of the rows of the window.
func TestConvolutions(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	for _, c := range convolutions {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rows, k := c.sequences*c.Steps, c.Window*c.inputs
			x, w, dy := matrix("x", rows, c.inputs), matrix("w", k, c.n), matrix("dy", rows, c.n)
			program, err := b.Compile(t.Name(), []shapes.Shape{
				backend.Shape(rows, c.inputs), backend.Shape(k, c.n), backend.Shape(rows, c.n),
			}, func(in []*graph.Node) []*graph.Node {
				return []*graph.Node{
					products.Convolve(bfloat16(in[0]), bfloat16(in[1]), c.Convolution),
					products.ConvolutionGradient(bfloat16(in[0]), bfloat16(in[2]), c.Convolution),
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			got := backendtest.Run(t, b, program, x, w, dy)
			all := window(x, rows, c.inputs, c.Convolution)
			y, ySizes := reference(all, w, rows, k, c.n, false, false)
			dw, dwSizes := reference(all, dy, k, rows, c.n, true, false)
			for i, want := range [][]float64{y, dw} {
				sizes := [][]float64{ySizes, dwSizes}[i]
				for j := range want {
					if !(math.Abs(float64(got[i][j])-want[j]) <= 1e-6*sizes[j]) {
						t.Fatalf("result %d: element %d is %g, want %g", i, j, got[i][j], want[j])
					}
				}
			}
		})
	}
}

// A layer that normalises, its mean, and its gradients are those of the definition up to the rounding
// of the results and of y.
func TestNormLayers(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	for _, c := range convolutions {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rows, k, n := c.sequences*c.Steps, c.Window*c.inputs, c.n
			x, w, d := matrix("x", rows, c.inputs), matrix("w", k, n), matrix("d", c.sequences, n)
			bias, gain, shift := matrix("bias", 1, n), matrix("gain", 1, n), matrix("shift", 1, n)
			const after = 16 // columns of the layer after this one
			dy, back := matrix("dy", rows, after), matrix("back", c.Window*after, n)
			program, err := b.Compile(t.Name(), []shapes.Shape{
				backend.Shape(rows, c.inputs), backend.Shape(k, n), backend.Shape(n), backend.Shape(n), backend.Shape(n),
				backend.Shape(c.sequences, n), backend.Shape(rows, after), backend.Shape(c.Window*after, n),
			}, func(in []*graph.Node) []*graph.Node {
				x, w, gain, shift := bfloat16(in[0]), bfloat16(in[1]), in[3], in[4]
				y, active, scale := products.NormLayer(x, w, in[2], gain, shift, c.Convolution)
				again, mean, _ := products.NormMean(x, w, in[2], gain, shift, c.Convolution, c.Steps)
				du, sums := products.NormGradient(in[5], again, scale, gain, shift, c.Steps)
				inner, innerSums := products.NormLayerGradient(bfloat16(in[6]), bfloat16(in[7]), y, scale, gain, shift, c.Convolution)
				float := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
				return []*graph.Node{float(active), scale, mean, float(du), sums, float(inner), innerSums}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			got := backendtest.Run(t, b, program, x, w, bias, gain, shift, d, dy, back)
			u, _ := reference(window(x, rows, c.inputs, c.Convolution), w, rows, k, n, false, false)
			for i := range u {
				u[i] += float64(bias[i%n])
			}
			want := norm(u, gain, shift, rows, n)
			means := make([]float64, c.sequences*n)
			for i := range u {
				near(t, "GELU", i, got[0][i], want.active[i], 1)
				means[i/n/c.Steps*n+i%n] += want.active[i] / float64(c.Steps)
			}
			for i, m := range means {
				if !(math.Abs(float64(got[2][i])-m) <= 1e-5*max(1, math.Abs(m))) {
					t.Fatalf("mean %d is %g, want %g", i, got[2][i], m)
				}
			}
			for r, scale := range want.scale {
				if !(math.Abs(float64(got[1][r])-scale) <= 1e-6*scale) {
					t.Fatalf("scale %d is %g, want %g", r, got[1][r], scale)
				}
			}
			want.checkGradient(t, got[3], got[4], func(row, j int) float64 { return float64(d[row/c.Steps*n+j]) })
			inner, _ := reference(window(dy, rows, after, c.Convolution), back, rows, c.Window*after, n, false, false)
			want.checkGradient(t, got[5], got[6], func(row, j int) float64 { return inner[row*n+j] })
		})
	}
}

// normalised is a layer that normalises, by its definition: y is rounded, as for the gradient.
type normalised struct {
	n                int
	gain, shift      []float32
	scale, y, active []float64
}

func norm(u []float64, gain, shift []float32, rows, n int) normalised {
	l := normalised{n: n, gain: gain, shift: shift}
	for r := range rows {
		squares := 0.0
		for _, v := range u[r*n : (r+1)*n] {
			squares += v * v
		}
		l.scale = append(l.scale, 1/math.Sqrt(squares/float64(n)+1e-5))
		for j, v := range u[r*n : (r+1)*n] {
			y := v * l.scale[r]
			l.active = append(l.active, gelu(float64(gain[j])*y+float64(shift[j])))
			l.y = append(l.y, float64(rounded(float32(y))))
		}
	}
	return l
}

// checkGradient compares ∂L/∂u and the sums with those for ∂L/∂GELU d.
func (l normalised) checkGradient(t *testing.T, du, sums []float32, d func(row, j int) float64) {
	t.Helper()
	want, sizes := make([]float64, 3*l.n), make([]float64, 3*l.n)
	for r, scale := range l.scale {
		dy, along, size := make([]float64, l.n), 0.0, 0.0 // dy is ∂L/∂(gain⊙y + shift)
		for j := range l.n {
			y, gain := l.y[r*l.n+j], float64(l.gain[j])
			dy[j] = d(r, j) * slope(gain*y+float64(l.shift[j]))
			along += dy[j] * gain * y / float64(l.n)
			size += math.Abs(dy[j]*gain*y) / float64(l.n)
		}
		for j := range l.n {
			y, gain := l.y[r*l.n+j], float64(l.gain[j])
			v := scale * (gain*dy[j] - y*along)
			near(t, "gradient", r*l.n+j, du[r*l.n+j], v, scale*(math.Abs(gain*dy[j])+math.Abs(y)*size+math.Abs(d(r, j))))
			for i, v := range []float64{v, dy[j], dy[j] * y} {
				want[i*l.n+j] += v
				sizes[i*l.n+j] += math.Abs(v) + 0.1*math.Abs(d(r, j))
			}
		}
	}
	for i := range want {
		if !(math.Abs(float64(sums[i])-want[i]) <= 4e-3*sizes[i]) {
			t.Fatalf("sum %d is %g, want %g", i, sums[i], want[i])
		}
	}
}

// near allows for a rounding to bfloat16, and for one of y to the other side of a tie.
func near(t *testing.T, what string, i int, got float32, want, size float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= math.Abs(want)/256+4e-3*size) {
		t.Fatalf("%s: element %d is %g, want %g", what, i, got, want)
	}
}

// The results do not depend on how threads share the work.
func TestSameBits(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	const m, k, n = 200, 5000, 130
	x, y := matrix("a", k, m), matrix("b", k, n)
	program, err := b.Compile(t.Name(), []shapes.Shape{backend.Shape(k, m), backend.Shape(k, n)}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Dot(bfloat16(in[0]), bfloat16(in[1])).WithAccumulatorDType(dtypes.InvalidDType).
			WithOutputDType(dtypes.Float32).EinsumAxes([][2]int{{0, 0}}, nil)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	first := backendtest.Run(t, b, program, x, y)[0]
	for range 20 {
		if again := backendtest.Run(t, b, program, x, y)[0]; !slices.Equal(again, first) {
			t.Fatal("other bits at another time")
		}
	}
}

// Products that are products of matrices call a kernel; others are XLA's.
func TestWhichProducts(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	half, full := dtypes.BFloat16, dtypes.Float32
	for name, test := range map[string]struct {
		a, b              shapes.Shape
		sumA, sumB, batch []int
		result            dtypes.DType
		kernel            bool
		dimensions        []int
	}{
		"matrices":              {a: shapes.Make(half, 3, 4), b: shapes.Make(half, 4, 5), sumA: []int{1}, sumB: []int{0}, result: full, kernel: true, dimensions: []int{3, 5}},
		"rows of rows":          {a: shapes.Make(half, 2, 3, 4), b: shapes.Make(half, 4, 5), sumA: []int{2}, sumB: []int{0}, result: full, kernel: true, dimensions: []int{2, 3, 5}},
		"sums over two axes":    {a: shapes.Make(half, 2, 3, 4), b: shapes.Make(half, 2, 3, 5), sumA: []int{0, 1}, sumB: []int{0, 1}, result: full, kernel: true, dimensions: []int{4, 5}},
		"a sum in the middle":   {a: shapes.Make(half, 2, 3, 4), b: shapes.Make(half, 3, 5), sumA: []int{1}, sumB: []int{0}, result: full, dimensions: []int{2, 4, 5}},
		"axes in another order": {a: shapes.Make(half, 2, 3, 4), b: shapes.Make(half, 3, 2, 5), sumA: []int{0, 1}, sumB: []int{1, 0}, result: full, dimensions: []int{4, 5}},
		"many products":         {a: shapes.Make(half, 2, 3, 4), b: shapes.Make(half, 2, 4, 5), sumA: []int{2}, sumB: []int{1}, batch: []int{0}, result: full, dimensions: []int{2, 3, 5}},
		"float32":               {a: shapes.Make(full, 3, 4), b: shapes.Make(full, 4, 5), sumA: []int{1}, sumB: []int{0}, result: full, dimensions: []int{3, 5}},
		"a result of bfloat16":  {a: shapes.Make(half, 3, 4), b: shapes.Make(half, 4, 5), sumA: []int{1}, sumB: []int{0}, result: half, dimensions: []int{3, 5}},
		"a number":              {a: shapes.Make(half, 4), b: shapes.Make(half, 4), sumA: []int{0}, sumB: []int{0}, result: full},
	} {
		t.Run(name, func(t *testing.T) {
			f := wrapped(t, b).Builder(t.Name()).Main()
			x, errX := f.Parameter("a", test.a, nil)
			y, errY := f.Parameter("b", test.b, nil)
			if errX != nil || errY != nil {
				t.Fatal(errX, errY)
			}
			p, err := f.DotGeneral(x, test.sumA, test.batch, y, test.sumB, test.batch, compute.DotGeneralConfig{OutputDType: test.result})
			if err != nil {
				t.Fatal(err)
			}
			if s, err := f.Shape(p); err != nil || !slices.Equal(s.Dimensions, test.dimensions) || s.DType != test.result {
				t.Errorf("the result is %v (%v), want %v %v", s, err, test.result, test.dimensions)
			}
			if calls := len(products.Targets(f)); (calls == 1) != test.kernel || calls > 1 {
				t.Errorf("%d calls of kernels", calls)
			}
		})
	}
}

// wrapped is the library's backend of b.
func wrapped(t *testing.T, b *backend.Backend) (w compute.Backend) {
	t.Helper()
	program, err := b.Compile(t.Name(), []shapes.Shape{backend.Shape()}, func(in []*graph.Node) []*graph.Node {
		w = in[0].Graph().Backend()
		return in
	})
	if err != nil {
		t.Fatal(err)
	}
	program.Close()
	return w
}

// Wrong arguments are errors when a program is built, not when it runs.
func TestWrongArguments(t *testing.T) {
	b, ok := open(t)
	if !ok {
		return
	}
	for name, build := range map[string]func(in []*graph.Node){
		"a vector":        func(in []*graph.Node) { products.Layer(bfloat16(graph.Reshape(in[0], -1)), bfloat16(in[0]), in[0]) },
		"float32 factors": func(in []*graph.Node) { products.Layer(in[0], in[0], graph.Reshape(in[0], -1)) },
		"other sizes":     func(in []*graph.Node) { products.Layer(bfloat16(in[0]), bfloat16(in[0]), graph.Reshape(in[0], -1)) },
		"an even window": func(in []*graph.Node) {
			products.Convolve(bfloat16(graph.Ones(in[0].Graph(), backend.Shape(3, 16))), bfloat16(graph.Ones(in[0].Graph(), backend.Shape(32, 4))), products.Convolution{Window: 2, Steps: 3})
		},
		"half a sequence": func(in []*graph.Node) {
			products.Convolve(bfloat16(graph.Ones(in[0].Graph(), backend.Shape(5, 16))), bfloat16(graph.Ones(in[0].Graph(), backend.Shape(48, 4))), products.Convolution{Window: 3, Steps: 2})
		},
		"another y": func(in []*graph.Node) { products.GELUGradient(in[0], in[0]) },
	} {
		if program, err := b.Compile(name, []shapes.Shape{backend.Shape(3, 4)}, func(in []*graph.Node) []*graph.Node {
			build(in)
			return in
		}); err == nil {
			program.Close()
			t.Errorf("%s is accepted", name)
		}
	}
}
