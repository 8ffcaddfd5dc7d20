package sde

import (
	"errors"
	"math"
	"testing"
)

// radial is a pair potential by its derivative: f = −U′(r)/r between core and
// reach.
type radial struct {
	name        string
	core, reach float64
	slope       func(r float64) float64
}

// potentials are the paper's families, with hard and soft members of each,
// capped at 10 where they are.
func potentials() (all []radial) {
	morse := func(depth, a, r0 float64) radial {
		capped := r0 - math.Log(1+math.Sqrt(1+10/depth))/a
		return radial{"Morse", max(capped, 0), r0 + 12/a, func(r float64) float64 {
			e := math.Exp(-a * (r - r0))
			return 2 * depth * a * (1 - e) * e
		}}
	}
	gaussian := func(a, s float64) radial {
		return radial{"Gaussian", 0, 5 * s, func(r float64) float64 { return -a * r / (s * s) * math.Exp(-r*r/(2*s*s)) }}
	}
	double := func(a, s, b, w float64) radial {
		return radial{"double Gaussian", 0, 5 * w, func(r float64) float64 { return gaussian(a, s).slope(r) - gaussian(b, w).slope(r) }}
	}
	wca := func(e, s float64) radial {
		// 4ε(q⁶ − q³) + ε = 10 for q = s²/(r² + s²/100).
		q := math.Cbrt((1 + math.Sqrt(10/e)) / 2)
		core := s * math.Sqrt(max(1/q-0.01, 0))
		return radial{"WCA", core, s * math.Sqrt(math.Cbrt(2)-0.01), func(r float64) float64 {
			r2 := r*r + 0.01*s*s
			q := math.Pow(s*s/r2, 3)
			return 4 * e * (-12*q*q + 6*q) * r / r2
		}}
	}
	return []radial{
		morse(0.5, 2, 1.5), morse(3, 2, 1), morse(3, 5, 0.5), morse(1, 5, 1.5), gaussian(10, 0.3), gaussian(-0.5, 1.5),
		double(3, 0.3, 2, 1.5), double(10, 0.6, 0.5, 0.8), double(10, 0.3, 2, 0.8), wca(0.5, 0.5), wca(2, 1.5),
	}
}

// The force f·r of a table is that of the potential within 3e-4 of its maximum,
// and zero outside.
func TestTabulate(t *testing.T) {
	for _, u := range potentials() {
		force := Tabulate(func(r2 float64) float64 { return -u.slope(math.Sqrt(r2)) / math.Sqrt(r2) }, u.core, u.reach)
		if err := force.Validate(); err != nil {
			t.Fatalf("%s: %v", u.name, err)
		}
		var largest, worst, at float64
		const points = 20000
		for i := range points {
			r := u.core + (u.reach-u.core)*(float64(i)+0.5)/points
			if r < u.reach/300 {
				continue
			}
			largest = max(largest, math.Abs(u.slope(r)))
			if e := math.Abs(force.At(r*r)*r + u.slope(r)); e > worst || math.IsNaN(e) {
				worst, at = e, r
			}
		}
		if !(worst <= 3e-4*largest) {
			t.Errorf("%s, core %v: error %.2g of the largest force at r = %v", u.name, u.core, worst/largest, at)
		}
		for _, r := range []float64{0.999 * u.core, u.reach * 1.0001, 1e9, math.Inf(1), math.NaN()} {
			if v := force.At(r * r); v != 0 && (u.core > 0 || r > 0) {
				t.Errorf("%s: f is %v at r = %v, outside", u.name, v, r)
			}
		}
	}
}

// The table is exact for cubics in r², up to rounding, and the bits of t select the cell.
func TestTabulateCubics(t *testing.T) {
	cubic := func(r2 float64) float64 { return 1 + r2*(-2+r2*(0.5-r2/30)) }
	force := Tabulate(cubic, 0.3, 3)
	for r := 0.301; r < 2.999; r += 0.0007 {
		if got, want := force.At(r*r), cubic(r*r); !(math.Abs(got-want) <= 1e-5) {
			t.Fatalf("f is %v at r = %v, want %v", got, r, want)
		}
		tt := float32(1 + force.Scale()*(r*r-0.09))
		k := (math.Float32bits(tt) - math.Float32bits(1)) >> 22
		c := force.Cells[k]
		if got := c[0] + tt*(c[1]+tt*(c[2]+tt*c[3])); !(math.Abs(float64(got)-cubic(r*r)) <= 3e-5) {
			t.Fatalf("cell %d gives %v at r = %v, want %v", k, got, r, cubic(r*r))
		}
	}
}

func TestRadialForceNotFinite(t *testing.T) {
	force := Tabulate(func(r2 float64) float64 { return 1 / (r2 - r2) }, 0, 1)
	if err := force.Validate(); !errors.Is(err, ErrNotFinite) {
		t.Errorf("infinite force: %v", err)
	}
}
