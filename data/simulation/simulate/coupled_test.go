package simulate

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// The chains with half the step are those of that scheme, and the others differ from them by the error of
// a step of every integrator, by far more exactly than independent chains would.
func TestCoupled(t *testing.T) {
	const chains, perChain, dt = 70, 40, 0.2 // two clouds
	s := systemOf(t, []string{"-x0"}, []string{"1"})
	heun := func(h float64) float64 { return h * square(complex(1-h/2, 0)) / (1 - square(complex(1-h+h*h/2, 0))) }
	euler := func(h float64) float64 { return 0.5 / (1 - h/2) }
	for i, law := range map[Integrator]func(h float64) float64{
		Euler: euler, Heun: heun, Platen: heun, Milstein: euler, LeimkuhlerMatthews: func(float64) float64 { return 0.5 },
	} {
		scheme := Scheme{DT: dt, BurnIn: 30, Thin: 10, Chains: chains, Integrator: i}
		whole, half, err := Fastest().Coupled(t.Context(), s, scheme, perChain, 1, 7, "test")
		if err != nil {
			t.Fatal(err)
		}
		scheme.DT, scheme.BurnIn, scheme.Thin = dt/2, 60, 20
		want := make([]float32, len(half))
		if err := Fastest().Chains(t.Context(), want, s, scheme, 1, 7, "test"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(half, want) {
			t.Errorf("%v: chains with half the step have other states than by that scheme", i)
		}
		excess, squares := 0., 0. // of the squares of all pairs
		for at := range whole {
			d := float64(whole[at])*float64(whole[at]) - float64(half[at])*float64(half[at])
			excess, squares = excess+d/float64(len(whole)), squares+d*d/float64(len(whole))
		}
		// Samples are two relaxation times apart. Of independent chains the deviation is 0.019.
		deviation := 1.2 * math.Sqrt((squares-excess*excess)/float64(len(whole)))
		if want := law(dt) - law(dt/2); math.Abs(excess-want) > 4*deviation || deviation > 0.006 {
			t.Errorf("%v: the variance differs by %.4f ± %.4f, want %.4f", i, excess, deviation, want)
		}
	}
	if _, _, err := Fastest().Coupled(t.Context(), systemOf(t, []string{"x0^3"}, []string{"1"}), Scheme{DT: dt, BurnIn: 1000, Thin: 1, Chains: 2}, 1, 1, 0, "test"); !errors.Is(err, ErrDiverged) {
		t.Errorf("explodes: %v", err)
	}
}
