package metrics

import (
	"fmt"
	"math"
	"runtime"
	"testing"
)

// naive is the definition, with the maximum taken out.
func naive(t transform, eps float64) []float64 {
	dst := make([]float64, t.to.n)
	for i := range dst {
		largest := math.Inf(-1)
		exponents := make([]float64, t.from.n)
		for j := range exponents {
			var square float64
			for d := range t.to.d {
				z := t.to.x[d*t.to.n+i] - t.from.x[d*t.from.n+j]
				square += z * z
			}
			exponents[j] = (t.potential[j] - 0.5*square) / eps
			largest = max(largest, exponents[j])
		}
		var sum float64
		for _, e := range exponents {
			sum += math.Exp(e - largest)
		}
		dst[i] = -eps * (largest + math.Log(sum/float64(t.from.n)))
	}
	return dst
}

// Potentials of every kind: zero, smooth, of the size of a transport, and rough.
var testPotentials = map[string]func(x float64, j int) float64{
	"zero":      func(float64, int) float64 { return 0 },
	"transport": func(x float64, _ int) float64 { return 0.4*x*x + 1.5*x },
	"kink":      func(x float64, _ int) float64 { return 2 * math.Abs(x) },
	"rough":     func(x float64, j int) float64 { return math.Sin(float64(j) * 12.9898) },
}

func TestSoftminEqualsDefinition(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to, from goldenCloud
	}{
		{"line", goldenCloud{Kind: "normal", N: 600, D: 1, Seed: 1, Parameters: []float64{0, 1}}, goldenCloud{Kind: "normal", N: 500, D: 1, Seed: 2, Parameters: []float64{0.5, 1}}},
		{"far modes", goldenCloud{Kind: "modes", N: 700, D: 1, Seed: 3, Parameters: []float64{0.3, -6, 6, 0.2}}, goldenCloud{Kind: "modes", N: 400, D: 1, Seed: 4, Parameters: []float64{0.7, -6, 6, 0.2}}},
		{"gap filled", goldenCloud{Kind: "uniform", N: 900, D: 1, Seed: 5, Parameters: []float64{-7, 7}}, goldenCloud{Kind: "modes", N: 400, D: 1, Seed: 4, Parameters: []float64{0.5, -6, 6, 0.2}}},
		{"heavy tails", goldenCloud{Kind: "ratio", N: 500, D: 1, Seed: 7, Parameters: []float64{0.5}}, goldenCloud{Kind: "ratio", N: 500, D: 1, Seed: 8, Parameters: []float64{0.5}}},
		{"far away", goldenCloud{Kind: "normal", N: 200, D: 1, Seed: 9, Parameters: []float64{1000, 1}}, goldenCloud{Kind: "normal", N: 200, D: 1, Seed: 10, Parameters: []float64{0, 1}}},
		{"plane", goldenCloud{Kind: "normal", N: 300, D: 2, Seed: 11, Parameters: []float64{0, 1}}, goldenCloud{Kind: "modes", N: 350, D: 2, Seed: 12, Parameters: []float64{0.3, -2, 2, 0.4}}},
		{"plane, heavy tails", goldenCloud{Kind: "ratio", N: 300, D: 2, Seed: 13, Parameters: []float64{0.5}}, goldenCloud{Kind: "ratio", N: 200, D: 2, Seed: 14, Parameters: []float64{0.5}}},
		{"plane, gap filled", goldenCloud{Kind: "uniform", N: 900, D: 2, Seed: 17, Parameters: []float64{-4, 4}}, goldenCloud{Kind: "modes", N: 300, D: 2, Seed: 18, Parameters: []float64{0.5, -3, 3, 0.2}}},
		{"seven dimensions", goldenCloud{Kind: "normal", N: 150, D: 7, Seed: 15, Parameters: []float64{0, 1}}, goldenCloud{Kind: "normal", N: 130, D: 7, Seed: 16, Parameters: []float64{1, 2}}},
	} {
		to, from := newMeasure(tt.to.cloud(t)), newMeasure(tt.from.cloud(t))
		for name, potential := range testPotentials {
			for _, eps := range []float64{100, 1, 0.04, 0.0025, 1e-6} {
				job := transform{make([]float64, to.n), to, from, make([]float64, from.n)}
				for j := range job.potential {
					job.potential[j] = potential(from.x[j], j)
				}
				want := naive(job, eps)
				// A relative error of 2e-9 in a sum, in float32 of 1e-4, or rounding of the
				// largest terms.
				for single, part := range map[bool]float64{false: 2e-9, true: 1e-4} {
					s := softmin{single: single}
					s.run(eps, job)
					for i, w := range want {
						tolerance := part*eps + 1e-13*(math.Abs(w)+math.Abs(to.x[i])*20+sq(to.x[i]))
						if !(math.Abs(job.dst[i]-w) <= tolerance) {
							t.Errorf("%s, potential %s, ε=%g, in float32 %v: softmin[%d] = %.15g, want %.15g (x=%v)", tt.name, name, eps, single, i, job.dst[i], w, to.x[i])
							break
						}
					}
				}
			}
		}
	}
}

// A frame that float32 cannot hold is refused, not summed; the box is then
// halved until it can, or summed in float64, and the values are right.
func TestTilesFallBack(t *testing.T) {
	to := newMeasure(goldenCloud{Kind: "uniform", N: 64, D: 2, Seed: 97, Parameters: []float64{-1, 1}}.cloud(t))
	from := newMeasure(goldenCloud{Kind: "normal", N: 300, D: 2, Seed: 98, Parameters: []float64{0, 1}}.cloud(t))
	job := transform{make([]float64, to.n), to, from, make([]float64, from.n)}
	for j := range job.potential {
		job.potential[j] = 3 * from.x[j]
	}
	for eps, fits := range map[float64]bool{1: true, 0.1: true, 0.004: false, 1e-4: false} {
		var e exponents
		e.set(job.potential, math.Log2E/eps, from.groups)
		whole := task{transform: job, exponents: e, eps: eps, single: true}
		got := scratch{levels: make([]sources, 1)}
		var star [2]float64
		top := whole.narrow(&got, 0, &to.tree[0], star[:])
		if got := whole.sumTiles(&got, &got.levels[0], &to.tree[0], top, star[:]); got != fits {
			t.Errorf("ε=%g: a box of two by two fits into one frame: %v", eps, got)
		}
		whole.runDirect(&scratch{}, &to.tree[0])
		for i, w := range naive(job, eps) {
			if !(math.Abs(job.dst[i]-w) <= 2e-5*eps+1e-13) {
				t.Errorf("ε=%g: softmin[%d] = %v, want %v", eps, i, job.dst[i], w)
			}
		}
	}
	// Coordinates in units of σ that float32 does not hold at all.
	x := Cloud{N: 4, D: 2, X: []float32{-3e38, 0, 3e38, 0, 0, 1, 0, -1}}
	y := Cloud{N: 3, D: 2, X: []float32{3e38, 1, -3e38, 1, 0, 0}}
	got, err := Sinkhorn(x, y, Options{Blur: 1e-12})
	if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("%v (%v)", got, err)
	}
}

// From where on sums are flat makes no difference, on either side.
func TestFlatEqualsDefinition(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		a := newMeasure(goldenCloud{Kind: "normal", N: 150, D: d, Seed: 99, Parameters: []float64{0, 0.1}}.cloud(t))
		b := newMeasure(goldenCloud{Kind: "modes", N: 100, D: d, Seed: 100, Parameters: []float64{0.3, -0.2, 0.2, 0.1}}.cloud(t))
		job := transform{make([]float64, a.n), a, b, make([]float64, b.n)}
		for j := range job.potential {
			job.potential[j] = 0.1 * b.x[j]
		}
		for _, eps := range []float64{0.03, 1, 4, 10} { // beyond the reach of the polynomial and within it
			s := softmin{large: 1e-3}
			s.run(eps, job)
			for i, w := range naive(job, eps) {
				if !(math.Abs(job.dst[i]-w) <= 1e-12+1e-15*eps) {
					t.Errorf("%dD, ε=%g: softmin[%d] = %v, want %v", d, eps, i, job.dst[i], w)
				}
			}
		}
		// The value does not jump where the sums change.
		x, y := goldenCloud{Kind: "normal", N: 60, D: d, Seed: 101, Parameters: []float64{0, 1}}.cloud(t), goldenCloud{Kind: "normal", N: 50, D: d, Seed: 102, Parameters: []float64{1, 1}}.cloud(t)
		edge := math.Sqrt(flatRatio) * diameter(x, y)
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

// Not one bit may depend on the number of processors.
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

func TestExp2(t *testing.T) {
	for x := -999.9; x < 999.9; x += 0.01237 {
		want := math.Exp2(x)
		if got := exp2(x); !(math.Abs(got-want) <= 5e-11*want) {
			t.Fatalf("exp2(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 0.5, -0.5, 1, -1, math.Nextafter(0.5, 1), exponentRange, -exponentRange} {
		if got, want := exp2(x), math.Exp2(x); !(math.Abs(got-want) <= 5e-11*want) {
			t.Errorf("exp2(%v) = %v, want %v", x, got, want)
		}
	}
}
