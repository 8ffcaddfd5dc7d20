// Package conditioning makes the rows of a table that say whether a sampler
// listens to what it is told of a function: it must be better with the right
// observations than with those of another function, and better than a law with
// the right moments and no structure; and it cannot be better than two halves of
// the target are alike.
package controls

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/random"
)

// Derangement is a permutation of n functions without fixed points, uniform
// among all of them: function i is told of function Derangement[i]. It is a
// function of (seed, n). It fails for n < 2, where there is none.
func Derangement(n int, seed uint64) ([]int, error) {
	if n < 2 {
		return nil, fmt.Errorf("derangement of %d functions: want at least 2", n)
	}
	rng := random.New(seed, "conditioning/derangement")
	for { // one permutation in e has no fixed point
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

// PooledGaussian fills dst with independent normals that have mean and variance
// of the target's coordinates, each coordinate of [N, dim] by itself. All
// samples of one function are pooled; what ties coordinates together is lost.
// The draws depend on (seed, function) and the moments alone.
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

// SplitChains cuts samples [chains, N/chains, dim], which lie chain after chain
// as simulate stores them, into those of the first and of the second half of the
// chains. Halves of every chain would share what the chain remembers and look
// more alike than two independent references do. Both are parts of samples.
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

// Wins counts the functions where the right conditioning has the strictly
// smaller distance. Both slices are of the same functions in the same order.
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
