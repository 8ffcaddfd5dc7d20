package request

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// The law of formulas may leave the grid, have no moments, or not exist; a table may have
// another law than its formulas. The right values are in closed form or by quadrature
// (density.TestLine).
func TestLawOfFormulas(t *testing.T) {
	e := loadSet(t, "vn1d")
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		drift, diffusion string
		want             []string // parts of the warnings about the law
	}{
		{"-x", "1", nil},
		{"x - x^3", "0.7", nil},
		{"-0.05*x", "1.5", []string{"29 % of the invariant law is outside the model's grid, -5…5: there the model keeps the values at the ends, and `simulate` takes the formulas, so the samples may be wrong (by quadrature mean 0 and variance 46.45 of the table, mean 0 and variance 22.5 of the formulas)"}},
		{"-(x-4.9)", "0.3", []string{"32 % of the invariant law is outside", "mean 4.9 and variance 0.045 of the formulas"}},
		{"-x/(1+x^2)", "1", []string{"13 % of the invariant law is outside", "no mean of the formulas", "the invariant law has no mean and no variance, since its density falls as |x|^-2: "}},
		{"-1.4*x/(1+x^2)", "1", []string{"no variance of the formulas", "the invariant law has no variance, since its density falls as |x|^-2.8: "}},
		{"-2.5*x/(1+x^2)", "1", nil}, // Student's law: 0.1 % outside, and variance 1/2
		{"-0.5*x/(1+x^2)", "1", []string{"the formulas have no invariant law on the whole line (", "no faster than 1/|x| "}},
		{"-x + 0.01*x^3", "1", []string{"the formulas have no invariant law on the whole line"}},
		{"-x", "0.02 + abs(x-0.0123)", []string{"the law of this table differs from that of the formulas (Kolmogorov–Smirnov distance 0."}},
	} {
		target, err := Request{Drift: []string{test.drift}, Diffusion: []string{test.diffusion}}.Resolve(t.Context(), e, f, nil)
		if err != nil {
			t.Errorf("%s, %s: %v", test.drift, test.diffusion, err)
			continue
		}
		var about []string
		for _, w := range target.Warnings {
			if strings.Contains(w, "law") {
				about = append(about, w)
			}
		}
		got := strings.Join(about, "\n")
		for _, part := range test.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s, %s: %q lacks %q", test.drift, test.diffusion, got, part)
			}
		}
		if (got == "") != (len(test.want) == 0) {
			t.Errorf("%s, %s: %q", test.drift, test.diffusion, got)
		}
	}
}

// Samples of a numbered function are judged, too: draws of its own law pass, those of
// another do not.
func TestJudgeFunctions(t *testing.T) {
	for _, name := range []string{"vn1d", "rare1d"} {
		e := loadSet(t, name)
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			target, err := Request{Function: i}.Resolve(t.Context(), e, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			exact, err := f.(family.KnownLaw).Law(e.Data.Seed, i)
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, 4096)
			exact.Sample(x, rand.New(rand.NewPCG(1, 2)))
			if got := target.Judge(x); len(got) > 0 {
				t.Errorf("%s function %d: %q", name, i, got)
			}
			for k := range x {
				x[k] += 2
			}
			if got := target.Judge(x); len(got) != 1 {
				t.Errorf("%s function %d, shifted: %q", name, i, got)
			}
		}
	}
	e := loadSet(t, "particles64d") // nothing is known
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	target, err := Request{Function: 1}.Resolve(t.Context(), e, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := target.Judge(make([]float32, 640)); len(got) > 0 {
		t.Errorf("particles: %q", got)
	}
}

// Samples are judged by the exact law on the line. In the plane they are judged by the
// grid, and by what the equation would do to their moments.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int, mean, std float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + std*rng.NormFloat64())
		}
		return x
	}
	std := math.Sqrt(0.5) // of -x, 1
	for _, test := range []struct {
		name             string
		experiment       string
		drift, diffusion []string
		samples          []float32
		want             string
	}{
		{"right", "vn1d", []string{"-x"}, []string{"1"}, normal(4096, 0, std), ""},
		{"few", "vn1d", []string{"-x"}, []string{"1"}, normal(5, 0.5, std), ""},
		{"wide", "vn1d", []string{"-x"}, []string{"1"}, normal(4096, 0, 2*std), "the samples do not have the invariant law, with mean 0 and variance 0.5 by quadrature: their distribution function differs by up to 0.1"},
		{"elsewhere", "vn1d", []string{"-(x-4.9)"}, []string{"0.3"}, normal(4096, 2.32, 0.2), "the samples do not have the invariant law, with mean 4.9 and variance 0.045 by quadrature: their distribution function differs by up to 1 "},
		{"one", "vn1d", []string{"-x"}, []string{"1"}, []float32{400}, ""},
		{"at a time", "vn1d_time", []string{"-x"}, []string{"1"}, normal(4096, 0, 9), " % of the samples are outside the model's grid, -5…5, "},
		{"plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 0, 1), ""},
		{"two points", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, []float32{0.1, 0.2, -0.3, 4.9}, ""},
		{"too narrow in the plane", "cn2d", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, normal(4096, 0, 0.7), "the samples do not have the invariant law: drift and diffusion would change their mean "},
		{"rightly turned", "cn2d", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, normal(4096, 0, 1), ""},
		{"shifted in the plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 0.5, 1), "the samples do not have the invariant law: drift and diffusion would change their mean "},
		{"out of the plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 777, 2900), "100 % of the samples are outside the model's grid, -5…5, where it keeps the values at the ends"},
	} {
		e := loadSet(t, test.experiment)
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		target, err := Request{Drift: test.drift, Diffusion: test.diffusion}.Resolve(t.Context(), e, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(target.Judge(test.samples), "\n"); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
