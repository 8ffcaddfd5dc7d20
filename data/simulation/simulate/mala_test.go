package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The acceptance is that of the potential and of the density of a step, which are known here. The rule
// is exact for drifts of degree 5.
func TestMALARatio(t *testing.T) {
	const dt = 0.3
	for name, c := range map[string]struct {
		drift, diffusion []string
		potential        func(x []float64) float64
		spread           [4]float64 // SSᵀ, by rows
		tolerance        float64
	}{
		// b = −½U′, U = 2x⁶/6.
		"sextic": {[]string{"-x0^5"}, []string{"1"}, func(x []float64) float64 { return math.Pow(x[0], 6) / 3 }, [4]float64{1}, 1e-9},
		// U = log cosh, which is no polynomial.
		"slope": {[]string{"-tanh(x0)"}, []string{"1"}, func(x []float64) float64 { return 2 * math.Log(math.Cosh(x[0])) }, [4]float64{1}, 1e-3},
		// b = −½SSᵀ∇U with U = x² + y⁴/2 + xy and S = [[1, 2], [0, 1]].
		"a matrix": {
			[]string{"-0.5*(5*(2*x0 + x1) + 2*(2*x1^3 + x0))", "-0.5*(2*(2*x0 + x1) + 2*x1^3 + x0)"}, []string{"1", "2", "0", "1"},
			func(x []float64) float64 { return x[0]*x[0] + math.Pow(x[1], 4)/2 + x[0]*x[1] }, [4]float64{5, 2, 2, 1}, 1e-9,
		},
		"two noises": {
			[]string{"-0.5*4*(2*x0 + x1)", "-0.5*(2*x1^3 + x0)"}, []string{"2", "1"},
			func(x []float64) float64 { return x[0]*x[0] + math.Pow(x[1], 4)/2 + x[0]*x[1] }, [4]float64{4, 0, 0, 1}, 1e-9,
		},
	} {
		s := systemOf(t, c.drift, c.diffusion)
		for _, tempering := range []Tempering{{}, {Temperatures: 4, Hottest: 8, Every: 1000}} {
			cloud, err := newCloud(Fastest(), s, MALA, tempering, dt)
			if err != nil {
				t.Fatal(name, err)
			}
			cloud.active = lanes
			if err := cloud.open(Scheme{DT: dt, Thin: 1, Chains: lanes / cloud.replicas}, 0, stream{seed: 5, purpose: "test"}); err != nil {
				t.Fatal(err)
			}
			cloud.steps.begin(cloud)
			cloud.move()
			m, d := cloud.steps.(*mala), s.Dim()
			largest := 0.
			for l := range lanes {
				x, y := make([]float64, d), make([]float64, d)
				for k := range d {
					x[k], y[k] = cloud.before[k][l], m.to[k][l]
				}
				temperature := 1.
				if tempering.On() {
					temperature = tempering.At(l % cloud.replicas)
				}
				b, _ := s.Coefficients(slices.Concat(x, y))
				density := func(from, to, drift []float64) float64 { // its logarithm, but for a constant
					u := make([]float64, d)
					for k := range u {
						u[k] = to[k] - from[k] - dt*drift[k]
					}
					a := c.spread
					if d == 1 {
						return -u[0] * u[0] / a[0] / (2 * dt * temperature)
					}
					return -(a[3]*u[0]*u[0] - (a[1]+a[2])*u[0]*u[1] + a[0]*u[1]*u[1]) / (a[0]*a[3] - a[1]*a[2]) / (2 * dt * temperature)
				}
				want := (c.potential(x)-c.potential(y))/temperature + density(y, x, b[d:]) - density(x, y, b[:d])
				got := m.ratio(cloud, l)
				largest = max(largest, math.Abs(got))
				if math.Abs(got-want) > c.tolerance*max(1, math.Abs(want)) {
					t.Errorf("%s, T %.3g: from %v to %v the ratio is %v, want %v", name, temperature, x, y, got, want)
				}
			}
			if !(largest > 0.1) {
				t.Errorf("%s: all ratios are near zero, which tests nothing", name)
			}
		}
	}
}

// Steps that are far too large for other integrators leave the law as it is.
func TestMALAKeepsLaws(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one goroutine computes all, in which the race detector has nothing to find")
	}
	const (
		chains, perChain = 4096, 8
		deviations       = 5.
	)
	quartic := func(x float64) float64 { return math.Exp(2 * (x*x/2 - x*x*x*x/4)) }
	var mass, second float64
	for x := -6.; x <= 6; x += 1e-3 {
		mass, second = mass+quartic(x), second+x*x*quartic(x)
	}
	for name, c := range map[string]struct {
		drift, diffusion []string
		dt               float64
		want             []float64 // of the squares
		tempering        Tempering
	}{
		"double well":        {[]string{"x0 - x0^3"}, []string{"1"}, 0.4, []float64{second / mass}, Tempering{}},
		"normal, a matrix":   {[]string{"-x0", "-x1"}, []string{"1", "2", "0", "1"}, 1, []float64{2.5, 0.5}, Tempering{}},
		"normal, two noises": {[]string{"-x0", "-9*x1"}, []string{"1", "3"}, 0.2, []float64{0.5, 0.5}, Tempering{}},
		"tempered":           {[]string{"x0 - x0^3"}, []string{"1"}, 0.4, []float64{second / mass}, Tempering{4, 4, 5}},
	} {
		s := systemOf(t, c.drift, c.diffusion)
		d := s.Dim()
		x := make([]float32, chains*perChain*d)
		scheme := Scheme{DT: c.dt, BurnIn: 200, Thin: 20, Chains: chains, Start: "normal(0, 0.5)", Integrator: MALA, Tempering: c.tempering}
		if err := Fastest().Chains(t.Context(), x, s, scheme, 3, 0, "test"); err != nil {
			t.Fatal(name, err)
		}
		for k, want := range c.want {
			var mean, square float64 // of the means of chains, which are independent
			for chain := range chains {
				sum := 0.
				for j := range perChain {
					v := float64(x[(chain*perChain+j)*d+k])
					sum += v * v / perChain
				}
				mean, square = mean+sum/chains, square+sum*sum/chains
			}
			if chance := math.Sqrt((square - mean*mean) / chains); !(math.Abs(mean-want) < deviations*chance) {
				t.Errorf("%s: the mean square of coordinate %d is %.4f ± %.4f, want %.4f", name, k, mean, chance, want)
			}
		}
	}
}

// The acceptance falls with the step, and is 1 in the limit. Its error is told where the drift jumps.
func TestAcceptance(t *testing.T) {
	of := func(drift string, dt float64, tempering Tempering) Acceptance {
		s := systemOf(t, []string{drift}, []string{"1"})
		a, err := Fastest().Acceptance(t.Context(), s, Scheme{DT: dt, Thin: 1, Integrator: MALA, Tempering: tempering, Start: "normal(0, 0.5)"}, 2000, 1, 0, "test")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, tempering := range []Tempering{{}, {4, 3, 10}} {
		last := 1.01
		for _, dt := range []float64{0.001, 0.2, 0.5} {
			a := of("x0 - x0^3", dt, tempering)
			if !(a.Part < last) || dt == 0.001 && a.Part < 0.99 || !(a.Error < 1e-3) {
				t.Errorf("%v: %+v of the steps of %g are accepted, %.3f of smaller ones", tempering, a, dt, last)
			}
			last = a.Part
		}
	}
	if coarse, fine := of("-tanh(200*x0)", 0.5, Tempering{}), of("-tanh(200*x0)", 0.00001, Tempering{}); !(coarse.Error > 0.02) || !(fine.Error < 1e-3) {
		t.Errorf("a drift that bends within 0.01: error %.3g with large steps, %.3g with small ones", coarse.Error, fine.Error)
	}
	if a, err := Fastest().Acceptance(t.Context(), systemOf(t, []string{"-x0"}, []string{"1"}), Scheme{DT: 0.1, Thin: 1}, 10, 1, 0, "test"); err != nil || a.Part != 1 {
		t.Errorf("Euler's: %+v, %v", a, err)
	}
}

// Where Euler's steps diverge, those of MALA are never accepted: an error instead of samples that are
// the start.
func TestMALAIsStuck(t *testing.T) {
	s := systemOf(t, []string{"-x0^3"}, []string{"1"})
	scheme := Scheme{DT: 0.5, BurnIn: 500, Thin: 1, Chains: 70, Start: "normal(20, 0.1)", Integrator: MALA}
	err := Fastest().Chains(t.Context(), make([]float32, 70), s, scheme, 1, 9, "test")
	if !errors.Is(err, ErrStuck) || !strings.Contains(fmt.Sprint(err), "function 9, chain 0: no step of a chain is accepted in 500 steps of 0.5, from 2") {
		t.Errorf("error %v", err)
	}
	restricted := s
	restricted.Domain = sde.Domain{{Ends: sde.Joined, Lo: -3, Hi: 3}}
	if err := MALA.Fits(restricted); !errors.Is(err, ErrIntegrator) || !strings.Contains(err.Error(), "states without ends") {
		t.Errorf("on a circle: %v", err)
	}
	scheme.DT = 0.001
	if err := Fastest().Chains(t.Context(), make([]float32, 70), restricted, scheme, 1, 9, "test"); !errors.Is(err, ErrIntegrator) {
		t.Errorf("chains on a circle: %v", err)
	}
}
