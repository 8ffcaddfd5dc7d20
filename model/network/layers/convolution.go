package layers

import (
	"slices"

	"github.com/ergoflow/ergoflow/model/compute/products"
	"github.com/gomlx/gomlx/core/graph"
)

// NormLayer has the parameters of a convolution with LayerNorm and GELU: w [kernel·in, out], of
// which each row has mean 0, b [out] with mean 0, and the LayerNorm's gain and bias [out].
type NormLayer struct{ Weight, Bias, Gain, Shift *graph.Node }

// NormLayers maps the sequences h [N, L, in] through convolutions with LayerNorm and GELU, one after
// the other, and returns the mean over the steps, [N, out]. defined is its definition, for the same
// arguments: each layer is NormGELU of the convolution along the second axis, with zeros beyond the
// ends. columns(h) [N, L, kernel·in] has the rows that the first convolution sums over, side by side.
// ∂L/∂h is not computed.
//
// In bfloat16 kernels compute the layers and their gradients where there are kernels; ok is false
// otherwise. Only those rows and the layers' results are written, rounded, and their arguments for the
// gradient. With u, y, d and the gradient ∂L/∂u as in NormGELU, and x∗w for a convolution,
//
//	∂L/∂w = xᵀ∗∂L/∂u, ∂L/∂x = ∂L/∂u∗w reversed along the kernel, in and out exchanged.
func (p Precision) NormLayers(h *graph.Node, columns func(h *graph.Node) *graph.Node, kernel int, all []NormLayer, defined func([]NormLayer) *graph.Node) (mean *graph.Node, ok bool) {
	steps := h.Shape().Dimensions[1]
	if p != BFloat16 || !products.Available(h.Graph()) || kernel%2 == 0 {
		return nil, false
	}
	for _, l := range all {
		if out := l.Bias.Shape().Size(); out > products.WidestNorm || (len(all) > 1 && out%16 != 0) {
			return nil, false
		}
	}
	window := func(i int) products.Convolution {
		if i == 0 {
			return products.Convolution{Window: 1, Steps: 1}
		}
		return products.Convolution{Window: kernel, Steps: steps}
	}
	n := len(all)
	x, y, scale := make([]*graph.Node, n), make([]*graph.Node, n), make([]*graph.Node, n) // x[i] is the input of layer i
	rows := columns(h)
	x[0] = rounded(graph.Reshape(rows, -1, rows.Shape().Dimensions[2]))
	var arguments []*graph.Node
	for i, l := range all {
		if w := rounded(l.Weight); i < n-1 {
			y[i], x[i+1], scale[i] = products.NormLayer(x[i], w, l.Bias, l.Gain, l.Shift, window(i))
		} else {
			y[i], mean, scale[i] = products.NormMean(x[i], w, l.Bias, l.Gain, l.Shift, window(i), steps)
		}
		arguments = append(arguments, l.Weight, l.Bias, l.Gain, l.Shift)
	}
	value := func(in []*graph.Node) *graph.Node {
		// The library wants the node of the result to be newer than those of the definition.
		result, _ := graph.InternalFusedOpCaller(func() *graph.Node { return graph.Identity(mean) }, func() *graph.Node {
			var layers []NormLayer
			for l := range slices.Chunk(in, 4) {
				layers = append(layers, NormLayer{l[0], l[1], l[2], l[3]})
			}
			return defined(layers)
		}, true)
		return result
	}
	return withGradient(value, func(d *graph.Node) []*graph.Node {
		gradients := make([]*graph.Node, 4*n)
		last := all[n-1]
		du, sums := products.NormGradient(graph.MulScalar(d, 1/float64(steps)), y[n-1], scale[n-1], last.Gain, last.Shift, steps)
		row := func(k int) *graph.Node { return graph.Squeeze(graph.Slice(sums, graph.AxisRange(k, k+1)), 0) }
		for i := n - 1; i >= 0; i-- {
			gradients[4*i+1], gradients[4*i+2], gradients[4*i+3] = row(0), row(2), row(1)
			if i == 0 {
				gradients[0] = roundedEinsum("nk", "nm", "km", x[0], du)
				break
			}
			gradients[4*i] = products.ConvolutionGradient(x[i], du, window(i))
			w := graph.Reshape(all[i].Weight, kernel, -1, all[i].Bias.Shape().Size())
			reversed := graph.Reshape(graph.TransposeAllAxes(graph.Reverse(w, 0), 0, 2, 1), -1, w.Shape().Dimensions[1])
			before := all[i-1]
			du, sums = products.NormLayerGradient(du, rounded(reversed), y[i-1], scale[i-1], before.Gain, before.Shift, window(i))
		}
		return gradients
	}, arguments...), true
}
