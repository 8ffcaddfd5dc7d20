package repair_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
)

// line is an equation of formulas, and whether samples have its exact law.
func line(t *testing.T, drift, diffusion string) (repair.Equation, func(x []float32) bool) {
	t.Helper()
	b, sigma := expressiontest.Line(t, drift, diffusion)
	_, law, err := certificate.Integrate(b.Eval, sigma.Eval, -5, 5)
	if err != nil {
		t.Fatal(err)
	}
	s := certificate.Subject{Equation: certificate.Line{Drift: b.Eval, Diffusion: sigma.Eval}, Law: law, Unlearned: math.NaN()}
	return repair.Equation{Formulas: expression.NewEquation(b, sigma).Bind, Drift: b.Eval, Diffusion: sigma.Eval},
		func(x []float32) bool { return s.Certify(x, 1).Verdict == certificate.Good }
}

func normal(n int, mean, deviation float64) []float32 {
	rng, x := random.New(1, "repair"), make([]float32, n)
	for i := range x {
		x[i] = float32(mean + deviation*rng.NormFloat64())
	}
	return x
}

// From wrong samples auto comes to the law, whatever the unit of time; it is the same again,
// and says how far it went.
func TestAutoComesToTheLaw(t *testing.T) {
	for _, test := range []struct {
		drift, diffusion string
		mean, deviation  float64
	}{
		{"-2*(x-1)", "1", 0, 1},
		{"-200*(x-1)", "10", 0, 1},
		{"x - x^3", "0.7", 0.5, 0.5},
		{"-x", "5", 0, 1},
		{"-x", "0.5 + 0.3*cos(x)", 3, 0.1},
	} {
		e, right := line(t, test.drift, test.diffusion)
		x := normal(4096, test.mean, test.deviation)
		again := slices.Clone(x)
		if right(x) {
			t.Fatalf("%s, %s: the samples are right from the start", test.drift, test.diffusion)
		}
		r, err := repair.Run(t.Context(), x, e, repair.Options{Limit: time.Minute}, right)
		if err != nil || !r.Settled || !r.Auto || !right(x) || r.Moved < 0.1 || r.Steps < 100 {
			t.Errorf("%s, %s: %+v, right %v, %v", test.drift, test.diffusion, r, right(x), err)
		}
		s, err := repair.Run(t.Context(), again, e, repair.Options{Limit: time.Minute}, right)
		if err != nil || !slices.Equal(x, again) || s.Steps != r.Steps || s.DT != r.DT || s.Moved != r.Moved {
			t.Errorf("%s, %s: %+v, and again %+v, %v", test.drift, test.diffusion, r, s, err)
		}
	}
}

// The time step is that of the equation's own unit of time, with two digits, and makes the
// variance of a linear drift λ as much too large as wanted: q/(1−q) with q = λ·dt/2.
func TestTimeStep(t *testing.T) {
	for _, rate := range []float64{0.01, 1, 300} {
		e, _ := line(t, "-"+number(rate)+"*x", number(math.Sqrt(2*rate)))
		x := normal(1<<16, 0, 1)
		r, err := repair.Run(t.Context(), x, e, repair.Options{Steps: 500}, nil)
		want := 2 * 0.01 / 1.01 / rate
		if err != nil || r.Steps != 500 || r.Auto || math.Abs(r.DT/want-1) > 0.06 {
			t.Errorf("rate %g: %+v, %v, want a step of %.3g", rate, r, err, want)
		}
		var square float64
		for _, v := range x {
			square += float64(v) * float64(v) / float64(len(x))
		}
		if math.Abs(square-1.01) > 0.022 { // four standard errors
			t.Errorf("rate %g: the variance is %.4f, want 1.01", rate, square)
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// States that are far out come in, where steps for the others would throw them beyond all bounds:
// a few of them, or most. Where only steps finer than the estimate keep chains within bounds,
// those are taken.
func TestOutliers(t *testing.T) {
	for _, test := range []struct {
		drift, diffusion string
		deviation        float64
		outliers         []float32
	}{
		{"x - x^3", "0.7", 1, []float32{3000, -40}},
		{"-x^5", "0.5", 40, nil},
		{"-x", "1 + 0.05*x^2", 1, []float32{3000}},
	} {
		e, right := line(t, test.drift, test.diffusion)
		x := normal(4096, 0, test.deviation)
		copy(x, test.outliers)
		coarse := make([]float64, len(x))
		for i, v := range x {
			coarse[i] = float64(v)
		}
		if err := simulate.Fastest().ContinueFunc(t.Context(), coarse, e.Formulas, sde.WholeLine, 0.01, 100, 1, 1, ""); !errors.Is(err, simulate.ErrDiverged) {
			t.Fatalf("%s, %s: the outliers do no harm: %v", test.drift, test.diffusion, err)
		}
		if r, err := repair.Run(t.Context(), x, e, repair.Options{Limit: time.Minute}, right); err != nil || !r.Settled || !right(x) || r.DT < 1e-4 {
			t.Errorf("%s, %s: %+v, %v", test.drift, test.diffusion, r, err)
		}
	}
}

// Wells that chains hardly leave are not settled within the limit. An equation that leads away
// is an error.
func TestNotSettled(t *testing.T) {
	e, right := line(t, "x - x^3", "0.15")
	if r, err := repair.Run(t.Context(), normal(1024, 1, 0.1), e, repair.Options{Limit: 20 * time.Millisecond}, right); err != nil || r.Settled {
		t.Errorf("one well: %+v, %v", r, err)
	}
	b, sigma := expressiontest.Line(t, "x^3 - x", "x^3 - x")
	away := repair.Equation{Formulas: expression.NewEquation(b, sigma).Bind, Drift: b.Eval, Diffusion: sigma.Eval}
	if _, err := repair.Run(t.Context(), normal(100, 3, 1), away, repair.Options{Steps: 10000}, nil); !errors.Is(err, simulate.ErrDiverged) {
		t.Errorf("away: %v", err)
	}
	infinite, right := line(t, "-x*exp(x^2)", "1")
	if _, err := repair.Run(t.Context(), []float32{0, 1, 60}, infinite, repair.Options{Steps: 10}, right); !errors.Is(err, simulate.ErrDiverged) || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("a drift that is not finite: %v", err)
	}
	if _, err := repair.Run(t.Context(), nil, e, repair.Options{}, right); err == nil {
		t.Error("no samples are repaired")
	}
}

// In the plane, on tables of the line, and of particles.
func TestSystems(t *testing.T) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: 64}
	plane, err := family.TabulatePlane([]string{"-x - y", "x - y"}, []string{"sqrt(2)"}, grid)
	if err != nil {
		t.Fatal(err)
	}
	b, sigma := expressiontest.Line(t, "-x", "1")
	table, err := expression.Tabulate(b, sigma, grid)
	if err != nil {
		t.Fatal(err)
	}
	particles := sde.Particles{N: 4, Trap: 0.5, Noise: 1, Force: sde.Tabulate(func(r2 float64) float64 { return 2 * math.Exp(-r2) }, 0, 4)}
	for _, test := range []struct {
		system   sde.System
		equation certificate.Equation
	}{{plane, certificate.OfPlane(plane)}, {table, certificate.OfTable(table)}, {particles, certificate.Particles{Particles: particles}}} {
		d := test.system.Dim()
		right := func(x []float32) bool {
			return certificate.Subject{Equation: test.equation, Unlearned: math.NaN()}.Certify(x, d).Verdict == certificate.Good
		}
		x := normal(2048*d, 0.5, 0.3)
		if right(x) {
			t.Fatalf("%T: the samples are right from the start", test.system)
		}
		r, err := repair.Run(t.Context(), x, repair.Equation{System: test.system}, repair.Options{Limit: time.Minute}, right)
		if err != nil || !r.Settled || !right(x) || r.Moved < 0.2 {
			t.Errorf("%T: %+v, right %v, %v", test.system, r, right(x), err)
		}
	}
}

// Particles of some Morse kernels stay inside the cap of their potential, and the certificate refuses them. Chains
// with replicas bring them out.
func TestParticlesThatCannotLeave(t *testing.T) {
	f, err := family.ByName("particles64d")
	if err != nil {
		t.Fatal(err)
	}
	function, err := f.Function(1, 2062)
	if err != nil {
		t.Fatal(err)
	}
	p := function.System.(sde.Particles)
	x := make([]float32, 48*p.Dim())
	s := simulate.Scheme{DT: 0.0005, BurnIn: 20_000, Thin: 1, Chains: 48, Start: "1.5", Integrator: simulate.MALA}
	if err := simulate.Chains(t.Context(), x, p, s, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	judge := func(x []float32) certificate.Certificate {
		return certificate.ByFunction(f, 1, 2062, p).Certify(x, p.Dim())
	}
	if c := judge(x); c.Verdict != certificate.Refused || !strings.Contains(c.Reasons[0], "have a mean energy") {
		t.Errorf("particles that cannot leave are %v: %q", c.Verdict, c.Reasons)
	}
	// Before the replicas there are rounds without them.
	r, err := repair.Run(t.Context(), x, repair.Equation{System: p}, repair.Options{Limit: time.Hour, Seed: 1}, func(x []float32) bool {
		return judge(x).Verdict == certificate.Good
	})
	if err != nil || !r.Settled || r.Replicas != 16 {
		t.Errorf("%+v, error %v", r, err)
	}
	if c := judge(x); c.Verdict != certificate.Good {
		t.Errorf("after the repair they are %v: %q", c.Verdict, c.Reasons)
	}
}
