package certificate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

var grid = sde.Grid{Lo: -5, Hi: 5, N: 64}

// subject judges by formulas on the line, with their exact law.
func subject(t testing.TB, drift, diffusion string) Subject {
	t.Helper()
	b, sigma := expressiontest.Line(t, drift, diffusion)
	_, law, err := Integrate(b.Eval, sigma.Eval, grid.Lo, grid.Hi)
	if err != nil {
		t.Fatal(err)
	}
	return Subject{Equation: Line{b.Eval, sigma.Eval}, Law: law, Grid: grid, Unlearned: math.NaN()}
}

// draws are independent draws of the law.
func (l *Law) draws(n int, rng *rand.Rand) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(l.Quantile(rng.Float64()))
	}
	return x
}

func normal(n int, mean, deviation float64, rng *rand.Rand) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(mean + deviation*rng.NormFloat64())
	}
	return x
}

func (c Certificate) effect(t *testing.T, name string) Check {
	t.Helper()
	for _, k := range c.Checks {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no check %q in %+v", name, c.Checks)
	return Check{}
}

var equations = [][2]string{
	{"-x", "1"}, {"-2*(x-1)", "1"}, {"x - x^3", "0.7"}, {"x - x^3", "0.3"}, {"-x", "0.5 + 0.3*cos(x)"}, {"-10*x", "0.3"},
	{"-3*tanh(2*x)", "1.2"}, {"sin(3*x) - x", "0.6"},
}

// Draws of the law itself are good, with few false alarms: each of about a dozen checks fails
// by chance at most once in 1,000 times, and only if its effect is large.
func TestExactDrawsAreGood(t *testing.T) {
	for _, n := range []int{100, 1000, 4096} {
		bad, trials := 0, 0
		for k, e := range equations {
			s := subject(t, e[0], e[1])
			for i := range 40 {
				trials++
				if c := s.Certify(s.Law.draws(n, random.New(1, "certificate/good", uint64(k), uint64(i))), 1); c.Verdict != Good {
					bad++
					t.Logf("%s, %s, %d samples: %v", e[0], e[1], n, c.Reasons)
				}
			}
		}
		if bad > trials/100 {
			t.Errorf("%d samples: %d of %d false alarms", n, bad, trials)
		}
	}
}

// Of a linear drift the effects are in closed form. For N(m, r·s²) with the law N(0, s²) that
// of ½(x−m)² is 1 − r, and that of x is −m·√r/s.
func TestEffectsOfLinearDrift(t *testing.T) {
	s := subject(t, "-2*x", "1.5")
	deviation := 0.75
	for _, test := range []struct {
		m, r float64
		want Verdict
	}{{0, 1, Good}, {0, 1.05, Good}, {0, 1.25, Care}, {0, 0.75, Care}, {0, 2, Refused}, {0, 0.3, Refused}, {0.25, 1, Care}, {1, 1, Refused}} {
		c := s.Certify(normal(1<<16, test.m*deviation, math.Sqrt(test.r)*deviation, random.New(1, "certificate/linear")), 1)
		for name, want := range map[string]float64{
			"½(x−m)²": 1 - test.r, "x": -test.m * math.Sqrt(test.r), "mean": test.m, "variance": test.r - 1,
			"w2": math.Hypot(test.m, math.Sqrt(test.r)-1),
		} {
			if got := c.effect(t, name).Effect; math.Abs(got-want) > 0.02 {
				t.Errorf("m %g, r %g: effect of %s is %.4f, want %.4f", test.m, test.r, name, got, want)
			}
		}
		if c.Verdict != test.want || (len(c.Reasons) == 0) != (test.want == Good) || (c.Advice == "") != (test.want == Good) {
			t.Errorf("m %g, r %g: %s, %q, %q, want %s", test.m, test.r, c.Verdict, c.Reasons, c.Advice, test.want)
		}
	}
}

// z of a mean is normal under the law, so 1 in deviation; half as many independent draws make
// it smaller by √2.
func TestZ(t *testing.T) {
	s := subject(t, "x - x^3", "0.7")
	squares := map[string]float64{}
	const trials = 300
	for i := range trials {
		x := s.Law.draws(2000, random.New(2, "certificate/z", uint64(i)))
		c, half := s.Certify(x, 1), s.CertifyDependent(x, 1, 1000)
		for k, check := range c.Checks {
			if check.kind != beside && check.kind != moment {
				continue
			}
			squares[check.Name] += check.Z * check.Z / trials
			if got := half.Checks[k].Z; math.Abs(got*math.Sqrt2-check.Z) > 1e-9*math.Abs(check.Z) {
				t.Fatalf("%s: z %g of half as many draws, %g of all", check.Name, got, check.Z)
			}
		}
	}
	if len(squares) != 9 { // mean, variance, and the seven functions on the line
		t.Errorf("%d checks have a standard error", len(squares))
	}
	for name, square := range squares {
		if square < 0.75 || square > 1.3 { // the standard error is 0.08
			t.Errorf("%s: the mean square of z is %.3f", name, square)
		}
	}
}

// Samples of one well pass the generator test, which is local. The exact law shows it.
func TestOneWell(t *testing.T) {
	s := subject(t, "x - x^3", "0.3")
	x := s.Law.draws(1<<13, random.New(3, "certificate/well"))
	for i := range x {
		x[i] = float32(math.Abs(float64(x[i])))
	}
	if c := s.Certify(x, 1); c.Verdict != Refused || !c.effect(t, "x").Pass || !c.effect(t, "½(x−m)²").Pass {
		t.Errorf("one well: %s, %+v", c.Verdict, c.Checks)
	}
	s.Law = nil
	if c := s.Certify(x, 1); c.Verdict != Good {
		t.Errorf("one well without the law: %s, %q: the documentation says that it passes", c.Verdict, c.Reasons)
	}
}

// Without the law the generator test refuses what is far from it.
func TestGeneratorRefuses(t *testing.T) {
	rng := random.New(4, "certificate/refuses")
	for _, e := range [][2]string{{"-x", "3"}, {"x - x^3", "0.7"}, {"-2*(x-1)", "1"}} {
		s := subject(t, e[0], e[1])
		s.Law = nil
		if c := s.Certify(normal(4096, 0, 0.75, rng), 1); c.Verdict != Refused {
			t.Errorf("%s, %s: %s, %q", e[0], e[1], c.Verdict, c.Reasons)
		}
	}
}

// What cannot be judged, and what is broken.
func TestEdges(t *testing.T) {
	rng := random.New(5, "certificate/edges")
	line := subject(t, "-x", "1")
	root := subject(t, "-x", "1")
	root.Equation = Line{line.Equation.(Line).Drift, func(dst, x []float64) {
		for i, v := range x {
			dst[i] = math.Sqrt(v + 1)
		}
	}}
	root.Law = nil
	nan := append(normal(999, 0, math.Sqrt(0.5), rng), float32(math.NaN()))
	for _, test := range []struct {
		name    string
		subject Subject
		x       []float32
		want    Verdict
	}{
		{"few", line, normal(10, 9, 9, rng), NotJudged},
		{"one", line, []float32{400}, NotJudged},
		{"at a time", Subject{Grid: grid, Unlearned: math.NaN()}, normal(1000, 0, 1, rng), NotJudged},
		{"at a time, outside", Subject{Grid: grid, Unlearned: math.NaN()}, normal(1000, 0, 4, rng), Care},
		{"not finite", line, nan, Refused},
		{"not finite, at a time", Subject{Grid: grid, Unlearned: math.NaN()}, nan, Refused},
		{"one not finite", line, []float32{float32(math.Inf(1))}, Refused},
		{"equal", line, make([]float32, 100), Refused},
		{"no values", root, normal(1000, 0, 2, rng), Refused},
		{"doubt", Subject{Equation: line.Equation, Law: line.Law, Doubt: "no law", Unlearned: math.NaN()}, line.Law.draws(4096, rng), Care},
		{"unlearned", Subject{Equation: line.Equation, Law: line.Law, Unlearned: 0.5}, line.Law.draws(4096, rng), Care},
	} {
		c := test.subject.Certify(test.x, 1)
		if c.Verdict != test.want || (c.Warnings() == nil) != (c.Verdict == NotJudged) {
			t.Errorf("%s: %s, %q, %+v", test.name, c.Verdict, c.Warnings(), c.Checks)
		}
		if text, err := json.Marshal(c); err != nil || !strings.Contains(string(text), `"reasons":[`) || !strings.Contains(string(text), `"checks":[`) {
			t.Errorf("%s: %s, %v", test.name, text, err)
		}
	}
}

// Without samples, or without independent ones, there is nothing to judge.
func TestNothingToJudge(t *testing.T) {
	s := subject(t, "-x", "1")
	for _, c := range []Certificate{s.Certify(nil, 1), s.CertifyDependent(make([]float32, 100), 1, math.NaN()), s.CertifyDependent(make([]float32, 100), 1, 0)} {
		if c.Verdict != NotJudged || c.Checks == nil || c.Reasons == nil {
			t.Errorf("%+v", c)
		}
	}
}

// More samples than are looked at have the verdict of some.
func TestManySamples(t *testing.T) {
	s := subject(t, "-x", "1")
	x := s.Law.draws(3*mostJudged, random.New(7, "certificate/many"))
	c := s.Certify(x, 1)
	if c.Verdict != Good || math.Abs(c.effect(t, "mean").Z) > 5 {
		t.Errorf("%s, %+v", c.Verdict, c.Checks)
	}
	for i := range x {
		x[i] += 0.5
	}
	if c := s.Certify(x, 1); c.Verdict != Refused {
		t.Errorf("moved: %s", c.Verdict)
	}
}

// The table of a law has its quantiles and moments, however narrow it is.
func TestLaw(t *testing.T) {
	for _, deviation := range []float64{1, 0.1, 0.003} {
		b := func(dst, x []float64) {
			for i, v := range x {
				dst[i] = 0.7 - v
			}
		}
		sigma := func(dst, x []float64) {
			for i := range x {
				dst[i] = math.Sqrt2 * deviation
			}
		}
		_, line, err := Integrate(b, sigma, grid.Lo, grid.Hi)
		if err != nil {
			t.Fatal(err)
		}
		table := OfQuantiles(func(u float64) float64 { return 0.7 + deviation*math.Sqrt2*math.Erfinv(2*u-1) })
		for _, u := range []float64{1e-6, 0.001, 0.0203, 0.3, 0.5, 0.77, 0.999} {
			z := math.Sqrt2 * math.Erfinv(2*u-1)
			for name, l := range map[string]*Law{"line": line, "quantiles": table} {
				if got := (l.Quantile(u) - 0.7) / deviation; math.Abs(got-z) > 0.03 || u > 1e-3 && math.Abs(got-z) > 3e-3 {
					t.Errorf("%s, deviation %g: quantile at %g is %.5f, want %.5f", name, deviation, u, got, z)
				}
				if got := l.CDF(0.7 + deviation*z); math.Abs(got-u) > 2e-3*min(u, 1-u)+1e-5 {
					t.Errorf("%s, deviation %g: CDF is %.6f, want %.6f", name, deviation, got, u)
				}
			}
		}
		if math.Abs(table.Mean-0.7) > 1e-4*deviation || math.Abs(table.Variance/deviation/deviation-1) > 1e-3 {
			t.Errorf("quantiles, deviation %g: mean %g, variance %g", deviation, table.Mean, table.Variance)
		}
	}
}

// W2 of draws of the law is as large as chance says, of one well and of two.
func TestChance(t *testing.T) {
	for _, e := range equations[:4] {
		l := subject(t, e[0], e[1]).Law
		for _, n := range []int{100, 4096} {
			mean := 0.
			const trials = 200
			for i := range trials {
				_, square := l.from(rising(l.draws(n, random.New(6, "certificate/chance", uint64(i)))))
				mean += square / trials
			}
			if ratio := mean / l.chance(float64(n)); ratio < 0.75 || ratio > 1.33 {
				t.Errorf("%s, %s, %d draws: E W2² is %.3g times what chance says", e[0], e[1], n, ratio)
			}
		}
	}
}

func BenchmarkCertify(b *testing.B) {
	s := subject(b, "x - x^3", "0.7")
	x := s.Law.draws(4096, random.New(1, "certificate/benchmark"))
	for b.Loop() {
		s.Certify(x, 1)
	}
}

func BenchmarkIntegrate(b *testing.B) {
	drift, sigma := expressiontest.Line(b, "x - x^3", "0.7")
	for b.Loop() {
		if _, _, err := Integrate(drift.Eval, sigma.Eval, grid.Lo, grid.Hi); err != nil {
			b.Fatal(err)
		}
	}
}
