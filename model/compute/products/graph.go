package products

import (
	"fmt"
	"sync/atomic"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// wrapped is a backend of [Wrap].
type wrapped interface{ callsKernels() }

// Available reports whether the graph's programs can call this package's kernels.
func Available(g *graph.Graph) bool {
	_, ok := g.Backend().(wrapped)
	return ok
}

// Layer returns y = x·w + b and GELU(y) for x [m, k] and w [k, n] of bfloat16, and b [n] of
// float32: y of bfloat16, for the functions below alone, and the GELU [m, n] of y before it is rounded,
// of bfloat16. No function of this package has a gradient of its own.
func Layer(x, w, b *graph.Node) (y, active *graph.Node) {
	results := call(layer, Convolution{1, 1}, 1, x, w, b)
	return results[0], results[1]
}

// LayerGradient returns dx = (dy·wᵀ) ⊙ GELU′(x) for dy [m, k] and w [n, k] of bfloat16, and x, the y
// of a layer: dx [m, n] of bfloat16, and the sums [n] of its rows before they are rounded.
func LayerGradient(dy, w, x *graph.Node) (dx, sums *graph.Node) {
	results := call(layerGradient, Convolution{1, 1}, 1, dy, w, x)
	return results[0], results[1]
}

// GELUGradient returns dx = dy ⊙ GELU′(x) for dy [m, n] of float32, and x, the y of a layer: dx of
// bfloat16, and the sums [n] of its rows before they are rounded.
func GELUGradient(dy, x *graph.Node) (dx, sums *graph.Node) {
	results := call(geluGradient, Convolution{1, 1}, 1, dy, x)
	return results[0], results[1]
}

// Convolution is where the rows of a product's first factor are those of a moving window: of
// sequences of Steps rows x(t) with inputs numbers each, a multiple of 16, it has the rows
// [x(t - Window/2), …, x(t + Window/2)], with zeros beyond the ends. Window is odd; 1 is no
// convolution.
type Convolution struct{ Window, Steps int }

// WidestNorm is how many columns a layer that normalises may have.
const WidestNorm = 256

// NormLayer returns, for u = x·w + b with rows of mean 0, y = u⊙scale with
// scale [m] = 1/√(mean(u²) + 1e-5), and GELU(gain⊙y + shift): y of bfloat16 for NormGradient alone,
// and the GELU [m, n] of y before it is rounded, of bfloat16. x is [m, inputs] of bfloat16,
// w [Window·inputs, n] of bfloat16, b, gain and shift [n] of float32, n at most WidestNorm.
func NormLayer(x, w, b, gain, shift *graph.Node, c Convolution) (y, active, scale *graph.Node) {
	results := call(normLayer, c, 1, x, w, b, gain, shift)
	return results[0], results[1], results[2]
}

// NormMean is NormLayer with the means [m/repeat, n] of float32 over repeat rows of the GELU in place
// of the GELU.
func NormMean(x, w, b, gain, shift *graph.Node, c Convolution, repeat int) (y, mean, scale *graph.Node) {
	results := call(normMean, c, repeat, x, w, b, gain, shift)
	return results[0], results[1], results[2]
}

// NormLayerGradient is NormGradient for ∂L/∂GELU = dy·w, a convolution of dy [m, inputs] of bfloat16.
func NormLayerGradient(dy, w, y, scale, gain, shift *graph.Node, c Convolution) (du, sums *graph.Node) {
	results := call(normLayerGradient, c, 1, dy, w, y, scale, gain, shift)
	return results[0], results[1]
}

// NormGradient returns ∂L/∂u of bfloat16 for ∂L/∂GELU [m/repeat, n] of float32, each row of which
// stands for repeat rows, and the gradients [3, n] of b, shift and gain.
func NormGradient(d, y, scale, gain, shift *graph.Node, repeat int) (du, sums *graph.Node) {
	results := call(normGradient, Convolution{1, 1}, repeat, d, y, scale, gain, shift)
	return results[0], results[1]
}

// Convolve returns the float32 product x·w of a convolution.
func Convolve(x, w *graph.Node, c Convolution) *graph.Node { return call(convolve, c, 1, x, w)[0] }

// ConvolutionGradient returns the float32 gradient xᵀ·dy [Window·inputs, n] of a convolution's w, for
// dy [m, n] of bfloat16.
func ConvolutionGradient(x, dy *graph.Node, c Convolution) *graph.Node {
	return call(convolutionGradient, c, 1, x, dy)[0]
}

// Names of kernels.
const (
	layer               = "layer"
	layerGradient       = "layer_gradient"
	geluGradient        = "gelu_gradient"
	normLayer           = "norm_layer"
	normMean            = "norm_mean"
	normLayerGradient   = "norm_layer_gradient"
	normGradient        = "norm_gradient"
	convolve            = "convolve"
	convolutionGradient = "convolution_gradient"
)

// calls counts calls, so that each has its own name.
var calls atomic.Int64

// signature is the name of a function that stands for a call of a kernel.
type signature struct {
	kernel                string
	call                  int64
	window, steps, repeat int
}

func (s signature) String() string {
	return fmt.Sprintf("%s %d %d %d %d", s.kernel, s.call, s.window, s.steps, s.repeat)
}

// call calls a kernel. The graph library knows calls of functions: the backend of this package
// calls the kernel in place of a function of its name.
func call(kernel string, c Convolution, repeat int, arguments ...*graph.Node) []*graph.Node {
	g := arguments[0].Graph()
	name := signature{kernel, calls.Add(1), c.Window, c.Steps, repeat}.String()
	f := graph.NewFunction(g, name, func(g *graph.Graph) []*graph.Node {
		var inputs []*graph.Node
		for i, a := range arguments {
			inputs = append(inputs, graph.Parameter(g, fmt.Sprintf("argument%d", i), a.Shape()))
		}
		return inputs // the backend does not look at the body
	})
	return f.Call(arguments...)
}

func float32s(dimensions ...int) shapes.Shape  { return shapes.Make(dtypes.Float32, dimensions...) }
func bfloat16s(dimensions ...int) shapes.Shape { return shapes.Make(dtypes.BFloat16, dimensions...) }
