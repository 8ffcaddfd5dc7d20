package simulate

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// With steps by which Euler–Maruyama has another law, MALA has the right one.
func TestMALAOfParticles(t *testing.T) {
	p := sde.Particles{N: 2, Trap: 0.5, Noise: 1, Force: sde.Tabulate(gaussian(1, 0.8), 0, 5)}
	distances := func(i Integrator) (r []float32) {
		x := sampleParticles(t, engines[0], p, Scheme{DT: 0.8, BurnIn: 400, Thin: 1, Chains: 4096, Integrator: i}, 1)
		for ; len(x) > 0; x = x[4:] {
			r = append(r, float32(math.Hypot(float64(x[0]-x[2]), float64(x[1]-x[3]))))
		}
		return r
	}
	if d := ksScaled(distances(MALA), distanceLaw(p)); !(d <= ksCritical) {
		t.Errorf("√n·KS is %.3g from the exact law, want below %v", d, ksCritical)
	}
	if d := ksScaled(distances(Euler), distanceLaw(p)); d < 1.5*ksCritical {
		t.Errorf("√n·KS of Euler's steps is %.3g: the time step is too small to show anything", d)
	}
}

// Chains do not depend on their company, and begin as Start says. Steps that are never accepted are an error.
func TestMALAOfParticlesAlone(t *testing.T) {
	p := sde.Particles{N: 3, Trap: 1, Noise: 1, Force: sde.Tabulate(gaussian(-1.5, 1), 0, 5)}
	s := Scheme{DT: 0.05, BurnIn: 7, Thin: 3, Chains: 4, Integrator: MALA}
	const perChain = 5
	chains := func(count int) []float32 {
		s.Chains = count
		dst := make([]float32, count*perChain*p.Dim())
		if err := Chains(t.Context(), dst, p, s, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	if all, some := chains(4), chains(2); !slices.Equal(some, all[:len(some)]) {
		t.Error("two chains alone differ from those of four")
	}
	s.BurnIn, s.Start = 0, "uniform(2, 2.5)"
	for c := range 2 {
		for _, v := range chains(2)[c*perChain*p.Dim():][:p.Dim()] {
			if v < 2 || v > 2.5 {
				t.Errorf("a coordinate begins at %g", v)
			}
		}
	}
	a, err := Fastest().Acceptance(t.Context(), p, Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: MALA}, 100, 1, 0, "test")
	if err != nil || !(a.Part > 0.9) || a.Error != 0 {
		t.Errorf("%+v, error %v", a, err)
	}
	steep := sde.Particles{N: 2, Trap: 0.5, Noise: 1, Force: sde.Tabulate(morse(0.7, 2, 1), 0.33, 5)}
	err = Chains(t.Context(), make([]float32, 4096*steep.Dim()), steep, Scheme{DT: 0.1, BurnIn: 400, Thin: 1, Chains: 4096, Integrator: MALA}, 1, 0, "test")
	if !errors.Is(err, ErrStuck) {
		t.Errorf("steps that are much too large for a wall: error %v", err)
	}
	if err := (Scheme{DT: 0.01, Thin: 1, Chains: 1, Integrator: Heun}).Fits(p); !errors.Is(err, ErrIntegrator) {
		t.Errorf("Heun's steps: error %v", err)
	}
}
