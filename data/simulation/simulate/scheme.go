// Package simulate draws from invariant measures of SDEs by the Euler–Maruyama scheme, or another
// Integrator, with burn-in, thinning and many chains. A sample depends on (seed, purpose, function, chain,
// step) alone, not on threads, vector lanes or the order of calls.
package simulate

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Scheme describes the chains of a function. A chain starts from a draw of Start, runs BurnIn
// steps, gives its first sample, and then one more after every Thin steps.
type Scheme struct {
	DT     float64 `json:"dt" yaml:"dt"`           // time step
	BurnIn int     `json:"burn_in" yaml:"burn_in"` // steps before the first sample
	Thin   int     `json:"thin" yaml:"thin"`       // steps between samples
	Chains int     `json:"chains" yaml:"chains"`   // independent chains per function
	Start  Start   `json:"start,omitempty" yaml:"start,omitempty"`
	// Integrator is how a step is taken; empty: by Euler–Maruyama.
	Integrator Integrator `json:"integrator,omitempty" yaml:"integrator,omitempty"`
	Tempering  Tempering  `json:"tempering,omitzero" yaml:"tempering,omitempty"`
}

// Beyond these bounds a run would not end. Step counts stay far from overflow.
const (
	maxBurnIn = 1 << 40
	maxThin   = 1 << 31
)

// Validate reports fields out of range.
func (s Scheme) Validate() error {
	switch {
	case !(s.DT > 0) || math.IsInf(s.DT, 0):
		return fmt.Errorf("time step dt is %v, want a positive number", s.DT)
	case s.BurnIn < 0 || s.BurnIn > maxBurnIn:
		return fmt.Errorf("burn-in is %d steps, want 0 to %d", s.BurnIn, maxBurnIn)
	case s.Thin < 1 || s.Thin > maxThin:
		return fmt.Errorf("thinning is %d steps, want 1 to %d", s.Thin, maxThin)
	case s.Chains < 1:
		return fmt.Errorf("number of chains is %d, want at least 1", s.Chains)
	}
	if err := errors.Join(s.Integrator.validate(), s.Tempering.validate()); err != nil {
		return err
	}
	if s.Start == InBox {
		return nil
	}
	_, err := s.Start.laws()
	return err
}

// Fits reports why an integrator or the tempering does not suit a system: an ErrIntegrator or an
// ErrTempering. Chains check it, too.
func (s Scheme) Fits(system sde.System) error {
	if _, ok := system.(sde.Particles); ok && s.Tempering.On() && s.Integrator != MALA {
		return fmt.Errorf("%w of particles needs the integrator %v, which knows their potential", ErrTempering, MALA)
	}
	return errors.Join(s.Integrator.Fits(system), s.Tempering.Fits(system))
}

// Steps is the number of steps that one chain takes for n samples.
func (s Scheme) Steps(n int) int {
	if n < 1 {
		return 0
	}
	return s.BurnIn + (n-1)*s.Thin
}

// samplesPerChain checks that the scheme gives n samples in total.
func (s Scheme) samplesPerChain(n int) (int, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if n == 0 || n%s.Chains != 0 {
		return 0, fmt.Errorf("%d samples cannot be divided among %d chains", n, s.Chains)
	}
	return n / s.Chains, nil
}
