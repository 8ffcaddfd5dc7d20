package grf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// maxNodes bounds a line's grid. maxGrowth bounds its embedding, in doublings of the
// smallest one.
const (
	maxNodes  = 1 << 16
	maxGrowth = 6
)

// Line is a zero-mean Gaussian random field on a uniform one-dimensional grid.
// It is safe for concurrent use.
type Line struct {
	spectrum
	nodes int
	work  sync.Pool // of *lineWork
}

type lineWork struct {
	fft  *fourier.CmplxFFT
	data []complex128
}

// NewLine prepares the field with covariance kernel(|i−j|·spacing) at nodes
// 0..nodes−1. The embedding is the smallest power of two m ≥ 2(nodes−1) whose negative
// eigenvalues can be clipped with a covariance error of at most 1e-10 of the variance. If
// there is none up to 64 times the smallest m, the error is ErrNotPositive with the
// eigenvalue.
func NewLine(nodes int, spacing float64, kernel Kernel) (*Line, error) {
	if nodes < 2 || nodes > maxNodes {
		return nil, fmt.Errorf("random field on %d nodes, want 2 to %d", nodes, maxNodes)
	}
	if !(spacing > 0) || math.IsInf(spacing, 0) {
		return nil, fmt.Errorf("random field with grid spacing %v, want a positive number", spacing)
	}
	m := 2
	for m < 2*(nodes-1) {
		m *= 2
	}
	for largest := m << maxGrowth; ; m *= 2 {
		s, err := newSpectrum(embed(m, spacing, kernel), kernel(0))
		if err == nil {
			return &Line{spectrum: s, nodes: nodes}, nil
		}
		if m == largest || !errors.Is(err, ErrNotPositive) {
			return nil, err
		}
	}
}

// embed returns the m eigenvalues of the circulant matrix with first row
// k(min(j, m−j)·spacing): the real transform of an even sequence is real.
func embed(m int, spacing float64, kernel Kernel) []float64 {
	row := make([]float64, m)
	for j := range m/2 + 1 {
		row[j] = kernel(float64(j) * spacing)
	}
	mirror(row)
	half := fourier.NewFFT(m).Coefficients(nil, row)
	for k := range half {
		row[k] = real(half[k])
	}
	mirror(row)
	return row
}

// mirror completes an even periodic sequence from its first half and middle.
func mirror(row []float64) {
	for j := len(row)/2 + 1; j < len(row); j++ {
		row[j] = row[len(row)-j]
	}
}

// Pair draws two independent fields: the real and the imaginary part of
// Σₖ √(λₖ/m)(ξₖ+iηₖ)e^{−2πijk/m}, ξ, η ~ N(0,1), j = 0..nodes−1. The slices
// must have as many values as the grid has nodes.
func (f *Line) Pair(first, second []float64, rng *rand.Rand) {
	if len(first) != f.nodes || len(second) != f.nodes {
		panic(fmt.Sprintf("grf: slices of %d and %d values for %d nodes", len(first), len(second), f.nodes))
	}
	w, _ := f.work.Get().(*lineWork)
	if w == nil {
		w = &lineWork{fft: fourier.NewCmplxFFT(len(f.scale)), data: make([]complex128, len(f.scale))}
	}
	defer f.work.Put(w)
	for k, s := range f.scale {
		re, im := rng.NormFloat64(), rng.NormFloat64()
		w.data[k] = complex(s*re, s*im)
	}
	w.fft.Coefficients(w.data, w.data)
	for j := range first {
		first[j], second[j] = real(w.data[j]), imag(w.data[j])
	}
}
