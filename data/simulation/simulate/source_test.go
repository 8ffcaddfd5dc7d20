package simulate

import (
	"math"
	"slices"
	"testing"
)

// A Noise gives every source's own numbers, whatever the others and whatever it
// was used for before; a source may have given some already.
func TestNoiseIsItsSources(t *testing.T) {
	for _, lanes := range []int{64, 1, 15, 16, 17, 63, 2} {
		n := BorrowNoise()
		sources := make([]Source, lanes)
		for l := range sources {
			sources[l] = NewSource(3, "test", uint64(l))
			for range l % 3 {
				sources[l].Uint32()
			}
			n.Add(sources[l])
		}
		for window := range 40 {
			values := n.Next()
			for k := range Window {
				for l := range sources {
					if got, want := values[k*Lanes+l], Normal(sources[l].Uint32()); got != want {
						t.Fatalf("%d lanes, window %d: number %d of lane %d is %v, want %v", lanes, window, k, l, got, want)
					}
				}
			}
		}
		n.Return()
	}
}

// Numbers of a source are those of the chain with the same stream, and uniform
// ones are.
func TestSource(t *testing.T) {
	var n normals
	n.seed(0, 7, "test", 5, 9)
	n.fill(1)
	s := NewSource(7, "test", 5, 9)
	for k := range window {
		if got := Normal(s.Uint32()); got != n.values[k*lanes] {
			t.Fatalf("number %d is %v, that of the chain %v", k, got, n.values[k*lanes])
		}
	}
	const draws = 100_000
	values := make([]float64, draws)
	for i := range values {
		values[i] = float64(s.Uniform())
	}
	slices.Sort(values)
	var d float64
	for i, u := range values {
		d = max(d, u-float64(i)/draws, float64(i+1)/draws-u)
	}
	if !(d*math.Sqrt(draws) <= 1.95 && values[0] >= 0 && values[draws-1] < 1) {
		t.Errorf("uniform numbers from %v to %v, √n·KS is %.2f", values[0], values[draws-1], d*math.Sqrt(draws))
	}
}
