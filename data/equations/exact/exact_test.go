package exact

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
)

func of(t *testing.T, drift, diffusion string, lo, hi float64) *Law {
	t.Helper()
	b, sigma := expressiontest.Line(t, drift, diffusion)
	l, err := Of(b.Eval, sigma.Eval, lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The laws of an Ornstein–Uhlenbeck process, of one without moments, and of a Feller diffusion
// that reaches zero, as JSON.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		drift, diffusion string
		lo, hi           float64
		want             []string
	}{
		{"-x", "1", math.Inf(-1), math.Inf(1), []string{`"mean":`, `"variance":0.`, `"kurtosis":`, `"0.975":1.385903824349`, `"lo":{"at":null,"boundary":"natural","power":null,"exponent":`, `"warnings":[]`}},
		{"-x/(1+x^2)", "1", math.Inf(-1), math.Inf(1), []string{`"mean":null,"variance":null,"skewness":null,"kurtosis":null`, `"0.975":12.70620473`, `"power":2.0000000`}},
		{"0.25-x", "sqrt(x)", 0, math.Inf(1), []string{`"mean":0.2`, `"lo":{"at":0,"boundary":"regular","power":null,"exponent":null}`, `0 is a regular boundary`}},
	} {
		text, err := json.Marshal(of(t, c.drift, c.diffusion, c.lo, c.hi).Summary)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s, %s: %s lacks %s", c.drift, c.diffusion, text, want)
			}
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct{ drift, want string }{
		{"-x", "falls as exp(-c|x|^2)"}, {"-sign(x)", "falls as exp(-c|x|^1)"}, {"x - x^3", "falls as exp(-c|x|^4)"}, {"-3*x/(1+x^2)", "falls as |x|^-6"}, {"-sinh(x)", "falls faster than exp of any power of x"},
	} {
		l := of(t, c.drift, "1", math.Inf(-1), math.Inf(1))
		if l.Lo.Tail() != c.want || l.Hi.Tail() != c.want {
			t.Errorf("%s: %q and %q, want %q", c.drift, l.Lo.Tail(), l.Hi.Tail(), c.want)
		}
	}
	if tail := of(t, "-x*(log(x)-1)", "3*x", 0, math.Inf(1)).Hi.Tail(); !strings.HasPrefix(tail, "falls faster than any power of x") {
		t.Errorf("a lognormal law %s", tail)
	}
	if tail := of(t, "-x", "exp(x)", math.Inf(-1), math.Inf(1)).Lo.Tail(); tail != "falls faster than exp of any power of x" {
		t.Errorf("of σ = exp x the left tail %s", tail)
	}
	if tail := of(t, "0.25-x", "sqrt(x)", 0, math.Inf(1)).Lo.Tail(); tail != "" {
		t.Errorf("a finite end %s", tail)
	}
}

// The curve integrates to its distribution function, and draws are those of the seed.
func TestCurveAndDraws(t *testing.T) {
	l := of(t, "x - x^3", "0.5", math.Inf(-1), math.Inf(1))
	x, pdf, cdf := l.Curve(1000)
	if !slices.IsSorted(x) || !slices.IsSorted(cdf) || len(x) < 990 {
		t.Fatalf("%d points", len(x))
	}
	sum := cdf[0]
	for i := 1; i < len(x); i++ {
		sum += (x[i] - x[i-1]) * (pdf[i] + pdf[i-1]) / 2
		if math.Abs(sum-cdf[i]) > 1e-4 {
			t.Fatalf("at %g the density sums to %g, not %g", x[i], sum, cdf[i])
		}
	}
	draw := func() []float64 { return l.Draws(10, rand.New(rand.NewPCG(3, 4))) }
	if !slices.Equal(draw(), draw()) {
		t.Error("draws of one seed differ")
	}
}
