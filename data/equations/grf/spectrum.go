package grf

import (
	"errors"
	"fmt"
	"math"
)

// ErrNotPositive means that no circulant embedding up to the size limit has non-negative
// eigenvalues: the kernel is not a covariance, or its length is large compared with the
// grid.
var ErrNotPositive = errors.New("circulant embedding is not positive semidefinite")

// maxDefect bounds the error of the covariance, relative to the variance, that
// clipping negative eigenvalues may cause.
const maxDefect = 1e-10

// spectrum is that of a circulant matrix, ready to draw with.
type spectrum struct {
	scale []float64 // √(λₖ/m), the m eigenvalues
}

// newSpectrum keeps and changes the slice of eigenvalues. The error is ErrNotPositive with
// the lowest of them if clipping would change a covariance too much.
func newSpectrum(eigenvalues []float64, variance float64) (spectrum, error) {
	lowest, defect := clip(eigenvalues)
	if !(variance > 0) || math.IsInf(variance, 0) || math.IsNaN(lowest) {
		return spectrum{}, fmt.Errorf("random field with variance %v and eigenvalue %v, want finite and positive numbers", variance, lowest)
	}
	if defect > maxDefect*variance {
		return spectrum{}, fmt.Errorf("%w: eigenvalue %.3g at %d points, covariance off by %.3g when clipped",
			ErrNotPositive, lowest, len(eigenvalues), defect)
	}
	for k, v := range eigenvalues {
		eigenvalues[k] = math.Sqrt(v / float64(len(eigenvalues)))
	}
	return spectrum{scale: eigenvalues}, nil
}

// clip sets negative eigenvalues to zero. It returns the lowest eigenvalue, NaN if one is
// not finite, and the bound Σ|λₖ|/m, over the clipped ones, on the change of any covariance.
func clip(eigenvalues []float64) (lowest, defect float64) {
	lowest = math.Inf(1)
	for k, v := range eigenvalues {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return math.NaN(), 0
		}
		lowest = min(lowest, v)
		if v < 0 {
			defect -= v / float64(len(eigenvalues))
			eigenvalues[k] = 0
		}
	}
	return lowest, defect
}

// negligible is the eigenvalue, relative to the variance, up to which modes are not drawn:
// all of them together are at most a tenth of maxDefect.
const negligible = maxDefect / 10

// thin sets negligible eigenvalues to zero, for fields that leave such modes out.
func (s *spectrum) thin(variance float64) {
	m := float64(len(s.scale))
	for k, v := range s.scale {
		if eigenvalue := v * v * m; v > 0 && eigenvalue <= negligible*variance {
			s.scale[k] = 0
		}
	}
}
