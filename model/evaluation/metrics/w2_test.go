package metrics

import (
	"math"
	"slices"
	"testing"
)

func TestW2(t *testing.T) {
	for _, tt := range []struct {
		x, y []float32
		want float64
	}{
		{[]float32{1}, []float32{4}, 3},
		{[]float32{3, 1, 2}, []float32{2, 3, 1}, 0},
		{[]float32{0, 0}, []float32{1, -1}, 1},
		{[]float32{0, 1}, []float32{0, 0, 1, 1}, 0},
		{[]float32{0, 1}, []float32{0, 0.5, 1}, math.Sqrt(1. / 12)}, // ±½ over [⅓, ⅔]
		{[]float32{1e6, 1e6 + 1}, []float32{-1e6, -1e6 + 1}, 2e6},
	} {
		for range 2 {
			got, err := W2(tt.x, tt.y)
			if err != nil || !(math.Abs(got-tt.want) <= 1e-9*(1+tt.want)) {
				t.Errorf("W2(%v, %v) = %v (%v), want %v", tt.x, tt.y, got, err, tt.want)
			}
			tt.x, tt.y = tt.y, tt.x
		}
	}
	// Unequal sizes against copies up to the common multiple.
	x := goldenCloud{Kind: "normal", N: 30, D: 1, Seed: 1, Parameters: []float64{0, 1}}.cloud(t).X
	y := goldenCloud{Kind: "normal", N: 42, D: 1, Seed: 2, Parameters: []float64{1, 2}}.cloud(t).X
	got, _ := W2(x, y)
	want, _ := W2(slices.Repeat(x, 7), slices.Repeat(y, 5))
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("W2 = %v, of repeated samples %v", got, want)
	}
}

// W2 has the unit of the samples, over the whole range of float64.
func TestW2Scales(t *testing.T) {
	for _, unit := range []float64{1, 1e-8, 1e8, 1e-200, 1e200, 1e-300, 1e307} {
		got, err := W2([]float64{1 * unit, 3 * unit, -2 * unit}, []float64{2 * unit, 3 * unit, 3 * unit, -2 * unit, 1 * unit, -2 * unit})
		if want := math.Sqrt(1./6) * unit; err != nil || !(math.Abs(got-want) <= 1e-15*want) {
			t.Errorf("unit %g: W2 %v (%v), want %v", unit, got, err, want)
		}
	}
}

// W2 of normal laws is ((m₁−m₂)² + (s₁−s₂)²)^½; samples are quantiles.
func TestW2OfNormals(t *testing.T) {
	normal := func(n int, mean, sd float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + sd*math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/float64(n)-1))
		}
		return x
	}
	got, err := W2(normal(20000, 0, 1), normal(15000, 2, 3))
	if want := math.Sqrt(4 + 4); err != nil || !(math.Abs(got-want) <= 2e-3) {
		t.Errorf("W2 = %v (%v), want %v", got, err, want)
	}
}
