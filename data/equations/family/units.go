//go:build units

package family

import "github.com/ergoflow/ergoflow/data/equations/sde"

// particlesInUnits is particles64d in other units, for docs/benchmarks/units.py: function i
// is that of particles64d with positions multiplied by length, and runs rate times as fast.
type particlesInUnits struct {
	particles64d
	name         string
	length, rate float64
}

func init() {
	families = append(families,
		particlesInUnits{name: "particles64d_large", length: 1e4, rate: 1},
		particlesInUnits{name: "particles64d_small", length: 2e-4, rate: 1},
		particlesInUnits{name: "particles64d_fast", length: 1, rate: 100},
		particlesInUnits{name: "particles64d_slow", length: 1, rate: 0.01},
	)
}

func (p particlesInUnits) Name() string { return p.name }

func (p particlesInUnits) Function(seed uint64, i int) (Function, error) {
	f, err := p.particles64d.Function(seed, i)
	if err != nil {
		return Function{}, err
	}
	system := f.System.(sde.Particles).InUnits(p.length, p.rate)
	return Function{System: system}, system.Validate()
}

// Potential is that of the force in these units: rate·length²·V(x/length).
func (p particlesInUnits) Potential(seed uint64, i int) (Potential, error) {
	v, err := p.particles64d.Potential(seed, i)
	pair := v.Pair
	v.Trap *= p.rate
	v.Pair = func(r float64) float64 { return p.rate * p.length * p.length * pair(r/p.length) }
	return v, err
}
