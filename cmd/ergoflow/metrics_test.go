package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// writeNormals writes n normal points, each moved by shift of their deviation, as float64.
func writeNormals(t *testing.T, n, d int, mean, deviation, shift float64) string {
	source := random.New(29, "metrics test", uint64(n), uint64(d))
	a := npy.Array[float64]{Shape: []int{n, d}, Data: make([]float64, n*d)}
	for i := range a.Data {
		a.Data[i] = mean + deviation*(source.NormFloat64()+shift)
	}
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := npy.Write(t.Context(), path, a); err != nil {
		t.Fatal(err)
	}
	return path
}

func measureFiles(t *testing.T, f metricsFlags, first, second string) distances {
	x, err := readCloud(first)
	if err != nil {
		t.Fatal(err)
	}
	y, err := readCloud(second)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.measure(t.Context(), x, y)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Samples in float64 that are 1e9 deviations from 0 have the distances of the same samples
// about 0: the shift of all points is W2, and a shift of 0.3 deviations is seen.
func TestMetricsOfFloat64FarFromZero(t *testing.T) {
	for _, d := range []int{1, 2} {
		at := func(mean, deviation float64) distances {
			f := metricsFlags{options: metrics.Options{Blur: 0.1 * deviation, Scaling: 0.5}, directions: 16, converged: true}
			return measureFiles(t, f, writeNormals(t, 400, d, mean, deviation, 0), writeNormals(t, 400, d, mean, deviation, 0.3))
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
func TestMetricsWarnsOfRounding(t *testing.T) {
	f := metricsFlags{options: metrics.Options{Blur: 0.1, Scaling: 0.5}, directions: 16}
	x := writeNormals(t, 200, 2, 0, 1, 0)
	d := measureFiles(t, f, x, writeNormals(t, 200, 2, 0, 1, 1e-8))
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "rounding to float32") {
		t.Errorf("warnings %q", d.Warnings)
	}
	if d := measureFiles(t, f, x, x); len(d.Warnings) > 0 || d.SlicedW2 != 0 {
		t.Errorf("of equal samples: %v, warnings %q", d.SlicedW2, d.Warnings)
	}
}
