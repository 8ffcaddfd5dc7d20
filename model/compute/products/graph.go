package products

import (
	"fmt"

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
	results := call(layer, x, w, b)
	return results[0], results[1]
}

// LayerGradient returns dx = (dy·wᵀ) ⊙ GELU′(x) for dy [m, k] and w [n, k] of bfloat16, and x, the y
// of a layer: dx [m, n] of bfloat16, and the sums [n] of its rows before they are rounded.
func LayerGradient(dy, w, x *graph.Node) (dx, sums *graph.Node) {
	results := call(layerGradient, dy, w, x)
	return results[0], results[1]
}

// GELUGradient returns dx = dy ⊙ GELU′(x) for dy [m, n] of float32, and x, the y of a layer: dx of
// bfloat16, and the sums [n] of its rows before they are rounded.
func GELUGradient(dy, x *graph.Node) (dx, sums *graph.Node) {
	results := call(geluGradient, dy, x)
	return results[0], results[1]
}

// Names of kernels.
const (
	layer         = "layer"
	layerGradient = "layer_gradient"
	geluGradient  = "gelu_gradient"
)

// call calls a kernel. The graph library knows calls of functions: the backend of this package
// calls the kernel in place of a function of its name.
func call(kernel string, arguments ...*graph.Node) []*graph.Node {
	g := arguments[0].Graph()
	name := fmt.Sprintf("%s %d", kernel, arguments[0].Id())
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
