package certificate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/exact"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// Draws of one well of two pass the generator test; short chains say that a well is missing, and where.
// Where the barrier is lower they say how much of the law is on which side, and by the potential of a
// gradient they say it whatever the barrier is. Draws of the law are good. In the plane the law itself is
// known, so these are in three dimensions.
func TestChains(t *testing.T) {
	for _, test := range []struct {
		name    string
		noise   string // of the second coordinate
		barrier float64
		left    float64 // the part of the samples in the left well; the law has a half
		want    Verdict
		reason  string
	}{
		{"one of two wells, no potential", "sqrt(2) + 0*x[i]", 10, 0, Care, "of the chains that begin all over the box stay where there are no samples, near (-1, 0, 0): the samples may lack a well"},
		{"a tenth in one well, no potential", "sqrt(2) + 0*x[i]", 2.5, 0.1, Refused, "chains from the samples cross x[0] = "},
		{"both wells, no potential", "sqrt(2) + 0*x[i]", 10, 0.5, Good, ""},
		{"one of two wells", "sqrt(2)", 10, 0, Refused, "% of the law, and 100 % of the samples"},
		{"a quarter in one well", "sqrt(2)", 10, 0.3, Care, "% of the law, and "},
		{"both wells", "sqrt(2)", 10, 0.5, Good, ""},
		{"both wells, a low barrier", "sqrt(2)", 2.5, 0.5, Good, ""},
	} {
		sigma := math.Sqrt(0.5 / test.barrier)
		s := expressiontest.Space(t, 3, "i == 0 ? x[i] - x[i]^3 : -x[i]", "i == 0 ? "+strconv.FormatFloat(sigma, 'g', -1, 64)+" : "+test.noise)
		subject := Subject{Equation: Space{Space: s}, Unlearned: math.NaN()}
		x := inWells(t, 3, test.barrier, test.left, 1)
		if c := subject.Certify(x, 3); c.Verdict != Good {
			t.Errorf("%s, without chains: %s, %q", test.name, c.Verdict, c.Reasons)
		}
		subject.Wells = wells.For(s)
		c := subject.Certify(x, 3)
		if reasons := strings.Join(c.Reasons, "\n"); c.Verdict != test.want || !strings.Contains(reasons, test.reason) || (reasons == "") != (test.reason == "") {
			t.Errorf("%s: %s, %q", test.name, c.Verdict, c.Reasons)
		}
	}
}

// inWells are 1024 draws of dX₀ = (X₀ − X₀³)dt + dW₀/√(2·barrier), of which a part is in the left well, with
// normal laws of a deviation along the other coordinates.
func inWells(t *testing.T, dim int, barrier, left, deviation float64) []float32 {
	t.Helper()
	const n = 1024
	b, sigma := expressiontest.Line(t, "x - x^3", fmt.Sprintf("sqrt(0.5/%g)", barrier))
	law, err := exact.Of(b.Eval, sigma.Eval, math.Inf(-1), math.Inf(1))
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(1, "certificate/chains test")
	x := make([]float32, 0, n*dim)
	for _, v := range law.Draws(n, rng) {
		if v = math.Abs(v); rng.Float64() < left {
			v = -v
		}
		x = append(x, float32(v))
		for range dim - 1 {
			x = append(x, float32(deviation*rng.NormFloat64()))
		}
	}
	return x
}

// In the plane the law is known by the Fokker–Planck equation, also behind a barrier that no chain crosses,
// of a drift that is no gradient.
func TestLawInThePlane(t *testing.T) {
	const barrier = 10 // kT: the law is exp(−10((x² − 1)² + y²)), beside which the drift turns
	s := expressiontest.Space(t, 2, "i == 0 ? x[0] - x[0]^3 - x[1]/2 : -x[1]/2 - x[0] + x[0]^3", "sqrt(0.05)")
	for _, test := range []struct {
		left   float64
		want   Verdict
		reason string
	}{
		{0.5, Good, ""},
		{0.6, Care, "% of the law has x[0] "},
		{0.3, Refused, "% of the law has x[0] "},
	} {
		x := inWells(t, 2, barrier, test.left, math.Sqrt(0.05))
		subject := Subject{Equation: Space{Space: s}, Wells: wells.For(s), Unlearned: math.NaN()}
		c := subject.Certify(x, 2)
		if reasons := strings.Join(c.Reasons, "\n"); c.Verdict != test.want || !strings.Contains(reasons, test.reason) || (reasons == "") != (test.reason == "") {
			t.Errorf("%g in the left well: %s, %q", test.left, c.Verdict, c.Reasons)
		}
	}
}

// Where chains diverge the certificate says that nothing was compared with them.
func TestChainsThatDiverge(t *testing.T) {
	s := expressiontest.Space(t, 2, "x[i]^3 - x[i]", "0.1")
	rng, x := random.New(1, "certificate/chains test"), make([]float32, 2048)
	for i := range x {
		x[i] = float32(0.07 * rng.NormFloat64())
	}
	c := Subject{Equation: Space{Space: s}, Wells: wells.For(s), Unlearned: math.NaN()}.Certify(x, 2)
	if c.Verdict != Care || len(c.Reasons) != 1 || !strings.Contains(c.Reasons[0], "chains of the equation diverge, so that nothing compares the samples with them") {
		t.Errorf("%s, %q", c.Verdict, c.Reasons)
	}
}

// An equation in the plane is the same in space.
func TestPlaneInSpace(t *testing.T) {
	p := plane(t, []string{"-x - y^2", "x*y"}, []string{"1 + x^2", "y", "0", "2"}).Equation.(Plane)
	s := p.Space(sde.Grid{Lo: -3, Hi: 2, N: 16})
	states := s.Uniform(100, 1)
	x, y := make([]float64, 100), make([]float64, 100)
	for i := range x {
		x[i], y[i] = states[2*i], states[2*i+1]
	}
	b, sigma := make([]float64, 200), make([]float64, 400)
	p.At(b, sigma, x, y)
	if drift, diffusion := s.Coefficients(states); !slices.Equal(drift, b) || !slices.Equal(diffusion, sigma) {
		t.Error("coefficients differ")
	}
	if err := s.Validate(); err != nil || slices.Min(states) < -3 || slices.Max(states) > 2 {
		t.Errorf("the box is %v, %v", s.Box, err)
	}
	if still := plane(t, []string{"-x", "-y"}, []string{"2", "1 + 0*x"}).Equation.(Plane).Space(sde.Grid{Lo: -3, Hi: 2, N: 16}); s.Noise != sde.AnyNoise || still.Noise != sde.AdditiveNoise {
		t.Errorf("noise that varies is of kind %v, and that which does not of kind %v", s.Noise, still.Noise)
	}
}

// A state of many coordinates is written by the first ones.
func TestPoint(t *testing.T) {
	for _, test := range []struct {
		x    []float32
		want string
	}{{[]float32{1.23456, -1e-9}, "(1.23, 0)"}, {[]float32{1, 2, 3, 4, 5}, "(1, 2, 3, 4, …)"}} {
		if got := point(test.x); got != test.want {
			t.Errorf("%v is %q, want %q", test.x, got, test.want)
		}
	}
}
