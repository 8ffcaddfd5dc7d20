package bootstrap

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// One seed, or equal values from every seed, has the plain interval. Seeds that differ
// by a constant have no narrower one, since every seed resamples the same functions.
func TestSeedsResampleTheSameFunctions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	one := make([]float64, 41)
	for i := range one {
		one[i] = rng.ExpFloat64()
	}
	up, down := make([]float64, len(one)), make([]float64, len(one))
	for i, v := range one {
		up[i], down[i] = v+1, v-1
	}
	for name, over := range map[string]struct {
		plain func([]float64, []int, uint64) (Interval, error)
		seeds func([][]float64, []int, uint64) (Interval, error)
	}{"mean": {Mean, MeanOverSeeds}, "median": {Median, MedianOverSeeds}} {
		want, err := over.plain(one, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range [][][]float64{{one}, {one, one, one}, {up, down}} {
			got, err := over.seeds(values, nil, 3)
			if err != nil {
				t.Fatal(err)
			}
			// The plain median resamples ranks, this one functions: other
			// resamples of the same law.
			near(t, name, got.Estimate, want.Estimate, 1e-12)
			near(t, name+", low", got.Low, want.Low, 0.05)
			near(t, name+", high", got.High, want.High, 0.05)
			near(t, name+", error", got.StdErr, want.StdErr, 0.01)
		}
	}
}

// Seeds with independent values narrow the interval.
func TestSeedsAverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	values := make([][]float64, 4)
	for k := range values {
		values[k] = make([]float64, 200)
		for i := range values[k] {
			values[k][i] = rng.NormFloat64()
		}
	}
	one, err := MedianOverSeeds(values[:1], nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	four, err := MedianOverSeeds(values, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ratio of the widths", (four.High-four.Low)/(one.High-one.Low), 0.5, 0.15)
}

func TestSeedsThatDoNotMatch(t *testing.T) {
	for _, over := range []func([][]float64, []int, uint64) (Interval, error){MeanOverSeeds, MedianOverSeeds} {
		if _, err := over([][]float64{{1, 2, 3}, {1, 2}}, nil, 1); err == nil {
			t.Error("seeds with different functions: no error")
		}
		for _, values := range [][][]float64{nil, {{}}, {{1}}} {
			if _, err := over(values, nil, 1); !errors.Is(err, ErrTooFew) {
				t.Errorf("%v: %v", values, err)
			}
		}
	}
}
