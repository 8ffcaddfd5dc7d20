package metrics

import (
	"math"
	"slices"
	"testing"
)

func normal(t *testing.T, seed uint64, n, d int, mean float64) Cloud {
	return goldenCloud{Kind: "normal", N: n, D: d, Seed: seed, Parameters: []float64{mean, 1}}.cloud(t)
}

// On the line the distance is that of all pairs, also of samples of different sizes and with
// equal points.
func TestEnergyDistanceOnTheLine(t *testing.T) {
	for _, tt := range []struct{ x, y Cloud }{
		{normal(t, 1, 50, 1, 0), normal(t, 2, 31, 1, 0.3)},
		{Line([]float32{0, 0, 1}), Line([]float32{1, 1})},
		{Line([]float32{3, 1e6, 1e6}), Line([]float32{1e6, 1e6 + 1})},
	} {
		want := 2*pairs(tt.x, tt.y) - pairs(tt.x, tt.x) - pairs(tt.y, tt.y)
		got, err := EnergyDistance(tt.x, tt.y, 0, 0)
		if err != nil || !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
			t.Errorf("%v, %v: %v (%v), want %v", tt.x, tt.y, got, err, want)
		}
	}
}

// In more dimensions directions give that of all pairs, up to their number.
func TestEnergyDistanceInSpace(t *testing.T) {
	for _, d := range []int{2, 3, 10, 64} {
		x, y := normal(t, 1, 40, d, 0), normal(t, 2, 60, d, 0.5)
		want := 2*pairs(x, y) - pairs(x, x) - pairs(y, y)
		got, err := EnergyDistance(x, y, 1<<14, 0)
		if err != nil || !(math.Abs(got-want) <= 0.05*want) {
			t.Errorf("%d dimensions: %v (%v), want %v", d, got, err, want)
		}
	}
}

// pairs is the mean distance of points of x from those of y.
func pairs(x, y Cloud) float64 {
	var sum float64
	for i := range x.N {
		for j := range y.N {
			var square float64
			for k := range x.D {
				difference := float64(x.X[i*x.D+k]) - float64(y.X[j*y.D+k])
				square += difference * difference
			}
			sum += math.Sqrt(square)
		}
	}
	return sum / float64(x.N) / float64(y.N)
}

// Draws of the same law have the bias that the comment says: E|X−X′| = 4/√π for the standard
// normal law in three dimensions.
func TestEnergyDistanceOfTheSameLaw(t *testing.T) {
	const repeats, n = 400, 8
	var mean, square float64
	for seed := range uint64(repeats) {
		v, err := EnergyDistance(normal(t, 2*seed, n, 3, 0), normal(t, 2*seed+1, n, 3, 0), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		mean += v / repeats
		square += v * v / repeats
	}
	want := 4 / math.Sqrt(math.Pi) * 2 / n
	if standard := math.Sqrt((square - mean*mean) / repeats); !(math.Abs(mean-want) < 4*standard) {
		t.Errorf("mean %v ± %v, want %v", mean, standard, want)
	}
}

// Marginals differ by what moves them, each in its own unit.
func TestMarginalW2(t *testing.T) {
	x := normal(t, 1, 100, 3, 0)
	y := Cloud{x.N, x.D, slices.Clone(x.X)}
	for i := range y.N {
		y.X[i*3+1] += 2
	}
	got, err := MarginalW2(x, y)
	if err != nil || len(got) != 3 || got[0] != 0 || !(math.Abs(got[1]-2) < 1e-6) || got[2] != 0 {
		t.Errorf("%v (%v), want 0, 2, 0", got, err)
	}
}
