package grf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

func exponential(r float64) float64 { return math.Exp(-r) }

// tent is a covariance on a line, but not in a plane.
func tent(r float64) float64 { return max(0, 1-r/4) }

// kernelPlane is newPlane for any kernel: by a transform of the torus, which costs
// more than one call of Pair.
func kernelPlane(nx, ny int, hx, hy float64, kernel Kernel) (*Plane, error) {
	return newPlane(nx, ny, hx, hy, kernel, func(mx, my int) []float64 {
		return embedTorus(mx, my, hx, hy, kernel)
	})
}

// embedTorus returns the eigenvalues of the covariance between the points of a
// torus, [my, mx]. Both the covariance and they are even along x and y.
func embedTorus(mx, my int, hx, hy float64, kernel Kernel) []float64 {
	eigenvalues := make([]float64, mx*my)
	kx, ky := mx/2+1, my/2+1
	row, half := make([]float64, mx), make([]complex128, kx)
	along := fourier.NewFFT(mx)
	for l := range ky {
		for k := range kx {
			dx, dy := float64(k)*hx, float64(l)*hy
			row[k] = kernel(math.Sqrt(float64(dx*dx) + float64(dy*dy)))
		}
		mirror(row)
		for k, v := range along.Coefficients(half, row) {
			eigenvalues[l*mx+k] = real(v)
		}
	}
	column, half := make([]float64, my), make([]complex128, ky)
	across := fourier.NewFFT(my)
	for k := range kx {
		for l := range ky {
			column[l] = eigenvalues[l*mx+k]
		}
		mirror(column)
		for l, v := range across.Coefficients(half, column) {
			eigenvalues[l*mx+k] = real(v)
		}
	}
	for l := range my {
		if l >= ky {
			copy(eigenvalues[l*mx:], eigenvalues[(my-l)*mx:][:kx])
		}
		mirror(eigenvalues[l*mx : (l+1)*mx])
	}
	return eigenvalues
}

// The embedding's eigenvalues carry the kernel to every pair of nodes.
func TestTorusIsExact(t *testing.T) {
	const spacing = 10. / 31
	for _, c := range []struct {
		name   string
		nx, ny int
		hx, hy float64
		kernel Kernel
	}{
		{"a spacing long", 32, 32, spacing, spacing, SquaredExponential(0.3, 1)},
		{"middling", 32, 32, spacing, spacing, SquaredExponential(1, 1)},
		{"long", 32, 32, spacing, spacing, SquaredExponential(2, 3)},
		{"half the domain", 32, 32, spacing, spacing, SquaredExponential(5, 1)},
		{"longer than the domain", 32, 32, spacing, spacing, SquaredExponential(12, 1)},
		{"far below the spacing", 32, 32, spacing, spacing, SquaredExponential(0.01, 0.25)},
		{"cusped", 20, 33, 0.1, 0.3, exponential},
		{"unequal spacings", 17, 40, 0.5, 0.05, SquaredExponential(1, 1)},
		{"strip", 2, 64, 0.1, 0.1, SquaredExponential(1, 1)},
		{"column", 1, 50, 7, 0.1, SquaredExponential(1, 1)},
		{"row", 50, 1, 0.1, 7, SquaredExponential(1, 1)},
		{"square", 2, 2, 1, 1, SquaredExponential(1, 1)},
		{"node", 1, 1, 1, 1, SquaredExponential(1, 2)},
		{"constant in floating point", 2, 2, 5e-324, 5e-324, SquaredExponential(1, 1)},
		{"tent on a row", 50, 1, 1, 1, tent},
	} {
		field, err := kernelPlane(c.nx, c.ny, c.hx, c.hy, c.kernel)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(field.scale) != field.mx*field.my || len(field.scale) > maxPoints {
			t.Errorf("%s: embedding of %d×%d points has %d eigenvalues", c.name, field.mx, field.my, len(field.scale))
		}
		covariance := torusCovariance(field)
		variance := c.kernel(0)
		lowest, defect := clip(embedTorus(field.mx, field.my, c.hx, c.hy, c.kernel))
		if !(defect <= maxDefect*variance) {
			t.Errorf("%s: defect %v", c.name, defect)
		}
		defect += negligible * variance // of the modes that are left out
		for j := range c.ny {
			for i := range c.nx {
				want := c.kernel(math.Hypot(float64(i)*c.hx, float64(j)*c.hy))
				got := covariance[j*field.mx+i]
				if !(math.Abs(got-want) <= 1e-12*variance+defect) {
					t.Fatalf("%s: covariance at (%d, %d) is %v, want %v", c.name, i, j, got, want)
				}
			}
		}
		t.Logf("%s: %d×%d points, lowest %.2g, defect %.2g", c.name, field.mx, field.my, lowest, defect)
	}
}

// A product of circles is the torus of the kernel.
func TestSquaredExponentialPlane(t *testing.T) {
	const spacing = 10. / 31
	for _, length := range []float64{0.01, 0.3, 1, 1.7, 5} {
		for _, size := range [][2]int{{32, 32}, {17, 40}, {1, 9}} {
			want, err := kernelPlane(size[0], size[1], spacing, 2*spacing, SquaredExponential(length, 3))
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewSquaredExponentialPlane(size[0], size[1], spacing, 2*spacing, length, 3)
			if err != nil {
				t.Fatal(err)
			}
			if got.mx != want.mx || got.my != want.my {
				t.Fatalf("length %v: torus of %d×%d points, want %d×%d", length, got.mx, got.my, want.mx, want.my)
			}
			for k, v := range want.scale {
				if m := float64(len(want.scale)); !(math.Abs(v*v-got.scale[k]*got.scale[k])*m <= 1e-12*m+3*negligible) {
					t.Fatalf("length %v: mode %d has %v, want %v", length, k, got.scale[k], v)
				}
			}
		}
	}
	// Smooth fields have few modes that are not negligible, rough ones have all.
	for length, most := range map[float64]float64{0.3: 1, 1: 0.5, 2: 0.15} {
		field, err := NewSquaredExponentialPlane(32, 32, spacing, spacing, length, 1)
		if err != nil {
			t.Fatal(err)
		}
		drawn := 0
		for _, s := range field.scale {
			if s > 0 {
				drawn++
			}
		}
		if share := float64(drawn) / float64(len(field.scale)); !(share <= most && share >= most*0.8) {
			t.Errorf("length %v: %.3f of the modes are drawn, want %v", length, share, most)
		}
	}
	if _, err := NewSquaredExponentialPlane(32, 32, 1, 1, math.NaN(), 1); err == nil {
		t.Error("a length that is not a number is accepted")
	}
}

// torusCovariance is Σₖₗ λₖₗ/(mx·my)·e^{−2πi(ik/mx+jl/my)} at [j·mx + i].
func torusCovariance(f *Plane) []float64 {
	values := make([]complex128, len(f.scale))
	for k, s := range f.scale {
		values[k] = complex(s*s, 0)
	}
	along, across := fourier.NewCmplxFFT(f.mx), fourier.NewCmplxFFT(f.my)
	for l := range f.my {
		row := values[l*f.mx : (l+1)*f.mx]
		along.Coefficients(row, row)
	}
	column := make([]complex128, f.my)
	covariance := make([]float64, len(values))
	for i := range f.mx {
		for l := range column {
			column[l] = values[l*f.mx+i]
		}
		across.Coefficients(column, column)
		for j, v := range column {
			covariance[j*f.mx+i] = real(v)
		}
	}
	return covariance
}

// The covariances within and between the two fields of a pair.
func TestPlaneCovariance(t *testing.T) {
	const nx, ny = 4, 5
	const hx, hy = 0.4, 0.7
	kernel := SquaredExponential(0.5, 1)
	field, err := kernelPlane(nx, ny, hx, hy, kernel)
	if err != nil {
		t.Fatal(err)
	}
	checkCovariance(t, 20000, nx*ny, field.Pair, func(a, b int) float64 {
		return kernel(math.Hypot(float64(a%nx-b%nx)*hx, float64(a/nx-b/nx)*hy))
	})
}

// Distances of 5 along x, along y and as (3, 4), (4, 3), (3, −4) have one
// covariance: the mean over all nodes of a draw, over 1,000 pairs, agrees with
// the kernel within 4.5 standard errors.
func TestIsotropy(t *testing.T) {
	const n, draws = 16, 1000
	kernel := SquaredExponential(3, 1)
	field, err := kernelPlane(n, n, 1, 1, kernel)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	steps := [][2]int{{5, 0}, {0, 5}, {3, 4}, {4, 3}, {3, -4}}
	sums, squares := make([]float64, len(steps)), make([]float64, len(steps))
	first, second := make([]float64, n*n), make([]float64, n*n)
	for range draws {
		field.Pair(first, second, rng)
		for _, v := range [][]float64{first, second} {
			for s, d := range steps {
				mean := meanProduct(v, n, d[0], d[1])
				sums[s] += mean
				squares[s] += mean * mean
			}
		}
	}
	for s, d := range steps {
		mean := sums[s] / (2 * draws)
		z := (mean - kernel(5)) / math.Sqrt((squares[s]/(2*draws)-mean*mean)/(2*draws))
		if !(math.Abs(z) <= 4.5) {
			t.Errorf("covariance at %v is %.4f, %.1f standard errors from %.4f", d, mean, z, kernel(5))
		}
	}
}

// meanProduct averages v(i, j)·v(i+di, j+dj) over an n×n grid.
func meanProduct(v []float64, n, di, dj int) float64 {
	var sum float64
	count := 0
	for j := max(0, -dj); j < min(n, n-dj); j++ {
		for i := range n - di {
			sum += v[j*n+i] * v[(j+dj)*n+i+di]
			count++
		}
	}
	return sum / float64(count)
}

// Fields are part of data sets' identities: a draw depends on the source alone,
// not on what the work space was used for before.
func TestPlaneIsDeterministic(t *testing.T) {
	draw := func(n int, length float64, seed uint64) []float64 {
		field, err := kernelPlane(n, n, 10/float64(n-1), 10/float64(n-1), SquaredExponential(length, 1))
		if err != nil {
			t.Error(err)
			return make([]float64, 2*n*n)
		}
		out := make([]float64, 2*n*n)
		field.Pair(out[:n*n], out[n*n:], rand.New(rand.NewPCG(seed, 0)))
		return out
	}
	want := draw(32, 1, 1)
	golden := []float64{-1.1905690915307485, 0.3536051064442438, -2.093635614535135, 0.03383119680933788, -1.235689967876322}
	for i, v := range golden {
		if got := want[i*411]; !(math.Abs(got-v) <= 1e-12) {
			t.Errorf("value %d of seed 1 is %v, want %v", i*411, got, v)
		}
	}
	const routines = 16
	results := make(chan []float64)
	for i := range routines {
		go func() {
			draw(8+i, 2, 7)
			results <- draw(32, 1, 1)
		}()
	}
	for range routines {
		if !slices.Equal(<-results, want) {
			t.Error("a concurrent draw differs")
		}
	}
	if slices.Equal(draw(32, 1, 2), want) {
		t.Error("two seeds draw one field")
	}
}

// Eigenvalues 1 + 2c(cos α + cos β), with c a little above ¼, are negative at
// α = β = π alone, by 4(c−¼), and the covariance is off by that over the points.
func TestNegativeEigenvalueIsReported(t *testing.T) {
	const n, below = 5, 4e-11
	plane, line := neighbours(0.25+below/4), neighbours(0.5+below/2)
	for name, c := range map[string]struct {
		eigenvalues    []float64
		lowest, defect float64
	}{
		"plane":       {embedTorus(8, 8, 1, 1, plane), -below, below / 64},
		"line":        {embed(8, 1, line), -below, below / 8},
		"white noise": {embedTorus(8, 8, 1, 1, neighbours(0)), 1, 0},
	} {
		lowest, defect := clip(c.eigenvalues)
		if !(math.Abs(lowest-c.lowest) <= 1e-15 && math.Abs(defect-c.defect) <= 1e-16 && slices.Min(c.eigenvalues) >= 0) {
			t.Errorf("%s: lowest %v, defect %v, want %v, %v", name, lowest, defect, c.lowest, c.defect)
		}
	}
	if field, err := kernelPlane(n, n, 1, 1, plane); err != nil || len(field.scale) != 64 {
		t.Errorf("the plane is not drawn on 8×8 points: %v", err)
	}
	if field, err := NewLine(n, 1, line); err != nil || len(field.scale) != 8 {
		t.Errorf("the line is not drawn on 8 points: %v", err)
	}
	_, err := kernelPlane(n, n, 1, 1, neighbours(0.26))
	if !errors.Is(err, ErrNotPositive) || !strings.Contains(err.Error(), fmt.Sprintf("eigenvalue %.3g", -0.04)) {
		t.Errorf("neighbours with covariance 0.26: %v, want ErrNotPositive with eigenvalue −0.04", err)
	}
}

// neighbours has variance 1 and covariance c at distance 1.
func neighbours(c float64) Kernel {
	return func(r float64) float64 {
		switch {
		case r < 0.5:
			return 1
		case r < 1.2:
			return c
		}
		return 0
	}
}

func TestPlaneRefusals(t *testing.T) {
	good := SquaredExponential(1, 1)
	for name, c := range map[string]struct {
		nx, ny      int
		hx, hy      float64
		kernel      Kernel
		notPositive bool
	}{
		"no nodes":          {0, 8, 1, 1, good, false},
		"too many nodes":    {8, maxNodes + 1, 1, 1, good, false},
		"too large":         {1024, 1024, 1, 1, good, false},
		"zero spacing":      {8, 8, 1, 0, good, false},
		"infinite spacing":  {8, 8, math.Inf(1), 1, good, false},
		"NaN spacing":       {8, 1, 1, math.NaN(), good, false},
		"NaN kernel":        {8, 8, 1, 1, func(float64) float64 { return math.NaN() }, false},
		"NaN further out":   {8, 8, 1, 1, func(r float64) float64 { return math.Sqrt(1 - r) }, false},
		"infinite kernel":   {8, 8, 1, 1, SquaredExponential(1, math.Inf(1)), false},
		"infinite far away": {8, 8, 1, 1, func(r float64) float64 { return math.Exp(100 * r * r) }, false},
		"zero kernel":       {8, 8, 1, 1, SquaredExponential(1, 0), false},
		"tent":              {16, 16, 1, 1, tent, true},
		"longer than any":   {32, 32, 10. / 31, 10. / 31, SquaredExponential(60, 1), true},
	} {
		_, err := kernelPlane(c.nx, c.ny, c.hx, c.hy, c.kernel)
		if err == nil || errors.Is(err, ErrNotPositive) != c.notPositive {
			t.Errorf("%s: %v; want ErrNotPositive: %v", name, err, c.notPositive)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// What the circle says of the torus: too little room for it is too little for
// the torus, never the other way round.
func TestCircleBoundsTorus(t *testing.T) {
	for _, kernel := range []Kernel{SquaredExponential(3, 1), exponential, tent} {
		for _, m := range []int{8, 16, 24, 40, 60} {
			_, circle := clip(embed(m, 1, kernel))
			_, torus := clip(embedTorus(m, 30, 1, 1, kernel))
			if !(circle <= torus+1e-14) {
				t.Errorf("%d points: a defect of %v on the circle, %v on the torus", m, circle, torus)
			}
		}
	}
}
