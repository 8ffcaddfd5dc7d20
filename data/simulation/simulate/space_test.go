package simulate_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// stationary is the covariance of x ← (1 − a·dt)x + √dt·S·z, by iteration.
func stationary(a, spread []float64, dim int, dt float64) []float64 {
	step := make([]float64, dim*dim)
	for i := range step {
		step[i] = -a[i] * dt
		if i%(dim+1) == 0 {
			step[i]++
		}
	}
	product := func(p, q []float64, turned bool) []float64 {
		r := make([]float64, dim*dim)
		for i := range dim {
			for j := range dim {
				for k := range dim {
					if turned {
						r[i*dim+j] += p[i*dim+k] * q[j*dim+k]
					} else {
						r[i*dim+j] += p[i*dim+k] * q[k*dim+j]
					}
				}
			}
		}
		return r
	}
	c := make([]float64, dim*dim)
	for range 100_000 {
		c = product(step, product(c, step, true), false)
		for i := range c {
			c[i] += spread[i] * dt
		}
	}
	return c
}

// Chains that start in the box of their equation are uniform in its middle half, as with that law by
// name. Equations without a box have no such start.
func TestStartInBox(t *testing.T) {
	s := expressiontest.Space(t, 2, "-x", "1")
	s.Box = []sde.Interval{{Lo: -2, Hi: 6}, {Lo: 10, Hi: 11}}
	scheme := simulate.Scheme{DT: 0.01, Thin: 1, Chains: 256, Start: simulate.InBox}
	starts := func(start simulate.Start, system sde.System, dim int) ([]float32, error) {
		scheme.Start = start
		x := make([]float32, scheme.Chains*dim)
		err := simulate.Fastest().Simulate(t.Context(), x, simulate.Batch{
			Count: 1, System: func(int) (sde.System, error) { return system, nil }, Scheme: scheme, Seed: 1, Purpose: "test",
		}, nil)
		return x, err
	}
	x, err := starts(simulate.InBox, s, 2)
	if err != nil {
		t.Fatal(err)
	}
	same, err := starts("uniform(0, 4); uniform(10.25, 10.75)", s, 2)
	if err != nil || !slices.Equal(x, same) {
		t.Errorf("%v, not as from the uniform laws: %v", err, x[:4])
	}
	if lo, hi := slices.Min(x), slices.Max(x); !(lo >= 0 && lo < 0.1 && hi > 10.7 && hi <= 10.75) {
		t.Errorf("starts from %g to %g", lo, hi)
	}
	line := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 2}, Drift: []float32{1, -1}, Diffusion: []float32{1, 1}}
	if _, err := starts(simulate.InBox, line, 1); err == nil || !strings.Contains(err.Error(), "without a grid") {
		t.Errorf("a line: %v", err)
	}
}

// A linear equation has a Gaussian law, also for steps of a size: chains have its covariance, with
// each kind of diffusion.
func TestSpaceHasTheLaw(t *testing.T) {
	const dim, dt, chains, perChain = 3, 0.05, 2048, 20
	a := []float64{1, 0.5, 0, -0.5, 1.5, 0, 0.3, 0, 2}
	const drift = "i == 0 ? -x0 - 0.5*x1 : (i == 1 ? 0.5*x0 - 1.5*x1 : -0.3*x0 - 2*x2)"
	for diffusion, terms := range map[string][]float64{
		"0.7":   {0.7},
		"1 + i": {1, 2, 3},
	} {
		s := expressiontest.Space(t, dim, drift, diffusion)
		want := stationary(a, sde.Spread(terms, dim), dim, dt)
		compareCovariance(t, diffusion, s, want, dt, chains, perChain)
	}
	full := []float64{1, 0.5, 0, 0, 0.3, 0.2, 0.9, 0, 0.1}
	s, err := expression.CompileSystem(dim, []string{drift}, []string{"M"}, map[string]expression.Shape{"M": expression.Matrix})
	if err != nil {
		t.Fatal(err)
	}
	system, err := s.Space(slices.Repeat([]sde.Interval{{Lo: -4, Hi: 4}}, dim), map[string][]float64{"M": full})
	if err != nil {
		t.Fatal(err)
	}
	compareCovariance(t, "a full matrix", system, stationary(a, sde.Spread(full, dim), dim, dt), dt, chains, perChain)
}

func compareCovariance(t *testing.T, name string, s sde.Space, want []float64, dt float64, chains, perChain int) {
	t.Helper()
	dim, n := s.Dim(), chains*perChain
	x := make([]float32, n*dim)
	scheme := simulate.Scheme{DT: dt, BurnIn: 200, Thin: 60, Chains: chains}
	if err := simulate.Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	for i := range dim {
		for j := range i + 1 {
			sum := 0.
			for at := 0; at < len(x); at += dim {
				sum += float64(x[at+i]) * float64(x[at+j]) / float64(n)
			}
			w := want[i*dim+j]
			// Five deviations of the mean of products of Gaussian numbers.
			if most := 5 * math.Sqrt((want[i*dim+i]*want[j*dim+j]+w*w)/float64(n)); math.Abs(sum-w) > most {
				t.Errorf("%s: covariance %d, %d is %.4f, want %.4f ± %.4f", name, i, j, sum, w, most)
			}
		}
	}
}

// A sample depends on neither the engine nor the number of chains beside it, and goes on from where
// it was.
func TestSpaceIsTheSameEverywhere(t *testing.T) {
	const dim = 20 // more than a window of normals
	s := expressiontest.Space(t, dim, "(x[(i+1) % dim] - x[(i-2) % dim])*x[(i-1) % dim] - x[i] + 8", "1 + 0.1*cos(x[i])")
	scheme := simulate.Scheme{DT: 0.005, BurnIn: 50, Thin: 3, Chains: 70, Start: "normal(8, 0.1)"}
	var want []float32
	for _, name := range simulate.Engines() {
		e, err := simulate.NewEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 2*scheme.Chains*dim)
		if err := e.Chains(t.Context(), got, s, scheme, 7, 3, "test"); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%s gives other samples", name)
		}
	}
	few := scheme
	few.Chains = 3
	got := make([]float32, 2*few.Chains*dim)
	if err := simulate.Fastest().Chains(t.Context(), got, s, few, 7, 3, "test"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want[:len(got)]) {
		t.Error("three chains are not the first three of seventy")
	}
	starts := make([]float32, 70*dim)
	for i := range starts {
		starts[i] = 8 + float32(i%7)/10
	}
	moved := slices.Clone(starts)
	if err := simulate.Fastest().Continue(t.Context(), moved, s, 0.005, 10, 7, 3, "test"); err != nil {
		t.Fatal(err)
	}
	part := slices.Clone(starts[:5*dim])
	if err := simulate.Fastest().Continue(t.Context(), part, s, 0.005, 10, 7, 3, "test"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(part, moved[:len(part)]) || slices.Equal(part, starts[:len(part)]) {
		t.Error("chains that go on depend on those beside them")
	}
}

// A chain that leaves for good ends the simulation, and says where.
func TestSpaceDiverges(t *testing.T) {
	for drift, want := range map[string]string{
		"x[i]^3":          "coordinate",
		"log(x[i] - 100)": "component 0 of the drift is NaN",
	} {
		err := simulate.Fastest().Chains(t.Context(), make([]float32, 2*10), expressiontest.Space(t, 2, drift, "1"),
			simulate.Scheme{DT: 0.1, BurnIn: 1000, Thin: 1, Chains: 10}, 1, 5, "test")
		var diverged *simulate.DivergedError
		if !errors.Is(err, simulate.ErrDiverged) || !errors.As(err, &diverged) || diverged.Function != 5 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", drift, err)
		}
	}
	bad := simulate.Scheme{DT: 0.1, Thin: 1, Chains: 1, Start: "normal(0, 1); normal(0, 1); normal(0, 1)"}
	if err := simulate.Fastest().Chains(t.Context(), make([]float32, 2), expressiontest.Space(t, 2, "-x", "1"), bad, 1, 0, "test"); err == nil {
		t.Error("three laws of a start were taken in two dimensions")
	}
}

// BenchmarkSpace takes steps of 64 chains of Lorenz's ring of 40 coordinates.
func BenchmarkSpace(b *testing.B) {
	const dim, steps = 40, 100
	s := expressiontest.Space(b, dim, "(x[(i+1) % dim] - x[(i-2) % dim])*x[(i-1) % dim] - x[i] + 8", "1")
	x := make([]float32, 64*dim)
	b.ReportMetric(0, "ns/op")
	for b.Loop() {
		scheme := simulate.Scheme{DT: 0.001, BurnIn: steps, Thin: 1, Chains: 64}
		if err := simulate.Fastest().Chains(b.Context(), x, s, scheme, 1, 0, "bench"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps/64, "ns/step")
}
