package request

import (
	"errors"
	"math"
	"slices"
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
