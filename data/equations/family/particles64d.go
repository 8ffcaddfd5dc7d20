package family

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// particles64d has 32 equal particles in the plane, in a harmonic trap, with a
// random pair potential U:
//
//	dX = −∇V dt + √(2/β) dW,  V = κ/2 Σ|xᵢ|² + Σ_{i<j} U(|xᵢ−xⱼ|),  β = 2, κ = ½
//
// with invariant density ∝ exp(−βV). U is of one of four kinds, with equal
// probabilities:
//
//	morse            depth U(½, 3), steepness U(2, 5), minimum at U(½, 1.5); capped
//	gaussian         height U(1, 10), width U(0.3, 1.5), or, as often, −U(0.05, ½), U(½, 1.5)
//	double_gaussian  repulsion U(3, 10), U(0.3, 0.6), attraction U(½, 2), U(0.8, 1.5)
//	wca              depth U(½, 2), width U(½, 1.5), softened; capped
//
// Capped kernels are min(U, 10), without a force where U would be larger. The paper gives
// the kinds, but not their ranges and frequencies.
type particles64d struct{}

const (
	particles64dCount = 32
	particles64dBeta  = 2
	particles64dTrap  = 0.5
	particles64dCap   = 10
)

func (particles64d) Name() string { return "particles64d" }

func (particles64d) Dim() int { return 2 * particles64dCount }

// Fields is empty: networks read a pair potential through probes.
func (particles64d) Fields() []Field { return nil }

func (particles64d) kernel(seed uint64, i int) kernel {
	rng := random.New(seed, "particles64d/coefficients", uint64(i))
	uniform := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	switch rng.IntN(4) {
	case 0:
		depth, steepness, at := uniform(0.5, 3), uniform(2, 5), uniform(0.5, 1.5)
		return morse(depth, steepness, at, particles64dCap)
	case 1:
		if rng.IntN(2) == 0 {
			height, width := uniform(1, 10), uniform(0.3, 1.5)
			return gaussian(height, width)
		}
		height, width := uniform(-0.5, -0.05), uniform(0.5, 1.5)
		return gaussian(height, width)
	case 2:
		height, near := uniform(3, 10), uniform(0.3, 0.6)
		depth, far := uniform(0.5, 2), uniform(0.8, 1.5)
		return doubleGaussian(height, near, depth, far)
	default:
		depth, width := uniform(0.5, 2), uniform(0.5, 1.5)
		return wca(depth, width, particles64dCap)
	}
}

func (p particles64d) Function(seed uint64, i int) (Function, error) {
	k := p.kernel(seed, i)
	system := sde.Particles{
		N: particles64dCount, Trap: particles64dTrap, Noise: math.Sqrt(2. / particles64dBeta), Force: k.force(),
	}
	if err := system.Validate(); err != nil {
		return Function{}, fmt.Errorf("particles64d function %d, %v: %w", i, k, err)
	}
	return Function{System: system}, nil
}

// Potential is V of function i. The simulated force is −∇V up to the error of its table:
// below 3e-4 of its maximum, beyond a hundredth of its range.
func (p particles64d) Potential(seed uint64, i int) (Potential, error) {
	k := p.kernel(seed, i)
	return Potential{Kernel: k.name, Trap: particles64dTrap, Pair: k.pair}, nil
}
