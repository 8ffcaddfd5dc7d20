package metrics

import (
	"math"
	"testing"
)

// Every number has the unit of the samples: powers of two change no digit, other
// units those that float32 and the tolerance of the iteration round.
func TestMetricsScale(t *testing.T) {
	for _, dim := range []int{1, 2} {
		want := measureScaled(t, dim, 1)
		for unit, tolerance := range map[float64]float64{0x1p-27: 1e-12, 0x1p27: 1e-12, 1e-8: 1e-6, 1e8: 1e-6} {
			for name, got := range measureScaled(t, dim, unit) {
				if !(math.Abs(got-want[name]) <= tolerance*want[name]) {
					t.Errorf("%d dimensions, unit %g: %s is %v, want %v", dim, unit, name, got, want[name])
				}
			}
		}
	}
}

// measureScaled is each metric of two clouds in that unit, with the unit taken out.
func measureScaled(t *testing.T, dim int, unit float64) map[string]float64 {
	x, y := scaledCloud(dim, 0, unit), scaledCloud(dim, 1, unit)
	a, b, _, err := Centre(x, y)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]float64{}
	put := func(name string, power int, value float64, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		numbers[name] = value / math.Pow(unit, float64(power))
	}
	blur := 0.05 * unit
	sinkhorn, err := Sinkhorn(a, b, Options{Blur: blur})
	put("sinkhorn", 2, sinkhorn, err)
	converged, err := SinkhornConverged(a, b, ConvergedOptions{Blur: blur})
	put("converged sinkhorn", 2, converged.Value, err)
	put("finest blur", 1, converged.FinestBlur, nil)
	if !converged.Converged {
		t.Errorf("%d dimensions, unit %g: residual %v", dim, unit, converged.Residual)
	}
	sliced, err := SlicedW2(a, b, 32, 0)
	put("sliced W2", 1, sliced, err)
	assigned, err := W2Assignment(a, b)
	put("W2 by assignment", 1, assigned, err)
	if dim == 1 {
		w2, err := W2(x.X, y.X)
		put("W2", 1, w2, err)
		ks, p, err := KS(x.X, y.X)
		put("KS", 0, ks, err)
		put("KS p", 0, p, err)
	}
	return numbers
}

func scaledCloud(dim int, seed uint64, unit float64) CloudOf[float64] {
	c := goldenCloud{Kind: "normal", N: 250, D: dim, Seed: seed, Parameters: []float64{0.3 * float64(seed), 1}}.cloud(nil)
	scaled := CloudOf[float64]{N: c.N, D: c.D, X: make([]float64, len(c.X))}
	for i, v := range c.X {
		scaled.X[i] = float64(v) * unit
	}
	return scaled
}

// At a blur that float64 does not resolve beside the diameter, the divergence is that
// of optimal transport, ½ W2², and it is not called converged: in five dimensions the
// rounded potentials come to rest.
func TestConvergedSinkhornBelowItsFinestBlur(t *testing.T) {
	for dim, tolerance := range map[int]float64{1: 1e-6, 2: 0.02, 5: 0.02} {
		x, y, _, err := Centre(scaledCloud(dim, 0, 1e8), scaledCloud(dim, 1, 1e8))
		if err != nil {
			t.Fatal(err)
		}
		w2, err := W2Assignment(x, y)
		if err != nil {
			t.Fatal(err)
		}
		c, err := SinkhornConverged(x, y, ConvergedOptions{Blur: 0.05, MaxIterations: 40})
		if want := w2 * w2 / 2; err != nil || !(math.Abs(c.Value-want) <= tolerance*want) {
			t.Errorf("%d dimensions: %v (%v), want %v", dim, c.Value, err, want)
		}
		if c.Residual != 2 || c.Converged || !(c.FinestBlur > 100 && c.FinestBlur < 10_000) {
			t.Errorf("%d dimensions: residual %v, converged: %v, finest blur %v", dim, c.Residual, c.Converged, c.FinestBlur)
		}
		c, err = SinkhornConverged(x, y, ConvergedOptions{Blur: 1e-9, MaxIterations: 5})
		if err != nil || math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || c.Residual != 2 || c.Converged {
			t.Errorf("%d dimensions, finer: %+v (%v)", dim, c, err)
		}
	}
}
