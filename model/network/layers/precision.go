package layers

import (
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/compute/products"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Precision is that of the factors of matrix products. Everything else is float32,
// including parameters and the results of the products.
type Precision string

const (
	Float32 Precision = "float32" // also the empty string
	// BFloat16 rounds both factors of a product, and of its gradients, to the upper
	// half of a float32 (8 bits of mantissa, relative error at most 2⁻⁹) and
	// accumulates in float32. torch.autocast does the same and rounds the results,
	// too.
	BFloat16 Precision = "bfloat16"
)

// goBackend is the name of the graph library's pure Go backend.
const goBackend = "Go Backend"

// Precisions lists the precisions.
func Precisions() []Precision { return []Precision{Float32, BFloat16} }

// Product is x·w of matrices x [n, k] and w [k, m].
func (p Precision) Product(x, w *graph.Node) *graph.Node {
	if p == BFloat16 {
		return p.Einsum("nk,km->nm", x, w)
	}
	return graph.Dot(x, w).MatMul()
}

// Layer is x·w + b for x [n, k], w [k, m] and b [m].
func (p Precision) Layer(x, w, b *graph.Node) *graph.Node {
	return graph.Add(p.Product(x, w), graph.ExpandAxes(b, 0))
}

// GELULayers is GELU(…GELU(x·w₀ + b₀)…·w + b) for x [n, k] and any number of layers. In bfloat16
// kernels compute a layer, and the gradient of one, where there are kernels, so that the only
// arrays that are written are those that the products read, and for the gradient the argument y of
// every GELU, rounded. With h = GELU(y) the gradients of a layer are
//
//	∂L/∂y = ∂L/∂h ⊙ GELU′(y), ∂L/∂b = Σ ∂L/∂y, ∂L/∂w = xᵀ·∂L/∂y, ∂L/∂x = ∂L/∂y·wᵀ
func (p Precision) GELULayers(x *graph.Node, w, b []*graph.Node) *graph.Node {
	defined := func(in []*graph.Node) *graph.Node {
		h := in[0]
		for i := range w {
			h = GELU(p.Layer(h, in[1+i], in[1+len(w)+i]))
		}
		return h
	}
	arguments := slices.Concat([]*graph.Node{x}, w, b)
	if p != BFloat16 || !products.Available(x.Graph()) {
		return defined(arguments)
	}
	h, y := []*graph.Node{rounded(x)}, make([]*graph.Node, len(w)) // h[i] is the input of layer i
	for i := range w {
		var active *graph.Node
		y[i], active = products.Layer(h[i], rounded(w[i]), b[i])
		h = append(h, active)
	}
	computed := func(in []*graph.Node) *graph.Node {
		result, _ := graph.InternalFusedOpCaller(
			func() *graph.Node { return graph.ConvertDType(h[len(w)], dtypes.Float32) },
			func() *graph.Node { return defined(in) }, true)
		return result
	}
	return withGradient(computed, func(dh *graph.Node) []*graph.Node {
		dw, db := make([]*graph.Node, len(w)), make([]*graph.Node, len(w))
		dy, sums := products.GELUGradient(dh, y[len(w)-1])
		for i := len(w) - 1; i >= 0; i-- {
			dw[i], db[i] = roundedEinsum("nk", "nm", "km", h[i], dy), sums
			if i > 0 {
				dy, sums = products.LayerGradient(dy, rounded(w[i]), y[i-1])
			}
		}
		return slices.Concat([]*graph.Node{roundedEinsum("nm", "km", "nk", dy, w[0])}, dw, db)
	}, arguments...)
}

// Einsum is the Einstein summation of an equation such as "nqd,kqd->ndk". Every index
// of a factor must be in the other factor or in the result.
//
// The graph library would differentiate a product of bfloat16 by products of float32.
// So the gradients are written out,
//
//	∂L/∂x = einsum(result, w → x) of ∂L/∂y and w, ∂L/∂w = einsum(x, result → w).
//
// They replace those of the library, which the compiler drops.
func (p Precision) Einsum(equation string, x, w *graph.Node) *graph.Node {
	if p != BFloat16 {
		return graph.Einsum(equation, x, w)
	}
	factors, result, _ := strings.Cut(equation, "->")
	left, right, _ := strings.Cut(factors, ",")
	var dy *graph.Node
	constX, constW := x, w
	x = graph.IdentityWithCustomGradient(x, func(_, _ *graph.Node) *graph.Node {
		return roundedEinsum(result, right, left, dy, constW)
	})
	w = graph.IdentityWithCustomGradient(w, func(_, _ *graph.Node) *graph.Node {
		return roundedEinsum(left, result, right, constX, dy)
	})
	y := roundedEinsum(left, right, result, x, w)
	// Gradients go from results to factors, so this function runs before those above.
	return graph.IdentityWithCustomGradient(y, func(_, v *graph.Node) *graph.Node {
		dy = v
		return v
	})
}

// roundedEinsum is the float32 result for factors rounded to bfloat16. (The graph
// library's Einsum has no option for the type of its result.)
func roundedEinsum(left, right, result string, x, w *graph.Node) *graph.Node {
	// Indices of both factors that are in the result, that are not, and of one factor.
	var batch, summed, ofX, ofW string
	for _, index := range left {
		switch {
		case !strings.ContainsRune(right, index):
			ofX += string(index)
		case strings.ContainsRune(result, index):
			batch += string(index)
		default:
			summed += string(index)
		}
	}
	for _, index := range right {
		if !strings.ContainsRune(left, index) {
			ofW += string(index)
		}
	}
	// The batch axes come first. Otherwise XLA on the CPU moves them there itself, and
	// then undoes the order of the other axes that its kernel needs.
	first := func(x *graph.Node, from string) (*graph.Node, string) {
		to := batch + strings.Map(func(index rune) rune {
			if strings.ContainsRune(batch, index) {
				return -1
			}
			return index
		}, from)
		return permute(rounded(x), from, to), to
	}
	x, left = first(x, left)
	w, right = first(w, right)
	// The Go backend's product of bfloat16 is wrong on processors with AVX2 but without
	// AVX-512. The product of the rounded factors in float32 is the same up to the order
	// of the sums.
	if x.Graph().Backend().Name() == goBackend {
		x, w = graph.ConvertDType(x, dtypes.Float32), graph.ConvertDType(w, dtypes.Float32)
	}
	// No accumulator type: it is then the type of the result. Naming it makes the
	// library convert the factors back to float32.
	y := graph.Dot(x, w).WithAccumulatorDType(dtypes.InvalidDType).WithOutputDType(dtypes.Float32).
		EinsumAxes(axes(summed, left, right), axes(batch, left, right))
	return permute(y, batch+ofX+ofW, result)
}

func rounded(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.BFloat16) }

// axes returns the positions of the indices in x and in w.
func axes(indices, left, right string) (pairs [][2]int) {
	for _, index := range indices {
		pairs = append(pairs, [2]int{strings.IndexRune(left, index), strings.IndexRune(right, index)})
	}
	return pairs
}

// permute reorders the axes of x from one order of indices to another.
func permute(x *graph.Node, from, to string) *graph.Node {
	if from == to {
		return x
	}
	order := make([]int, len(to))
	for i, index := range to {
		order[i] = strings.IndexRune(from, index)
	}
	return graph.TransposeAllAxes(x, order...)
}
