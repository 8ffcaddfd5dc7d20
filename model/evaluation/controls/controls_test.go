package controls

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.9g, want %.9g ± %.2g", what, got, want, tolerance)
	}
}

func TestDerangementsMoveEverything(t *testing.T) {
	for n := 2; n < 130; n++ {
		p, err := Derangement(n, uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, n)
		for i, j := range p {
			if i == j || seen[j] {
				t.Fatalf("%v is no derangement", p)
			}
			seen[j] = true
		}
		again, _ := Derangement(n, uint64(n))
		if !slices.Equal(p, again) {
			t.Errorf("%d functions: another derangement from the same seed", n)
		}
	}
	for _, n := range []int{-1, 0, 1} {
		if _, err := Derangement(n, 1); err == nil {
			t.Errorf("%d functions were deranged", n)
		}
	}
}

// The nine derangements of four functions are equally likely.
func TestDerangementsAreUniform(t *testing.T) {
	const draws = 9000
	counts := map[string]int{}
	for seed := range uint64(draws) {
		p, err := Derangement(4, seed)
		if err != nil {
			t.Fatal(err)
		}
		counts[fmt.Sprint(p)]++
	}
	if len(counts) != 9 {
		t.Fatalf("%d derangements of four, want 9", len(counts))
	}
	for p, n := range counts {
		near(t, p, float64(n), draws/9, 5*math.Sqrt(draws/9))
	}
}

func TestPooledGaussianHasTheMoments(t *testing.T) {
	const dim, n = 3, 50000
	rng := rand.New(rand.NewPCG(1, 1))
	target := make([]float32, dim*1000)
	for i := 0; i < len(target); i += dim {
		sign := float32(1 - 2*rng.IntN(2)) // two modes; the first two coordinates equal
		target[i], target[i+1], target[i+2] = 2+3*sign, 2+3*sign, 7
	}
	var mean, variance [dim]float64
	for i, v := range target {
		mean[i%dim] += float64(v) / 1000
	}
	for i, v := range target {
		variance[i%dim] += math.Pow(float64(v)-mean[i%dim], 2) / 1000
	}
	dst := make([]float32, dim*n)
	if err := PooledGaussian(dst, target, dim, 4, 17); err != nil {
		t.Fatal(err)
	}
	var m, s [dim]float64
	var product float64
	for i, v := range dst {
		m[i%dim] += float64(v) / n
		s[i%dim] += math.Pow(float64(v)-mean[i%dim], 2) / n
		if i%dim == 1 {
			product += (float64(dst[i-1]) - mean[0]) * (float64(v) - mean[1]) / n
		}
	}
	for k := range dim {
		near(t, "mean", m[k], mean[k], 5*math.Sqrt(variance[k]/n)+1e-9)
		near(t, "variance", s[k], variance[k], 5*variance[k]*math.Sqrt(2./n)+1e-9)
	}
	near(t, "covariance, which is dropped", product, 0, 5*9/math.Sqrt(n))

	other, again := make([]float32, len(dst)), make([]float32, len(dst))
	if err := PooledGaussian(other, target, dim, 4, 18); err != nil || slices.Equal(dst, other) {
		t.Errorf("two functions have the same draws, %v", err)
	}
	if err := PooledGaussian(again, target, dim, 4, 17); err != nil || !slices.Equal(dst, again) {
		t.Errorf("the same function has other draws, %v", err)
	}
	nan := slices.Clone(target)
	nan[4] = float32(math.NaN())
	for name, err := range map[string]error{
		"NaN": PooledGaussian(dst, nan, dim, 1, 1), "no target": PooledGaussian(dst, nil, dim, 1, 1),
		"no dimension": PooledGaussian(dst, target, 0, 1, 1), "half a state": PooledGaussian(dst[:4], target, dim, 1, 1),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSplitsByChain(t *testing.T) {
	const chains, perChain, dim = 4, 3, 2
	samples := make([]float32, chains*perChain*dim)
	for i := range samples {
		samples[i] = float32(i / (perChain * dim)) // its chain
	}
	first, second, err := SplitChains(samples, chains, dim)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 12 || slices.Max(first) != 1 || len(second) != 12 || slices.Min(second) != 2 {
		t.Errorf("halves %v and %v", first, second)
	}
	for name, split := range map[string]func() ([]float32, []float32, error){
		"odd":    func() ([]float32, []float32, error) { return SplitChains(samples, 3, dim) },
		"none":   func() ([]float32, []float32, error) { return SplitChains(samples, 0, dim) },
		"uneven": func() ([]float32, []float32, error) { return SplitChains(samples, 8, dim) },
		"empty":  func() ([]float32, []float32, error) { return SplitChains(nil, 2, dim) },
	} {
		if _, _, err := split(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWinsAreStrict(t *testing.T) {
	if got := Wins([]float64{1, 2, 3, 4}, []float64{2, 2, 1, 5}); got != 2 {
		t.Errorf("%d wins, want 2", got)
	}
}
