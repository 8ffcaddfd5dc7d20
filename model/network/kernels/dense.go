// Package kernels computes the layers of networks on the processor itself, without a compute
// backend: for networks that are so small, or run so seldom, that a backend's start and compilation
// would take longer than the arithmetic. Its vector instructions are AVX-512 or AVX2 where the
// processor has them; plain Go elsewhere gives the same results up to rounding.
package kernels

import "fmt"

// A tile is what one call of the product's kernel computes: rows × columns results, which
// stay in registers while the kernel adds up their products.
const (
	tileRows    = 6
	tileColumns = 32
)

type tile [tileRows * tileColumns]float32

// Dense is a layer y = x·W + b, with W [in, out] stored by panels of 32 columns, so that the
// kernel reads it in order. It is safe for concurrent use.
type Dense struct {
	in, out int
	panels  []float32 // [⌈out/32⌉, in, 32]; zero beyond out
	bias    []float32 // [⌈out/32⌉·32]; zero beyond out
}

// NewDense packs the weights [in, out] and the bias [out]; a nil bias is zero.
func NewDense(weight, bias []float32, in, out int) *Dense {
	d := EmptyDense(in, out)
	if len(weight) != in*out || bias != nil && len(bias) != out {
		panic(fmt.Sprintf("kernels: %d weights and %d biases of a layer %d→%d", len(weight), len(bias), in, out))
	}
	copy(d.bias, bias)
	for k := range in {
		d.SetRow(k, weight[k*out:(k+1)*out])
	}
	return d
}

// EmptyDense is a layer of zeros, for SetRow.
func EmptyDense(in, out int) *Dense {
	panels := (out + tileColumns - 1) / tileColumns
	return &Dense{in: in, out: out, panels: make([]float32, panels*in*tileColumns), bias: make([]float32, panels*tileColumns)}
}

// Outputs is the number of outputs.
func (d *Dense) Outputs() int { return d.out }

// SetRow sets the weights [out] of input k.
func (d *Dense) SetRow(k int, weight []float32) {
	for j := 0; j < d.out; j += tileColumns {
		copy(d.panels[(j/tileColumns*d.in+k)*tileColumns:][:tileColumns], weight[j:min(j+tileColumns, d.out)])
	}
}

// PackedSize is the length of Packed for a layer of that size.
func PackedSize(in, out int) int { return (out + tileColumns - 1) / tileColumns * tileColumns * in }

// PackedDense is a layer without bias whose weights are what Packed returned. It keeps packed.
func PackedDense(packed []float32, in, out int) *Dense {
	if len(packed) != PackedSize(in, out) {
		panic(fmt.Sprintf("kernels: %d packed weights of a layer %d→%d, not %d", len(packed), in, out, PackedSize(in, out)))
	}
	return &Dense{in: in, out: out, panels: packed, bias: make([]float32, len(packed)/in)}
}

// Packed are the weights as the layer keeps them. The caller must not change them.
func (d *Dense) Packed() []float32 { return d.panels }

// SetColumn sets the weights [in] of output j.
func (d *Dense) SetColumn(j int, weight []float32) {
	panel := d.panels[j/tileColumns*d.in*tileColumns:]
	for k, w := range weight[:d.in] {
		panel[k*tileColumns+j%tileColumns] = w
	}
}

// WithBias is the layer with another bias [out]. Both share their weights.
func (d *Dense) WithBias(bias []float32) *Dense {
	if len(bias) != d.out {
		panic(fmt.Sprintf("kernels: %d biases of a layer %d→%d", len(bias), d.in, d.out))
	}
	other := *d
	other.bias = make([]float32, len(d.bias))
	copy(other.bias, bias)
	return &other
}

// Apply writes y = x·W + b, after the activation, for the rows of x [n, in] to dst [n, out].
func (d *Dense) Apply(dst, x []float32, a Activation) {
	n := len(x) / d.in
	if len(x) != n*d.in {
		panic(fmt.Sprintf("kernels: %d inputs of a layer %d→%d", len(x), d.in, d.out))
	}
	d.ApplyStrided(dst, x, n, d.in, a)
}

// ApplyStrided is Apply for n rows of x that begin stride numbers after one another. Rows may
// overlap, as the windows of a convolution do.
func (d *Dense) ApplyStrided(dst, x []float32, n, stride int, activation Activation) {
	if n == 0 {
		return
	}
	if len(x) < (n-1)*stride+d.in || len(dst) != n*d.out {
		panic(fmt.Sprintf("kernels: %d inputs and %d outputs of %d rows of a layer %d→%d", len(x), len(dst), n, d.in, d.out))
	}
	var rows [tileRows][]float32
	var t tile
	for first := 0; first < n; first += tileRows {
		for r := range rows {
			// The last tile computes its last row several times.
			at := min(first+r, n-1) * stride
			rows[r] = x[at : at+d.in : at+d.in]
		}
		count := min(tileRows, n-first)
		for j := 0; j < d.out; j += tileColumns {
			panel := d.panels[j*d.in : (j+tileColumns)*d.in]
			multiply(&t, &rows, panel, (*[tileColumns]float32)(d.bias[j:]))
			activation.Apply(t[:count*tileColumns])
			width := min(tileColumns, d.out-j)
			for r := range count {
				copy(dst[(first+r)*d.out+j:][:width], t[r*tileColumns:])
			}
		}
	}
}

// multiplyPlain writes bias + Σ_k rows[r][k]·panel[k] to row r of the tile.
func multiplyPlain(t *tile, rows *[tileRows][]float32, panel []float32, bias *[tileColumns]float32) {
	for r, row := range rows {
		sum := (*[tileColumns]float32)(t[r*tileColumns:])
		*sum = *bias
		for k, a := range row {
			for j, b := range (*[tileColumns]float32)(panel[k*tileColumns:]) {
				sum[j] += a * b
			}
		}
	}
}
