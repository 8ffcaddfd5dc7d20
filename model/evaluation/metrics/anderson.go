package metrics

import "math"

// anderson accelerates a fixed-point iteration g ← G(g) (Anderson, J. ACM 12,
// 1965; type II). The next iterate is an affine combination of the last images
// G(g): the one whose residuals G(g) − g, combined with the same weights, are
// smallest in the Euclidean norm.
type anderson struct {
	images, residuals [][]float64 // at most depth+1, oldest first
	depth             int
}

// next takes an iterate and its image G(g) and overwrites the iterate with the
// next one.
func (a *anderson) next(g, image []float64) {
	residual := make([]float64, len(g))
	for i := range g {
		residual[i] = image[i] - g[i]
	}
	a.images = append(a.images, append([]float64(nil), image...))
	a.residuals = append(a.residuals, residual)
	if len(a.images) > a.depth+1 {
		a.images, a.residuals = a.images[1:], a.residuals[1:]
	}
	copy(g, image)
	m := len(a.images) - 1
	if m == 0 {
		return
	}
	// Minimise |r − Σ γ_k (r_{k+1} − r_k)| by damped normal equations. Products of
	// differences, which are all of one size, keep these well scaled.
	gram, right := make([][]float64, m), make([]float64, m)
	for k := range m {
		gram[k] = make([]float64, m)
		for l := range k + 1 {
			gram[k][l] = differenceProduct(a.residuals[k], a.residuals[k+1], a.residuals[l], a.residuals[l+1])
			gram[l][k] = gram[k][l]
		}
		for i, r := range residual {
			right[k] += (a.residuals[k+1][i] - a.residuals[k][i]) * r
		}
	}
	if !solveSymmetric(gram, right) {
		a.restart()
		return
	}
	for k, gamma := range right {
		for i := range g {
			g[i] -= gamma * (a.images[k+1][i] - a.images[k][i])
		}
	}
}

func (a *anderson) restart() { a.images, a.residuals = nil, nil }

// differenceProduct is ⟨b−a, d−c⟩.
func differenceProduct(a, b, c, d []float64) float64 {
	var sum float64
	for i := range a {
		sum += (b[i] - a[i]) * (d[i] - c[i])
	}
	return sum
}

// solveSymmetric overwrites right with the solution of a positive semi-definite
// system whose diagonal is raised by 1e-10 of itself, by Cholesky factorisation
// in place. It is false if the matrix is not positive definite even so.
func solveSymmetric(matrix [][]float64, right []float64) bool {
	n := len(right)
	for i := range n {
		matrix[i][i] *= 1 + 1e-10
		for j := range i + 1 {
			sum := matrix[i][j]
			for k := range j {
				sum -= matrix[i][k] * matrix[j][k]
			}
			if i != j {
				matrix[i][j] = sum / matrix[j][j]
				continue
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				return false
			}
			matrix[i][i] = math.Sqrt(sum)
		}
	}
	for i := range n {
		for k := range i {
			right[i] -= matrix[i][k] * right[k]
		}
		right[i] /= matrix[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			right[i] -= matrix[k][i] * right[k]
		}
		right[i] /= matrix[i][i]
	}
	return true
}
