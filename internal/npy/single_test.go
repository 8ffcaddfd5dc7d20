package npy

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		mean, deviation float64
		want            bool
	}{
		{0, 1, true}, {0, 1e-30, true}, {1000, 1, true}, {1e6, 1000, true}, {-3, 0.01, true},
		{1e5, 1, false}, {1e5, 1e-3, false}, {9e5, 1e-2, false}, {-1, 1e-5, false}, {0, 1e-44, false}, {0.1, 0, false},
		{0, 1e-200, false}, {0, 1e300, false}, // beyond float32, and their squares beyond float64
		{0.5, 0, true}, {0, 0, true}, // exact
	} {
		a := Array[float64]{[]int{1000}, make([]float64, 1000)}
		for i := range a.Data {
			a.Data[i] = c.mean + c.deviation*rng.NormFloat64()
		}
		rounded, small := Single(a)
		if small != c.want {
			t.Errorf("%g ± %g: rounding is small: %v", c.mean, c.deviation, small)
		}
		for i, v := range rounded.Data {
			if math.Abs(float64(v)-a.Data[i]) > 1e-7*math.Abs(a.Data[i]) && small {
				t.Fatalf("%g was rounded to %g", a.Data[i], v)
			}
		}
	}
	if rounded, small := Single(Array[float64]{[]int{0}, nil}); !small || len(rounded.Data) != 0 {
		t.Errorf("an empty array: %v, %v", rounded, small)
	}
}
