package metrics

import (
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// normals are n normal points, each moved by shift of their deviation.
func normals(n, d int, mean, deviation, shift float64) CloudOf[float64] {
	source := random.New(29, "metrics test", uint64(n), uint64(d))
	c := CloudOf[float64]{N: n, D: d, X: make([]float64, n*d)}
	for i := range c.X {
		c.X[i] = mean + deviation*(source.NormFloat64()+shift)
	}
	return c
}

// Samples in float64 that are 1e9 deviations from 0 have the distances of the same samples
// about 0: the shift of all points is W2, and a shift of 0.3 deviations is seen.
func TestDistancesFarFromZero(t *testing.T) {
	for _, d := range []int{1, 2} {
		at := func(mean, deviation float64) Distances {
			o := DistancesOptions{Sinkhorn: Options{Blur: 0.1 * deviation, Scaling: 0.5}, Directions: 16, Converged: true}
			got, err := NewDistances(normals(400, d, mean, deviation, 0), normals(400, d, mean, deviation, 0.3), o)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		near, far := at(0, 1), at(1e6, 1e-3)
		compare := func(name string, got, want, tolerance float64) {
			if !(math.Abs(got-want) <= tolerance*want) {
				t.Errorf("%d dimensions: %s is %v, want %v", d, name, got, want)
			}
		}
		compare("W2", *far.W2, 0.3e-3*math.Sqrt(float64(d)), 1e-6) // float64 itself rounds the samples to 1e-10
		compare("W2 near 0", *near.W2, 0.3*math.Sqrt(float64(d)), 1e-6)
		compare("sliced W2", far.SlicedW2, 1e-3*near.SlicedW2, 1e-6)
		compare("sinkhorn", far.Sinkhorn, 1e-6*near.Sinkhorn, 1e-4)
		compare("converged sinkhorn", *far.SinkhornConverged, 1e-6**near.SinkhornConverged, 1e-4)
		if d == 1 {
			compare("KS", *far.KS, *near.KS, 0)
			compare("KS p", *far.KSP, *near.KSP, 0)
		}
		if len(far.Warnings) > 0 {
			t.Errorf("%d dimensions: warnings %q", d, far.Warnings)
		}
	}
}

// Samples whose distance is less than float32 resolves at their spread are named.
func TestDistancesWarnOfRounding(t *testing.T) {
	warnings := func(x, y CloudOf[float64]) []string {
		d, err := NewDistances(x, y, DistancesOptions{Sinkhorn: Options{Blur: 0.1, Scaling: 0.5}, Directions: 16})
		if err != nil {
			t.Fatal(err)
		}
		return d.Warnings
	}
	x := normals(200, 2, 0, 1, 0)
	if said := warnings(x, normals(200, 2, 0, 1, 1e-8)); len(said) != 1 || !strings.Contains(said[0], "rounding to float32") {
		t.Errorf("warnings %q", said)
	}
	if said := warnings(x, x); len(said) > 0 {
		t.Errorf("of equal samples: warnings %q", said)
	}
}
