// Package grf draws Gaussian random fields on uniform grids by circulant
// embedding: the covariance of a stationary field on a grid is a block of a
// larger circulant matrix, which the discrete Fourier transform diagonalises
// (Dietrich and Newsam 1997). The draws have the exact covariance and cost
// O(m log m) for an embedding of m points.
package grf

import "math"

// Kernel is a stationary, isotropic covariance k(r) as a function of distance.
type Kernel func(r float64) float64

// SquaredExponential is k(r) = variance·exp(−r²/2ℓ²).
func SquaredExponential(length, variance float64) Kernel {
	return func(r float64) float64 {
		r /= length
		return variance * math.Exp(-r*r/2)
	}
}
