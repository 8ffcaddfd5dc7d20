package metrics

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// Values are bitwise equal for any number of processors.
func TestSinkhornIgnoresProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, d := range []int{1, 2, 3} {
		x := goldenCloud{Kind: "modes", N: 300, D: d, Seed: 1, Parameters: []float64{0.4, -1, 1, 0.5}}.cloud(t)
		y := goldenCloud{Kind: "normal", N: 250, D: d, Seed: 2, Parameters: []float64{0, 1}}.cloud(t)
		var results []string
		for _, processors := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(processors)
			s, err := Sinkhorn(x, y, Options{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := SinkhornConverged(x, y, ConvergedOptions{MaxIterations: 5})
			if err != nil {
				t.Fatal(err)
			}
			w, err := SlicedW2(x, y, 50, 3)
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, fmt.Sprintf("%b %b %b", s, c.Value, w))
		}
		for _, r := range results {
			if r != results[0] {
				t.Errorf("%d dimensions: %v", d, results)
			}
		}
	}
}

// Clouds so large that float64 rounds exponents to multiples of thousands still have a
// divergence: about that of transport at ε = 0.
func TestSinkhornOfHugeClouds(t *testing.T) {
	for _, d := range []int{2, 3} {
		x := goldenCloud{Kind: "normal", N: 60, D: d, Seed: 44, Parameters: []float64{0, 1}}.cloud(t)
		y := goldenCloud{Kind: "modes", N: 50, D: d, Seed: 45, Parameters: []float64{0.3, -2, 2, 0.4}}.cloud(t)
		want, err := Sinkhorn(x, y, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range x.X {
			x.X[k] *= 1e30
		}
		for k := range y.X {
			y.X[k] *= 1e30
		}
		got, err := Sinkhorn(x, y, Options{})
		if err != nil || !(math.Abs(got/1e60-want) <= 0.1*want) {
			t.Errorf("%dD: %v (%v), want about %v", d, got, err, want*1e60)
		}
		converged, err := SinkhornConverged(x, y, ConvergedOptions{MaxIterations: 5})
		if err != nil || !(math.Abs(converged.Value/1e60-want) <= 0.25*want) {
			t.Errorf("%dD: converged %v (%v), want about %v", d, converged.Value, err, want*1e60)
		}
	}
}

// Coordinates in units of √ε that float32 does not hold at all.
func TestSinkhornBeyondFloat32(t *testing.T) {
	x := Cloud{N: 4, D: 2, X: []float32{-3e38, 0, 3e38, 0, 0, 1, 0, -1}}
	y := Cloud{N: 3, D: 2, X: []float32{3e38, 1, -3e38, 1, 0, 0}}
	got, err := Sinkhorn(x, y, Options{Blur: 1e-12})
	if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("%v (%v)", got, err)
	}
}

// The value does not jump where the sums become flat.
func TestSinkhornIsContinuousWhereSumsBecomeFlat(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		x, y := goldenCloud{Kind: "normal", N: 60, D: d, Seed: 101, Parameters: []float64{0, 1}}.cloud(t), goldenCloud{Kind: "normal", N: 50, D: d, Seed: 102, Parameters: []float64{1, 1}}.cloud(t)
		edge := 2 * diameter(x, y)
		sums := softmin.Evaluator{Diameter: diameter(x, y)}
		if sums.Flat(sq(edge*(1-1e-9))) || !sums.Flat(sq(edge*(1+1e-9))) {
			t.Fatalf("%dD: sums do not become flat at a blur of two diameters", d)
		}
		before, err := Sinkhorn(x, y, Options{Blur: edge * (1 - 1e-9)})
		if err != nil {
			t.Fatal(err)
		}
		after, err := Sinkhorn(x, y, Options{Blur: edge * (1 + 1e-9)})
		if err != nil || !(math.Abs(after-before) <= 1e-5*before) {
			t.Errorf("%dD: %v below and %v above the blur where sums change (%v)", d, before, after, err)
		}
	}
}

func sq(v float64) float64 { return v * v }
