package request

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// The logarithm of the density is that of closed forms and of quadrature, up to a constant.
func TestLogDensity(t *testing.T) {
	table := sde.Coefficients{Grid: sde.Grid{Lo: -5, Hi: 5, N: 11}}
	for i := range 11 {
		x := table.Grid.At(i)
		table.Drift = append(table.Drift, float32(-x+math.Sin(x)))
		table.Diffusion = append(table.Diffusion, float32(1+.3*math.Cos(x)))
	}
	quadrature, err := density.New(table)
	if err != nil {
		t.Fatal(err)
	}
	each := func(f func(x float64) float64) density.Coefficient {
		return func(dst, x []float64) {
			for i, v := range x {
				dst[i] = f(v)
			}
		}
	}
	one := each(func(float64) float64 { return 1 })
	for name, test := range map[string]struct {
		equation certificate.Line
		want     func(x float64) float64
	}{
		"Ornstein–Uhlenbeck": {certificate.Line{Drift: each(func(x float64) float64 { return -3 * (x - 1) }), Diffusion: one},
			func(x float64) float64 { return -3 * (x - 1) * (x - 1) }},
		"double well": {certificate.Line{Drift: each(func(x float64) float64 { return x - x*x*x }), Diffusion: one},
			func(x float64) float64 { return x*x - x*x*x*x/2 }},
		"Student": {certificate.Line{Drift: each(func(x float64) float64 { return -x }), Diffusion: each(func(x float64) float64 { return math.Sqrt(1 + x*x) })},
			func(x float64) float64 { return -2 * math.Log(1+x*x) }},
		"table": {certificate.OfTable(table), func(x float64) float64 { return math.Log(quadrature.PDF(x)) }},
	} {
		var x []float32
		for i := range 1001 {
			x = append(x, float32(-6+.012*float64(i)))
		}
		logs := logDensity(test.equation, x)
		for i, v := range x {
			if d := logs[i] - logs[500] - (test.want(float64(v)) - test.want(float64(x[500]))); !(math.Abs(d) <= 1e-4) {
				t.Errorf("%s: the logarithm at %g is off by %g", name, v, d)
				break
			}
		}
	}
}

// Draws of a network that knows nothing of the equation, N(0,1) but for little, become draws of
// a double well by their weights.
func TestWeigh(t *testing.T) {
	e := loadSet(t, "vn1d")
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), 1)
	st.Normalisation = shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: 1}}
	drawer, err := engine.Open(engine.Options{}, e, f, st)
	if err != nil {
		t.Fatal(err)
	}
	defer drawer.Close()
	solver := ode.RK4{Steps: 4}
	target, err := Request{Drift: []string{"x-x^3"}, Diffusion: []string{"1"}}.Resolve(t.Context(), e, f, st.Normalisation)
	if err != nil {
		t.Fatal(err)
	}
	x, w, c, err := target.Weigh(t.Context(), drawer, 4096, solver, 3)
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict != certificate.Good || !(w.KHat < mostKHat) || !(w.ESS > 2000) || len(x) != 4096 {
		t.Errorf("verdict %q, %+v, reasons %q", c.Verdict, w, c.Reasons)
	}
	again, _, _, err := target.Weigh(t.Context(), drawer, 4096, solver, 3)
	if err != nil || !slices.Equal(x, again) {
		t.Errorf("the same seed gives other samples (%v)", err)
	}
	// N(0,1) has hardly a draw of the law of −(x−4): the weights say so.
	far, err := Request{Drift: []string{"-(x-4)"}, Diffusion: []string{"0.5"}}.Resolve(t.Context(), e, f, st.Normalisation)
	if err != nil {
		t.Fatal(err)
	}
	if _, w, c, err := far.Weigh(t.Context(), drawer, 1000, solver, 3); err == nil && (c.Verdict == certificate.Good || w.ESS > 100) {
		t.Errorf("verdict %q of draws worth %g", c.Verdict, w.ESS)
	}
	if _, _, _, err := (Target{}).Weigh(t.Context(), drawer, 10, solver, 1); !errors.Is(err, ErrNoWeights) {
		t.Errorf("a target without a law: %v", err)
	}
}

// drawerOf opens the network of an experiment before any training: it draws N(0, I), but for
// little.
func drawerOf(t *testing.T, name, kind string, n shard.Normalisation) (*engine.Engine, func(Request) Target) {
	t.Helper()
	e := loadSet(t, name)
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), 1)
	st.Normalisation = n
	drawer, err := engine.Open(engine.Options{Name: kind}, e, f, st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(drawer.Close)
	return drawer, func(r Request) Target {
		target, err := r.Resolve(t.Context(), e, f, st.Normalisation)
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
}

// In the plane, wells that chains do not leave get their masses: of V = 12(x²−1)² − x/2 + y²/2,
// with σ = √2, the right one has 1/(1+e^−1) but for little. A drift with a curl is refused, with
// the place.
func TestWeighInThePlane(t *testing.T) {
	drawer, resolve := drawerOf(t, "cn2d_grid", engine.Network, shard.Normalisation{"drift": {Std: 1}})
	two := Request{Drift: []string{"-48*x*(x^2-1)+0.5", "-y"}, Diffusion: []string{"sqrt(2)"}}
	const n = 2048
	x, w, c, err := resolve(two).Weigh(t.Context(), drawer, n, ode.Euler{Steps: 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	right := 0.
	for i := 0; i < len(x); i += 2 {
		if x[i] > 0 {
			right += 1. / n
		}
	}
	want := 1 / (1 + math.Exp(-1))
	if e := math.Sqrt(want * (1 - want) / w.ESS); math.Abs(right-want) > 4*e || e > 0.05 {
		t.Errorf("mass %.3f on the right, want %.3f ± %.3f", right, want, e)
	}
	if c.Verdict != certificate.Good || w.Stages < 2 || !(w.KHat < mostKHat) || !(w.Moves.Accepted > 0.4) || len(x) != 2*n {
		t.Errorf("verdict %q, %+v, reasons %q", c.Verdict, w, c.Reasons)
	}
	again, _, _, err := resolve(two).Weigh(t.Context(), drawer, n, ode.Euler{Steps: 1}, 3)
	if err != nil || !slices.Equal(x, again) {
		t.Errorf("the same seed gives other samples (%v)", err)
	}
	whirl := Request{Drift: []string{"-x-0.15*y", "0.15*x-y"}, Diffusion: []string{"sqrt(2)"}}
	if _, _, _, err := resolve(whirl).Weigh(t.Context(), drawer, n, ode.Euler{Steps: 1}, 3); !errors.Is(err, ErrNoWeights) || !strings.Contains(err.Error(), "the drift is not a gradient: its curl is 0.3 at (") {
		t.Errorf("a whirl: %v", err)
	}
	if _, _, _, err := resolve(Request{Function: 3}).Weigh(t.Context(), drawer, n, ode.Euler{Steps: 1}, 3); !errors.Is(err, ErrNoWeights) || !strings.Contains(err.Error(), "curl") {
		t.Errorf("a function of the family: %v", err)
	}
}

// Without a table, weights on the line are by the density along the flow.
func TestWeighByTheNetwork(t *testing.T) {
	drawer, resolve := drawerOf(t, "vn1d", engine.Network, shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: 1}})
	_, w, c, err := resolve(Request{Drift: []string{"x-x^3"}, Diffusion: []string{"1"}}).Weigh(t.Context(), drawer, 1024, ode.Euler{Steps: 2}, 3)
	if err != nil || c.Verdict != certificate.Good || !(w.KHat < mostKHat) || !(w.ESS > 1000) {
		t.Errorf("verdict %q, %+v, reasons %q, %v", c.Verdict, w, c.Reasons, err)
	}
}

// Draws of particles that are far from the law have weights that say so: they are taken by a small
// power, moved closer, and doubted.
func TestWeighParticles(t *testing.T) {
	drawer, resolve := drawerOf(t, "particles64d", engine.Network, shard.Normalisation{"probes[0]": {Std: 1}, "probes[1]": {Std: 1}, "probes[2]": {Std: 1}, "probes[3]": {Std: 1}})
	x, w, c, err := resolve(Request{Function: 3}).Weigh(t.Context(), drawer, 64, ode.Euler{Steps: 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict == certificate.Good || w.ESS > 10 || w.KHat < mostKHat || !(w.Power > 0 && w.Power < 0.5) || !(w.Moves.Accepted > 0.3) || len(x) != 64*64 {
		t.Errorf("verdict %q, %+v", c.Verdict, w)
	}
	var doubted bool
	for _, reason := range c.Reasons {
		doubted = doubted || strings.Contains(reason, "the importance weights are unreliable")
	}
	if !doubted {
		t.Errorf("reasons %q", c.Reasons)
	}
}
