package metrics

import (
	"math"
	"testing"
)

// A translation moves the plan along: at the solution, S(α, α+s) = ½s² for any
// α and any ε, since the entropic terms cancel exactly.
func TestConvergedOfATranslation(t *testing.T) {
	for _, shift := range []float32{0, 0.25, -3, 1024} {
		x := goldenCloud{Kind: "modes", N: 1500, D: 1, Seed: 41, Parameters: []float64{0.3, -2, 2, 0.3}}.cloud(t)
		y := Line(append([]float32(nil), x.X...))
		for i := range x.X { // to a grid that the shift does not leave
			x.X[i] = float32(math.Round(float64(x.X[i])*1024)) / 1024
			y.X[i] = x.X[i] + shift
		}
		got, err := SinkhornConverged(x, y, ConvergedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := float64(shift) * float64(shift) / 2
		if !got.Converged || !(math.Abs(got.Value-want) <= 1e-7+1e-9*want) {
			t.Errorf("shift %v: %+v, want ½s² = %v", shift, got, want)
		}
	}
}

// Atoms of unequal masses far apart: the plan is triangular and everything is
// known. α = ½δ₋₂+½δ₂, β = ⅗δ₋₂+⅖δ₂, so π = (½, 0; ⅒, ⅖), the transport cost
// is ⅒·½·4² = 0.8, and S adds ε times the relative entropies.
func TestConvergedOfTwoAtoms(t *testing.T) {
	atoms := func(left, n int) Cloud {
		x := make([]float32, n)
		for i := range x {
			x[i] = 2
			if i < left {
				x[i] = -2
			}
		}
		return Line(x)
	}
	const blur = 0.05
	got, err := SinkhornConverged(atoms(50, 100), atoms(60, 100), ConvergedOptions{Blur: blur, Tolerance: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	cross := 0.5*math.Log(0.5/0.3) + 0.1*math.Log(0.1/0.3) + 0.4*math.Log(0.4/0.2)
	selfA := math.Log(2)
	selfB := -(0.6*math.Log(0.6) + 0.4*math.Log(0.4))
	want := 0.8 + blur*blur*(cross-0.5*selfA-0.5*selfB)
	if !got.Converged || !(math.Abs(got.Value-want) <= 1e-9) {
		t.Errorf("%+v, want %.9f", got, want)
	}
	annealed, err := Sinkhorn(atoms(50, 100), atoms(60, 100), Options{})
	if err != nil || !(annealed <= 0.5*want) {
		t.Errorf("the default schedule gives %v (%v): it is known to stop far below %v here", annealed, err, want)
	}
}

// On smooth laws the converged divergence is close to ½W2². That of the default
// schedule need not be.
func TestConvergedAgainstW2(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		if c.Scaling != 0.9 || c.X.D > 1 || c.X.N < 100 || c.Name == "1D closer than blur" {
			continue
		}
		x, y := c.X.cloud(t), c.Y.cloud(t)
		got, err := SinkhornConverged(x, y, ConvergedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := W2(x.X, y.X)
		if err != nil {
			t.Fatal(err)
		}
		if half := w * w / 2; !got.Converged || !(math.Abs(got.Value-half) <= 2e-5+2e-3*half) {
			t.Errorf("%s: %+v, ½W2² = %v", c.Name, got, half)
		}
	}
}

// In two dimensions potentials start from annealing. Compare with GeomLoss's schedule
// at a scaling so slow that it converges.
func TestConvergedInThePlane(t *testing.T) {
	x := goldenCloud{Kind: "normal", N: 150, D: 2, Seed: 51, Parameters: []float64{0, 1}}.cloud(t)
	y := goldenCloud{Kind: "normal", N: 120, D: 2, Seed: 52, Parameters: []float64{0.5, 0.7}}.cloud(t)
	got, err := SinkhornConverged(x, y, ConvergedOptions{Blur: 0.3, Tolerance: 1e-7})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := Sinkhorn(x, y, Options{Blur: 0.3, Scaling: 0.995})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Converged || !(math.Abs(got.Value-slow) <= 1e-4*slow) {
		t.Errorf("%+v, slow annealing %v", got, slow)
	}
}

// At MaxIterations the result is not Converged.
func TestConvergedReportsFailure(t *testing.T) {
	x := goldenCloud{Kind: "ratio", N: 300, D: 1, Seed: 61, Parameters: []float64{1}}.cloud(t)
	y := goldenCloud{Kind: "normal", N: 200, D: 1, Seed: 62, Parameters: []float64{0, 1}}.cloud(t)
	got, err := SinkhornConverged(x, y, ConvergedOptions{Tolerance: 1e-12, MaxIterations: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got.Converged || !(got.Residual > 1e-12) || got.Iterations != 3 {
		t.Errorf("%+v after three iterations", got)
	}
}

// The duals are feasible everywhere and their value is the optimum.
func TestMonotoneDuals(t *testing.T) {
	for _, sizes := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {40, 40}, {40, 30}, {30, 41}, {64, 16}} {
		a := newMeasure(goldenCloud{Kind: "modes", N: sizes[0], D: 1, Seed: 71, Parameters: []float64{0.3, -2, 2, 0.5}}.cloud(t))
		b := newMeasure(goldenCloud{Kind: "normal", N: sizes[1], D: 1, Seed: 72, Parameters: []float64{0, 1}}.cloud(t))
		f, g := monotoneDuals(a.Line(), b.Line())
		var value float64
		for i, v := range f {
			value += v / float64(len(f))
			for j, w := range g {
				d := a.Line()[i] - b.Line()[j]
				if !(v+w <= 0.5*d*d+1e-12) {
					t.Fatalf("sizes %v: f[%d]+g[%d] = %v exceeds the cost %v", sizes, i, j, v+w, 0.5*d*d)
				}
			}
		}
		for _, w := range g {
			value += w / float64(len(g))
		}
		if want := 0.5 * squaredW2(a.Line(), b.Line()); !(math.Abs(value-want) <= 1e-12*(1+want)) {
			t.Errorf("sizes %v: dual value %v, want %v", sizes, value, want)
		}
	}
}

// On a linear map in n dimensions, n+1 residuals determine the fixed point.
func TestAndersonSolvesLinearMaps(t *testing.T) {
	rates := []float64{0.99, -0.7, 0.5, 0.1}
	g := []float64{5, -3, 2, 9}
	accelerated := anderson{depth: 6}
	for range 7 {
		image := make([]float64, len(g))
		for i, r := range rates {
			image[i] = 1 + r*(g[i]-1)
		}
		accelerated.next(g, image)
	}
	for i, v := range g {
		if !(math.Abs(v-1) <= 1e-5) {
			t.Errorf("component %d is %v after 7 iterations, want 1", i, v)
		}
	}
}
