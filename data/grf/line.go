package grf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// ErrNotPositive says that no circulant embedding up to the size limit has
// non-negative eigenvalues: the kernel is no covariance, or its length is large
// against the grid's.
var ErrNotPositive = errors.New("circulant embedding is not positive semidefinite")

const (
	// maxDefect bounds the error of the covariance, relative to the variance,
	// that clipping negative eigenvalues may cause.
	maxDefect = 1e-10
	// maxNodes bounds the grid and maxGrowth the embedding, in doublings
	// beyond the smallest one.
	maxNodes  = 1 << 16
	maxGrowth = 6
)

// Line is a zero-mean Gaussian random field on a uniform one-dimensional grid.
// It is safe for concurrent use.
type Line struct {
	nodes  int
	scale  []float64 // √(λₖ/m), the m eigenvalues of the embedding
	defect float64
	work   sync.Pool // of *lineWork
}

type lineWork struct {
	fft  *fourier.CmplxFFT
	data []complex128
}

// NewLine prepares the field with covariance kernel(|i−j|·spacing) at nodes
// 0..nodes−1. The embedding is the smallest power of two m ≥ 2(nodes−1) whose
// negative eigenvalues can be clipped with a covariance error of at most 1e-10
// of the variance, up to 64 times the smallest; else the error is
// ErrNotPositive with the eigenvalue.
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
	var lowest, defect float64
	for range maxGrowth + 1 {
		eigenvalues := embed(m, spacing, kernel)
		lowest, defect = clip(eigenvalues)
		variance := kernel(0)
		if !(variance > 0) || math.IsInf(variance, 0) || math.IsNaN(lowest) {
			return nil, fmt.Errorf("random field with variance %v and eigenvalue %v, want finite and positive numbers", variance, lowest)
		}
		if defect <= maxDefect*variance {
			for k, v := range eigenvalues {
				eigenvalues[k] = math.Sqrt(v / float64(m))
			}
			return &Line{nodes: nodes, scale: eigenvalues, defect: defect}, nil
		}
		m *= 2
	}
	return nil, fmt.Errorf("%w: eigenvalue %.3g at %d points, covariance off by %.3g when clipped",
		ErrNotPositive, lowest, m/2, defect)
}

// embed returns the m eigenvalues of the circulant matrix with first row
// k(min(j, m−j)·spacing): the real transform of an even sequence is real.
func embed(m int, spacing float64, kernel Kernel) []float64 {
	row := make([]float64, m)
	for j := range row {
		row[j] = kernel(float64(min(j, m-j)) * spacing)
	}
	half := fourier.NewFFT(m).Coefficients(nil, row)
	for k := range row {
		row[k] = real(half[min(k, m-k)])
	}
	return row
}

// clip sets negative eigenvalues to zero. It returns the lowest and the bound
// Σ|λₖ|/m over the clipped ones on what that changes in any covariance.
func clip(eigenvalues []float64) (lowest, defect float64) {
	lowest = math.Inf(1)
	for k, v := range eigenvalues {
		if math.IsNaN(v) {
			return v, v
		}
		lowest = min(lowest, v)
		if v < 0 {
			defect -= v / float64(len(eigenvalues))
			eigenvalues[k] = 0
		}
	}
	return lowest, defect
}

// Defect bounds the difference between the field's covariances and the
// kernel's, which clipped eigenvalues cause.
func (f *Line) Defect() float64 { return f.defect }

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
