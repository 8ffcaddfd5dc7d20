package diagnostics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Inflation estimates by what part the Euler–Maruyama scheme makes the variance of a law too
// large, from states of its chains. A step adds dt²·Var b to the variance besides the noise,
//
//	dt·Var b / σ²,
//
// where Var b is over the states. That is q/(1 − q) with q = λ·dt/2 for a linear drift −λx and
// a constant σ, exactly, whether or not the chains are in equilibrium. Of other equations it is
// an estimate: near λ = E(−b′), and in a law of several wells for the width of a well. In
// several dimensions it is E bᵀC⁻¹b / tr(C⁻¹σσᵀ) with the covariance C of the states, the mean over
// directions; rotations count.
//
// States and drift are [n, dim], noise is the mean of σσᵀ, [dim, dim]. It is 0
// where the states do not vary.
func Inflation(dt float64, dim int, states, drift, noise []float64) float64 {
	c := covariance(dim, states, states)
	inverse, ok := invert(dim, c)
	if !ok {
		return 0
	}
	trace := func(m []float64) (sum float64) { // of C⁻¹m
		for i := range dim {
			for j := range dim {
				sum += inverse[i*dim+j] * m[j*dim+i]
			}
		}
		return sum
	}
	added := dt * trace(covariance(dim, drift, drift))
	// What the drift takes away in equilibrium is the noise and what a step adds. Chains that
	// still approach their law feel more of the drift than of the noise.
	taken := -2 * trace(covariance(dim, states, drift))
	return added / max(trace(noise), taken-added)
}

// TimeStep is the step with which an inflation by one with dt would be the wanted one.
func TimeStep(dt, inflation, wanted float64) float64 {
	return dt * (wanted / (1 + wanted)) / (inflation / (1 + inflation))
}

// covariance of a and b, both [n, dim].
func covariance(dim int, a, b []float64) []float64 {
	n := float64(len(a) / dim)
	meanA, meanB := make([]float64, dim), make([]float64, dim)
	for at := range a {
		meanA[at%dim] += a[at] / n
		meanB[at%dim] += b[at] / n
	}
	c := make([]float64, dim*dim)
	for at := 0; at < len(a); at += dim {
		for i := range dim {
			for j := range dim {
				c[i*dim+j] += (a[at+i] - meanA[i]) * (b[at+j] - meanB[j]) / n
			}
		}
	}
	return c
}

// invert a symmetric matrix. It is false for one that is singular, up to rounding.
func invert(dim int, c []float64) ([]float64, bool) {
	if dim == 1 {
		return []float64{1 / c[0]}, c[0] > 0 && !math.IsInf(1/c[0], 0)
	}
	if dim == 2 {
		d := c[0]*c[3] - c[1]*c[2]
		if !(d > singular*c[0]*c[3]) {
			return nil, false
		}
		return []float64{c[3] / d, -c[1] / d, -c[2] / d, c[0] / d}, true
	}
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(dim, slices.Clone(c))) || factor.Cond() > 1/singular {
		return nil, false
	}
	inverse := mat.NewSymDense(dim, nil)
	if err := factor.InverseTo(inverse); err != nil {
		return nil, false
	}
	full := make([]float64, dim*dim) // of which inverse stores a half
	for at := range full {
		full[at] = inverse.At(at/dim, at%dim)
	}
	return full, true
}

// singular is where a determinant, relative to that of the diagonal, is that of rounding.
const singular = 1e-12
