package family

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// example is a family of docs/families.
func example(t *testing.T, name string, replace ...string) Family {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs/families", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(replace...).Replace(string(text))
	if len(replace) > 0 && changed == string(text) {
		t.Fatalf("%s: nothing changed", name)
	}
	line, err := Resolve(changed, "../../../docs/families") // where a mixture has its components
	if err != nil {
		t.Fatal(err)
	}
	return defined(t, line)
}

// drawn are samples of the first functions: [functions, samples, dim].
func drawn(t *testing.T, f Family, functions, samples int, s simulate.Scheme) []float32 {
	t.Helper()
	x := make([]float32, functions*samples*f.Dim())
	if err := Sample(t.Context(), f, x, SampleSpec{Count: functions, Seed: 1, Scheme: s, Purpose: "test"}, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
	return x
}

// Every example can be read and simulated, and stays in its box.
func TestExamplesInSpace(t *testing.T) {
	long(t)
	files, err := filepath.Glob("../../../docs/families/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		f := example(t, name)
		box := f.(Spatial).Box()
		s := simulate.Scheme{DT: 0.002, BurnIn: 3000, Thin: 1, Chains: 64, Start: simulate.InBox}
		x := drawn(t, f, 8, 64, s)
		outside := 0
		for i, v := range x {
			if b := box[i%len(box)]; float64(v) < b.Lo || float64(v) > b.Hi {
				outside++
			}
		}
		if part := float64(outside) / float64(len(x)); part > 0.02 {
			t.Errorf("%s: %.1f %% of the coordinates are outside the box", name, 100*part)
		}
	}
}

// The chains of random linear equations have their exact covariance: that of Euler's scheme, which
// solves C = RCRᵀ + dt·SSᵀ, R = 1 − dt·M.
func TestOrnsteinUhlenbeckInSpace(t *testing.T) {
	long(t)
	const samples, dt = 20_000, 0.01
	f := example(t, "ornstein_uhlenbeck").(*spatial)
	x := drawn(t, f, 2, samples, simulate.Scheme{DT: dt, BurnIn: 1000, Thin: 200, Chains: 2000})
	d := f.Dim()
	for i := range 2 {
		values := f.draw(1, i)
		a, s := values["A"], values["s"]
		step, noise, m := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil), mat.NewDense(d, d, a)
		step.Mul(m, m.T())
		step.Add(step, m)
		step.Sub(step, m.T())
		step.Scale(-dt, step)
		for k := range d {
			step.Set(k, k, step.At(k, k)+1-dt)
			noise.Set(k, k, dt*s[k]*s[k])
		}
		want := mat.NewDense(d, d, nil)
		for range 3000 {
			var half mat.Dense
			half.Mul(step, want)
			want.Mul(&half, step.T())
			want.Add(want, noise)
		}
		states := x[i*samples*d:][:samples*d]
		for r := range d {
			for c := range d {
				got := 0.
				for at := 0; at < len(states); at += d {
					got += float64(states[at+r]) * float64(states[at+c]) / samples
				}
				w := want.At(r, c)
				if most := 6 * math.Sqrt((want.At(r, r)*want.At(c, c)+w*w)/samples); math.Abs(got-w) > most {
					t.Errorf("function %d: covariance %d, %d is %.4f, want %.4f ± %.4f", i, r, c, got, w, most)
				}
			}
		}
	}
}

// Laws exp(−U) of gradient systems have E x·∇U = dim, and velocities of Langevin dynamics have the
// temperature as their variance.
func TestEquipartition(t *testing.T) {
	long(t)
	scheme := simulate.Scheme{DT: 0.002, BurnIn: 5000, Thin: 1000, Chains: 512}
	const functions, samples = 2, 1024
	for _, name := range []string{"phi4", "logistic_posterior"} {
		f := example(t, name).(*spatial)
		x := drawn(t, f, functions, samples, scheme)
		d := f.Dim()
		for i := range functions {
			states := numbers64(x[i*samples*d:][:samples*d])
			function, err := f.Function(1, i)
			if err != nil {
				t.Fatal(err)
			}
			drift, _ := function.System.(sde.Space).Coefficients(states)
			mean := 0.
			for at, v := range states {
				mean -= v * drift[at] / samples
			}
			if math.Abs(mean/float64(d)-1) > 0.08 {
				t.Errorf("%s function %d: E x·∇U is %.3f, want %d", name, i, mean, d)
			}
		}
	}
	f := example(t, "langevin").(*spatial)
	x := drawn(t, f, functions, samples, scheme)
	for i := range functions {
		mean := 0.
		for at := i * samples * 16; at < (i+1)*samples*16; at++ {
			if at%16 >= 8 {
				mean += float64(x[at]) * float64(x[at]) / (samples * 8)
			}
		}
		if want := f.draw(1, i)["temperature"][0]; math.Abs(mean/want-1) > 0.07 {
			t.Errorf("function %d: the velocities' variance is %.3f, want the temperature %.3f", i, mean, want)
		}
	}
}

func numbers64(x []float32) []float64 {
	v := make([]float64, len(x))
	for i := range v {
		v[i] = float64(x[i])
	}
	return v
}

// Long averages of both of Lorenz's systems are the published ones: z has the mean 23.55 at the
// classical parameters, and a coordinate of the ring with force 8 the mean 2.3 and the deviation
// 3.6 (Lorenz and Emanuel 1998).
func TestLorenz(t *testing.T) {
	long(t)
	scheme := simulate.Scheme{DT: 0.001, BurnIn: 10_000, Thin: 500, Chains: 64, Start: "normal(5, 3)"}
	const samples = 64 * 20
	x := drawn(t, example(t, "lorenz63", "uniform(8, 12)", "uniform(10, 10.0001)", "uniform(24, 32)", "uniform(28, 28.0001)",
		"uniform(2.2, 3.2)", "uniform(2.6666, 2.6667)", "uniform(1, 3)", "uniform(0.01, 0.011)"), 1, samples, scheme)
	mean := 0.
	for at := 2; at < len(x); at += 3 {
		mean += float64(x[at]) / samples
	}
	if math.Abs(mean-23.55) > 0.7 {
		t.Errorf("the mean of z is %.2f, want 23.55", mean)
	}
	ring := drawn(t, example(t, "lorenz96", "uniform(6, 10)", "uniform(8, 8.0001)", "uniform(0.5, 2)", "uniform(0.01, 0.011)"), 1, samples, scheme)
	sum, square := 0., 0.
	for _, v := range ring {
		sum += float64(v) / float64(len(ring))
		square += float64(v) * float64(v) / float64(len(ring))
	}
	if deviation := math.Sqrt(square - sum*sum); math.Abs(sum-2.34) > 0.15 || math.Abs(deviation-3.64) > 0.15 {
		t.Errorf("mean %.3f and deviation %.3f, want 2.34 and 3.64", sum, deviation)
	}
}

// A family keeps its name, its functions and the values of its parameters.
func TestSpatialIdentity(t *testing.T) {
	f := example(t, "ornstein_uhlenbeck").(*spatial)
	again, err := ByName(mustLoad(t, "ornstein_uhlenbeck").String())
	if err != nil || again.Name() != f.Name() || !strings.HasPrefix(f.Name(), "ornstein_uhlenbeck_") {
		t.Fatalf("%v, %v", again, err)
	}
	a, b := f.draw(3, 7), again.(*spatial).draw(3, 7)
	if !slices.Equal(a["A"], b["A"]) || len(a["A"]) != 100 || len(a["s"]) != 10 {
		t.Error("the parameters differ")
	}
	changed := example(t, "ornstein_uhlenbeck", "drift: -x - ", "drift: -2*x - ").(*spatial)
	if changed.Name() == f.Name() || !slices.Equal(changed.draw(3, 7)["A"], a["A"]) {
		t.Error("another formula must make another family with the same parameters")
	}
	if len(f.Fields()) != 0 || f.Dim() != 10 || f.Terms() != 10 {
		t.Errorf("%d fields, %d dimensions, %d terms", len(f.Fields()), f.Dim(), f.Terms())
	}
}

func mustLoad(t *testing.T, name string) Definition {
	t.Helper()
	d, err := Load(filepath.Join("../../../docs/families", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSpatialRefusals(t *testing.T) {
	good := "name: a\ndim: 3\nbox: [-4, 4]\nparameters: {k: \"uniform(1, 2)\"}\ndrift: -k*x\ndiffusion: 1\n"
	defined(t, good)
	for _, c := range []struct{ name, from, to, want string }{
		{"no box", "box: [-4, 4]\n", "", "with a box"},
		{"grid and box", "dim: 3", "dim: 1\ngrid: {lo: -4, hi: 4, nodes: 64}", "a grid and a box"},
		{"dimensions", "dim: 3", "dim: 65", "dim is 65: must be from 1 to 64"},
		{"no dimension", "dim: 3", "dim: 0", "dim is 0"},
		{"empty box", "[-4, 4]", "[4, 4]", "want a bounded interval"},
		{"turned box", "[-4, 4]", "[4, -4]", "want a bounded interval"},
		{"infinite box", "[-4, 4]", "[-4, .inf]", "want a bounded interval"},
		{"wrong boxes", "[-4, 4]", "[[-4, 4], [-4, 4]]", "box has 2 intervals in 3 dimensions"},
		{"box of three", "[-4, 4]", "[1, 2, 3]", "want [lo, hi]"},
		{"text box", "[-4, 4]", "wide", "want [lo, hi]"},
		{"domain", "box:", "domain: (0, inf)\nbox:", "domain"},
		{"field", "uniform(1, 2)", "field(1, 2)", "parameters.k"},
		{"shape", "uniform(1, 2)", "tensor(uniform(1, 2))", "vector(…) or matrix(…)"},
		{"shape of nothing", "uniform(1, 2)", "matrix()", "vector(…) or matrix(…)"},
		{"idle", "-k*x", "-x", "parameters.k: no formula uses it"},
		{"syntax", "-k*x", "-k*x[3]", "drift: cannot read the formula: there is no component 3"},
		{"count", "-k*x", "[x0, x1]", "drift: cannot read the formula: it has 2 components in 3 dimensions"},
		{"pole", "-k*x", "\"-k*x/(x0 > 0 ? 0 : 1)\"", "not finite"},
		{"no noise", "diffusion: 1", "diffusion: 0", "its diffusion is 0 everywhere"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	pole := strings.Replace(good, "-k*x", "\"-k*x/(x0 > 0 ? 0 : 1)\"", 1)
	if _, err := Parse([]byte(pole)); !errors.Is(err, ErrNoEquation) || !errors.Is(err, sde.ErrNotFinite) || !strings.Contains(err.Error(), "function 0 with k = ") {
		t.Error(err)
	}
}
