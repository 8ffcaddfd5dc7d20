// Package controls makes the control rows of a table. They show whether a sampler
// uses its conditioning, the observations of a function: it has to be better with
// those than with the observations of another function (Derangement), and better
// than a law that has the right moments and no structure (PooledGaussian). It cannot
// be better than the distance between two halves of the target (SplitChains).
package controls

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/random"
)

// Derangement is a permutation of n functions without fixed points, uniform among
// all of these: function i gets the observations of function Derangement[i]. It is a
// function of (seed, n). For n < 2 there is none, and it fails.
func Derangement(n int, seed uint64) ([]int, error) {
	if n < 2 {
		return nil, fmt.Errorf("derangement of %d functions: want at least 2", n)
	}
	rng := random.New(seed, "conditioning/derangement")
	for { // one permutation in e ≈ 2.7 has no fixed point
		p := rng.Perm(n)
		moved := true
		for i, j := range p {
			moved = moved && i != j
		}
		if moved {
			return p, nil
		}
	}
}

// PooledGaussian fills dst [M, dim] with independent normals: coordinate k has the
// mean and the variance that coordinate k of the target [N, dim] has over all samples
// of the function. What correlates coordinates is lost. The draws depend only on
// (seed, function) and the moments.
func PooledGaussian(dst, target []float32, dim int, seed uint64, function int) error {
	if dim < 1 || len(target) == 0 || len(target)%dim != 0 || len(dst)%dim != 0 {
		return fmt.Errorf("pooled gaussian: %d and %d coordinates are not states in %d dimensions", len(target), len(dst), dim)
	}
	n := float64(len(target) / dim)
	mean, std := make([]float64, dim), make([]float64, dim)
	for i, v := range target {
		mean[i%dim] += float64(v) / n
	}
	for i, v := range target {
		d := float64(v) - mean[i%dim]
		std[i%dim] += d * d / n
	}
	for k, variance := range std {
		if variance-variance != 0 {
			return fmt.Errorf("pooled gaussian: coordinate %d of the target is not finite", k)
		}
		std[k] = math.Sqrt(variance)
	}
	rng := random.New(seed, "conditioning/gaussian", uint64(function))
	for i := range dst {
		dst[i] = float32(mean[i%dim] + std[i%dim]*rng.NormFloat64())
	}
	return nil
}

// SplitChains cuts samples [chains, N/chains, dim], in the order of package simulate,
// into those of the first half of the chains and those of the second. Halves of every
// chain would be correlated, and so closer than two independent references. Both
// results share the memory of samples.
func SplitChains(samples []float32, chains, dim int) (first, second []float32, err error) {
	switch {
	case chains < 2 || chains%2 != 0:
		return nil, nil, fmt.Errorf("split of %d chains: want an even number", chains)
	case dim < 1 || len(samples) == 0 || len(samples)%dim != 0 || len(samples)/dim%chains != 0:
		return nil, nil, fmt.Errorf("split of %d chains: %d coordinates are not as many states of each in %d dimensions", chains, len(samples), dim)
	}
	half := len(samples) / 2
	return samples[:half:half], samples[half:], nil
}

// Wins counts the functions for which the correct conditioning has the strictly
// smaller distance. Both slices are of the same functions in the same order; it
// panics if their lengths differ.
func Wins(correct, other []float64) int {
	if len(correct) != len(other) {
		panic("controls: distances are not paired")
	}
	wins := 0
	for i, d := range correct {
		if d < other[i] {
			wins++
		}
	}
	return wins
}
