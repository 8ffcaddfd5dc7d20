package request

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
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
			if strings.Contains(w, "law") && !strings.Contains(w, "training set") {
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

// Samples of a numbered function are judged, too: draws of its own law are good, those of
// another are not.
func TestCertifyFunctions(t *testing.T) {
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
			if got := target.Certify(x); got.Verdict != certificate.Good {
				t.Errorf("%s function %d: %s, %q", name, i, got.Verdict, got.Reasons)
			}
			mean, variance, ok := target.Exact()
			var have, square float64
			for _, v := range x {
				have += float64(v) / 4096
				square += (float64(v) - mean) * (float64(v) - mean) / 4096
			}
			if !ok || math.Abs(have-mean) > 0.08*math.Sqrt(variance) || math.Abs(square/variance-1) > 0.15 {
				t.Errorf("%s function %d: mean %g and variance %g, %v, of draws %g and %g", name, i, mean, variance, ok, have, square)
			}
			for k := range x {
				x[k] += 2
			}
			if got := target.Certify(x); got.Verdict != certificate.Refused {
				t.Errorf("%s function %d, shifted: %s, %q", name, i, got.Verdict, got.Reasons)
			}
		}
	}
	e := loadSet(t, "particles64d")
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	target, err := Request{Function: 1}.Resolve(t.Context(), e, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := target.Certify(make([]float32, 640)); got.Verdict != certificate.NotJudged { // ten states
		t.Errorf("ten states of particles: %s", got.Verdict)
	}
	if got := target.Certify(make([]float32, 6400)); got.Verdict != certificate.Refused {
		t.Errorf("particles in one point: %s, %q", got.Verdict, got.Reasons)
	}
}

// Samples are judged by the exact law on the line. In the plane they are judged by the
// grid, and by what the equation would do to their means.
func TestCertify(t *testing.T) {
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
		want             certificate.Verdict
		words            string // of a reason
	}{
		{"right", "vn1d", []string{"-x"}, []string{"1"}, normal(4096, 0, std), certificate.Good, ""},
		{"few", "vn1d", []string{"-x"}, []string{"1"}, normal(5, 0.5, std), certificate.NotJudged, ""},
		{"wide", "vn1d", []string{"-x"}, []string{"1"}, normal(4096, 0, 2*std), certificate.Refused, "the law's is 0.5"},
		{"elsewhere", "vn1d", []string{"-(x-4.9)"}, []string{"0.3"}, normal(4096, 2.32, 0.2), certificate.Refused, "the law's is 4.9"},
		{"outside", "vn1d", []string{"-(x-4.9)"}, []string{"0.3"}, normal(4096, 4.9, 0.3/math.Sqrt2), certificate.Care, "32 % of the law is outside the model's grid, -5…5"},
		{"no law on the line", "vn1d", []string{"-x + 0.01*x^3"}, []string{"1"}, normal(4096, 0, std), certificate.Care, "no invariant law on the whole line"},
		{"no moments", "vn1d", []string{"-x/(1+x^2)"}, []string{"1"}, normal(4096, 0, 1), certificate.Care, "distribution function"},
		{"one", "vn1d", []string{"-x"}, []string{"1"}, []float32{400}, certificate.NotJudged, ""},
		{"at a time", "vn1d_time", []string{"-x"}, []string{"1"}, normal(4096, 0, 9), certificate.Care, " % of the samples are outside the model's grid, -5…5, "},
		{"plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 0, 1), certificate.Good, ""},
		{"two points", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, []float32{0.1, 0.2, -0.3, 4.9}, certificate.NotJudged, ""},
		{"too narrow in the plane", "cn2d", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, normal(4096, 0, 0.7), certificate.Refused, "drift and diffusion would change the samples' mean of "},
		{"rightly turned", "cn2d", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, normal(4096, 0, 1), certificate.Good, ""},
		{"shifted in the plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 0.3, 1), certificate.Refused, "drift and diffusion would change the samples' mean of "},
		{"shifted a little", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 0.15, 1), certificate.Care, "by the Fokker–Planck equation "},
		{"out of the plane", "cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, normal(4096, 777, 2900), certificate.Refused, "100 % of the samples are outside the model's grid, -5…5"},
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
		got := target.Certify(test.samples)
		if reasons := strings.Join(got.Reasons, "\n"); got.Verdict != test.want || !strings.Contains(reasons, test.words) || (reasons == "") != (test.words == "") {
			t.Errorf("%s: %s, %q, want %s, %q", test.name, got.Verdict, got.Reasons, test.want, test.words)
		}
	}
}
