package grf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// maxPoints bounds the embedding of a plane: 16 MiB of eigenvalues.
const maxPoints = 1 << 21

// growth is the factor by which an embedding that is not positive is enlarged, along its
// shorter side or both.
const growth = 1.2

// Plane is a zero-mean Gaussian random field on a uniform two-dimensional grid,
// isotropic in the units of the spacings. It is safe for concurrent use.
//
// The draws have the kernel's covariance without a nugget. A nugget keeps the Cholesky
// factorisation of a smooth kernel's matrix from failing, but adds white noise to the field.
// A length below the spacing needs no nugget either: its embedding is the best conditioned.
type Plane struct {
	spectrum     // at [l·mx + k] for wave numbers k, l along x, y
	nx, ny   int // nodes
	mx, my   int // points of the embedding
}

// axis is one direction of a grid.
type axis struct {
	nodes   int
	spacing float64
}

// NewSquaredExponentialPlane prepares the field with covariance
// SquaredExponential(length, variance) of √((Δi·hx)² + (Δj·hy)²) between nodes
// (i, j), i = 0..nx−1, j = 0..ny−1. The embedding is a torus of mx × my points,
// mx ≥ 2(nx−1) and my ≥ 2(ny−1) with factors 2, 3 and 5 alone (one point along a
// direction with one node), enlarged until its negative eigenvalues can be
// clipped with a covariance error of at most 1e-10 of the variance. The error is
// ErrNotPositive with the lowest eigenvalue if that takes more than 2²¹ points.
// It takes about 14 lengths along each side: 32×32 nodes with spacing 10/31 allow
// lengths up to 30.
//
// The kernel is a product of one along x and one along y, and so are the eigenvalues of
// the torus: they cost a small part of a transform of the torus.
func NewSquaredExponentialPlane(nx, ny int, hx, hy, length, variance float64) (*Plane, error) {
	return newPlane(nx, ny, hx, hy, SquaredExponential(length, variance), func(mx, my int) []float64 {
		along, across := embed(mx, hx, SquaredExponential(length, 1)), embed(my, hy, SquaredExponential(length, variance))
		eigenvalues := make([]float64, 0, mx*my)
		for _, v := range across {
			for _, u := range along {
				eigenvalues = append(eigenvalues, u*v)
			}
		}
		return eigenvalues
	})
}

// newPlane prepares the field of any kernel. eigenvalues gives those of a torus of mx×my
// points.
func newPlane(nx, ny int, hx, hy float64, kernel Kernel, eigenvalues func(mx, my int) []float64) (*Plane, error) {
	x, y := axis{nx, hx}, axis{ny, hy}
	for _, a := range []axis{x, y} {
		if a.nodes < 1 || a.nodes > maxNodes {
			return nil, fmt.Errorf("random field on %d×%d nodes, want 1 to %d along each axis", nx, ny, maxNodes)
		}
		if !(a.spacing > 0) || math.IsInf(a.spacing, 0) {
			return nil, fmt.Errorf("random field with grid spacings %v and %v, want positive numbers", hx, hy)
		}
	}
	mx, my := x.points(0), y.points(0)
	if mx*my > maxPoints {
		return nil, fmt.Errorf("random field on %d×%d nodes needs %d points, want at most %d", nx, ny, mx*my, maxPoints)
	}
	for {
		period := growth * min(x.period(mx), y.period(my))
		nextX, nextY := x.points(period), y.points(period)
		last := nextX*nextY > maxPoints || nextX*nextY == mx*my
		if last || (x.positive(mx, kernel) && y.positive(my, kernel)) {
			s, err := newSpectrum(eigenvalues(mx, my), kernel(0))
			if err == nil {
				s.thin(kernel(0))
				return &Plane{spectrum: s, nx: nx, ny: ny, mx: mx, my: my}, nil
			}
			if last || !errors.Is(err, ErrNotPositive) {
				return nil, err
			}
		}
		mx, my = nextX, nextY
	}
}

// period is the length of m points; infinite for a single node.
func (a axis) period(m int) float64 {
	if a.nodes == 1 {
		return math.Inf(1)
	}
	return float64(m) * a.spacing
}

// points is the size of the smallest embedding with at least that period, or any number
// beyond maxPoints.
func (a axis) points(period float64) int {
	if a.nodes == 1 {
		return 1
	}
	m := max(2*(a.nodes-1), int(min(math.Ceil(period/a.spacing), maxPoints+1)))
	for !smooth(m) {
		m++
	}
	return m
}

// smooth reports whether m has no prime factors beyond 5: for those sizes the Fourier
// transform is fast.
func smooth(m int) bool {
	for _, p := range []int{2, 3, 5} {
		for m%p == 0 {
			m /= p
		}
	}
	return m == 1
}

// positive reports whether a torus with m points along the axis may be positive. The
// eigenvalues of the circle of m points are means of those of the torus, so clipping on
// the torus costs at least as much as on the circle. This saves transforms of tori that are
// too small. Kernels that are invalid for other reasons pass.
func (a axis) positive(m int, kernel Kernel) bool {
	_, defect := clip(embed(m, a.spacing, kernel))
	return !(defect > maxDefect*kernel(0))
}

// Pair draws two independent fields: the real and the imaginary part of
//
//	Σₖₗ √(λₖₗ/mxmy)(ξₖₗ+iηₖₗ)e^{−2πi(ik/mx + jl/my)},  ξ, η ~ N(0, 1)
//
// without the modes whose λ is below 1e-11 of the variance, most of a smooth field's,
// at nodes (i, j). The value at (i, j) is at [j·nx + i] of the slices, which
// must have as many values as the grid has nodes.
func (f *Plane) Pair(first, second []float64, rng *rand.Rand) {
	if len(first) != f.nx*f.ny || len(second) != f.nx*f.ny {
		panic(fmt.Sprintf("grf: slices of %d and %d values for %d×%d nodes", len(first), len(second), f.nx, f.ny))
	}
	w := f.borrow()
	defer planeWorks.Put(w)
	for l := range f.my {
		empty := true
		for k, s := range f.scale[l*f.mx : (l+1)*f.mx] {
			w.row[k] = 0
			if s > 0 {
				re, im := rng.NormFloat64(), rng.NormFloat64()
				w.row[k] = complex(s*re, s*im)
				empty = false
			}
		}
		if !empty {
			w.along.Coefficients(w.row, w.row)
		}
		for i, v := range w.row[:f.nx] {
			w.columns[i*f.my+l] = v
		}
	}
	for i := range f.nx {
		column := w.columns[i*f.my : (i+1)*f.my]
		w.across.Coefficients(column, column)
		for j, v := range column[:f.ny] {
			first[j*f.nx+i], second[j*f.nx+i] = real(v), imag(v)
		}
	}
}
