package sde

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestGrid(t *testing.T) {
	g := Grid{Lo: -5, Hi: 5, N: 64}
	if g.At(0) != -5 || g.At(63) != 5 || !(math.Abs(g.Step()-10./63) <= 1e-15) {
		t.Errorf("grid runs from %v to %v by %v", g.At(0), g.At(63), g.Step())
	}
	for _, bad := range []Grid{
		{}, {Lo: 0, Hi: 1, N: 1}, {Lo: 0, Hi: 1, N: -4}, {Lo: 0, Hi: 1, N: MaxNodes + 1}, {Lo: 1, Hi: 1, N: 2}, {Lo: 2, Hi: 1, N: 2},
		{Lo: math.NaN(), Hi: 1, N: 2}, {Lo: 0, Hi: math.Inf(1), N: 2}, {Lo: math.Inf(-1), Hi: 0, N: 2}, {Lo: -math.MaxFloat64, Hi: math.MaxFloat64, N: 2},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Linear between nodes, constant outside.
func TestInterpolation(t *testing.T) {
	c := Coefficients{Grid: Grid{Lo: -1, Hi: 3, N: 3}, Drift: []float32{2, 4, -1}, Diffusion: []float32{1, 0.5, 2}}
	for _, p := range []struct{ x, drift, diffusion float64 }{
		{-1, 2, 1}, {0, 3, 0.75}, {1, 4, 0.5}, {1.5, 2.75, 0.875}, {3, -1, 2}, {-50, 2, 1}, {1e300, -1, 2}, {math.Inf(-1), 2, 1},
	} {
		if b, s := c.DriftAt(p.x), c.DiffusionAt(p.x); b != p.drift || s != p.diffusion {
			t.Errorf("at %v: %v and %v, want %v and %v", p.x, b, s, p.drift, p.diffusion)
		}
	}
	if b := c.DriftAt(math.NaN()); !math.IsNaN(b) {
		t.Errorf("drift at NaN is %v", b)
	}
}

func TestValidate(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		drift, diffusion []float32
		finite           bool
		want             string
	}{
		{[]float32{1, 0, -1}, []float32{1, 1, 1}, true, ""},
		{[]float32{1, nan, -1}, []float32{1, 1, 1}, false, "drift NaN at x = 0.5"},
		{[]float32{1, 0, -1}, []float32{1, 1, inf}, false, "diffusion +Inf at x = 1"},
		{[]float32{1, 0, -1}, []float32{0, 1, 1}, true, "diffusion 0 at x = 0 is not positive"},
		{[]float32{1, 0, -1}, []float32{1, -1, 1}, true, "diffusion -1 at x = 0.5 is not positive"},
		{[]float32{1, 0}, []float32{1, 1, 1}, true, "drift has 2 and diffusion 3 values on a grid of 3 nodes"},
	} {
		err := Coefficients{Grid{0, 1, 3}, c.drift, c.diffusion}.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want %q", c, err, c.want)
		case errors.Is(err, ErrNotFinite) == c.finite:
			t.Errorf("%v: ErrNotFinite is %t", c, !c.finite)
		}
	}
}
