package bootstrap

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The p-value over all subsets is that of the sign-flip test: the part of the 2^m assignments of
// signs for which the sum is at least the observed one.
func TestSubsetsAreSignFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for m := 1; m <= 10; m++ {
		values := make([]float64, m)
		for i := range values {
			values[i] = 0.4 + rng.NormFloat64()
		}
		s := NewSubsets(m, 9999, 1)
		if s.count != 1<<m-1 {
			t.Fatalf("%d units have %d subsets", m, s.count)
		}
		contradict := 1
		for _, sum := range s.Sums(values) {
			if sum <= 0 {
				contradict++
			}
		}
		observed, atLeast := 0.0, 0
		for _, v := range values {
			observed += v
		}
		for signs := range 1 << m {
			flipped := 0.0
			for i, v := range values {
				if signs>>i&1 == 1 {
					v = -v
				}
				flipped += v
			}
			if flipped >= observed-1e-12 {
				atLeast++
			}
		}
		if contradict != atLeast {
			t.Errorf("%d values: %d subsets with the empty one, %d signs", m, contradict, atLeast)
		}
	}
}

// The sums of random subsets of ones are binomial, and half-sums of normals have the variance
// of bootstrap sums: Σ_S v − ½Σv = ½Σ±v.
func TestRandomSubsets(t *testing.T) {
	const m, count = 130, 40_000 // two words and two bits
	ones := make([]float64, m)
	for i := range ones {
		ones[i] = 1
	}
	var first, second float64
	for _, size := range NewSubsets(m, count, 3).Sums(ones) {
		first += size / count
		second += (size - m/2) * (size - m/2) / count
	}
	near(t, "mean size", first, m/2, 4*math.Sqrt(m/4./count))
	near(t, "variance of the size", second, m/4., 4*m/4.*math.Sqrt(2./count))
	member := make([]float64, m)
	for i := range member { // each unit is in half of the subsets
		clear(ones)
		ones[i] = 1
		for _, in := range NewSubsets(m, 1000, 3).Sums(ones) {
			member[i] += in / 1000
		}
		near(t, "part of the subsets with a unit", member[i], 0.5, 0.08)
	}
	if NewSubsets(m, 5, 3).members[0] == NewSubsets(m, 5, 4).members[0] {
		t.Error("subsets do not depend on the seed")
	}
}

func BenchmarkSubsetSums(b *testing.B) {
	values := normals(1024)
	s := NewSubsets(1024, resamples, 1)
	for b.Loop() {
		s.Sums(values)
	}
}
