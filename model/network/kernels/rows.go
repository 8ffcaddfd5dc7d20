package kernels

import (
	"fmt"
	"math"
)

// Epsilon is the term that LayerNorm adds to a variance, as in package layers.
const Epsilon = 1e-5

// Normalise writes the LayerNorm of every row of x [n, len(gain)] to dst, which may be x,
//
//	y = (x − μ)/√(σ² + ε)⊙gain + shift, μ and σ² the row's mean and variance,
//
// and applies the activation.
func Normalise(dst, x, gain, shift []float32, a Activation) {
	width := len(gain)
	if len(shift) != width || len(dst) != len(x) || len(x)%width != 0 {
		panic(fmt.Sprintf("kernels: normalise %d numbers to %d in rows of %d and %d", len(x), len(dst), width, len(shift)))
	}
	for i := 0; i < len(x); i += width {
		row := dst[i : i+width]
		normalise(row, x[i:i+width], gain, shift)
		a.Apply(row)
	}
}

func normalisePlain(dst, x, gain, shift []float32) {
	var sum, squares float32
	for _, v := range x {
		sum += v
	}
	mean := sum / float32(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	scale := perDeviation(squares, len(x))
	for i, v := range x {
		dst[i] = (v-mean)*scale*gain[i] + shift[i]
	}
}

// perDeviation is 1/√(σ² + ε) of n numbers with that sum of squares.
func perDeviation(squares float32, n int) float32 {
	return float32(1 / math.Sqrt(float64(squares/float32(n)+Epsilon)))
}

// Softmax replaces every row of x [n, width] by its exponentials over their sum.
func Softmax(x []float32, width int) {
	if len(x)%width != 0 {
		panic(fmt.Sprintf("kernels: softmax of %d numbers in rows of %d", len(x), width))
	}
	for i := 0; i < len(x); i += width {
		softmax(x[i : i+width])
	}
}

func softmaxPlain(x []float32) {
	largest := x[0]
	for _, v := range x {
		largest = max(largest, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = exp(v - largest)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// Scale multiplies every row of x [n, len(gain)] by gain.
func Scale(x, gain []float32) {
	width := len(gain)
	if len(x)%width != 0 {
		panic(fmt.Sprintf("kernels: scale %d numbers in rows of %d", len(x), width))
	}
	for i := 0; i < len(x); i += width {
		scale(x[i:i+width], gain)
	}
}

func scalePlain(x, gain []float32) {
	for i, g := range gain {
		x[i] *= g
	}
}

// AddScaled adds gain⊙y to x [n, len(gain)], row by row.
func AddScaled(x, y, gain []float32) {
	width := len(gain)
	if len(x) != len(y) || len(x)%width != 0 {
		panic(fmt.Sprintf("kernels: add %d numbers to %d in rows of %d", len(y), len(x), width))
	}
	for i := 0; i < len(x); i += width {
		addScaled(x[i:i+width], y[i:i+width], gain)
	}
}

func addScaledPlain(x, y, gain []float32) {
	for i, g := range gain {
		x[i] += y[i] * g
	}
}

// Dot is Σ a_i b_i, of vectors of one length.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("kernels: product of %d and %d numbers", len(a), len(b)))
	}
	return dot(a, b)
}

func dotPlain(a, b []float32) (sum float32) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
