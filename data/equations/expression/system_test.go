package expression

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// evaluated are drift and diffusion of a system at states, [states, Dim] each.
func evaluated(t *testing.T, s *System, engine string, values map[string][]float64, states [][]float64) (drift, diffusion [][]float64) {
	t.Helper()
	x := make([]*block, s.Dim)
	for k := range x {
		x[k] = new(block)
		for l, state := range states {
			x[k][l] = state[k]
		}
	}
	evaluate, b, sigma := bound(t, s, values).Bind(engine, x)
	evaluate(len(states))
	at := func(blocks []*block, l int) (v []float64) {
		for _, block := range blocks {
			v = append(v, block[l])
		}
		return v
	}
	for l := range states {
		drift, diffusion = append(drift, at(b, l)), append(diffusion, at(sigma, l))
	}
	return drift, diffusion
}

// bound is a system with its parameters.
func bound(t testing.TB, s *System, values map[string][]float64) sde.Space {
	t.Helper()
	space, err := s.Space(slices.Repeat([]sde.Interval{{Lo: -1, Hi: 1}}, s.Dim), values)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

func random(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// Each way to write a system gives what Go computes, at every state and with every engine.
func TestSystem(t *testing.T) {
	const d = 5
	lorenz := func(x []float64, p map[string][]float64) (b []float64) {
		for i := range x {
			b = append(b, (x[(i+1)%d]-x[(i+d-2)%d])*x[(i+d-1)%d]-x[i]+p["force"][0])
		}
		return b
	}
	linear := func(x []float64, p map[string][]float64) (b []float64) {
		for i := range d {
			sum := 0.
			for j := range d {
				sum += p["A"][i*d+j] * x[j]
			}
			b = append(b, -sum)
		}
		return b
	}
	kuramoto := func(x []float64, p map[string][]float64) (b []float64) {
		for i := range x {
			sum := 0.
			for j := range x {
				sum += math.Sin(x[j] - x[i])
			}
			b = append(b, p["omega"][i]+p["force"][0]/d*sum)
		}
		return b
	}
	chain := func(x []float64, _ map[string][]float64) (b []float64) {
		for i := range x {
			v := -math.Pow(x[i], 3)
			if i > 0 {
				v += x[i-1] - x[i]
			}
			if i < d-1 {
				v += x[i+1] - x[i]
			}
			b = append(b, v)
		}
		return b
	}
	radial := func(x []float64, _ map[string][]float64) (b []float64) {
		squares := 0.
		for _, v := range x {
			squares += v * v
		}
		for _, v := range x {
			b = append(b, -v*math.Sqrt(squares)+x[0]*squares)
		}
		return b
	}
	ones := func(int) float64 { return 1 }
	for _, test := range []struct {
		name             string
		drift, diffusion []string
		want             func(x []float64, p map[string][]float64) []float64
		terms            int
		sigma            func(k int) float64 // entry k at x = 0
	}{
		{"a ring", []string{"(x[(i+1) % dim] - x[(i-2) % dim])*x[(i-1) % dim] - x[i] + force"}, []string{"1"}, lorenz, 1, ones},
		{"a matrix and a component", []string{"-(A*x)[i]"}, []string{"1"}, linear, 1, ones},
		{"a matrix", []string{"-A*x"}, []string{"1"}, linear, 1, ones},
		{"its rows", []string{"-dot(A[i], x)"}, []string{"1"}, linear, 1, ones},
		{"a loop over both indices", []string{"-sum(j, A[i][j]*x[j])"}, []string{"1"}, linear, 1, ones},
		{"a loop of vectors", []string{"-sum(j, transpose(A)[j]*x[j])"}, []string{"1"}, linear, 1, ones},
		{"pairs", []string{"omega[i] + force/dim*sum(sin(x - x[i]))"}, []string{"1"}, kuramoto, 1, ones},
		{"pairs in a loop", []string{"omega[i] + force/dim*sum(j, sin(x[j] - x[i]))"}, []string{"1"}, kuramoto, 1, ones},
		{"a branch by the component", []string{"-x[i]^3 + (i > 0 ? x[i-1] - x[i] : 0) + (i < dim-1 ? x[i+1] - x[i] : 0)"}, []string{"1"}, chain, 1, ones},
		{"norms", []string{"-x*norm(x) + x0*dot(x, x)"}, []string{"1"}, radial, 1, ones},
		{"one formula each", []string{"-x0*norm(x) + x0*sum(x^2)", "-x1*norm(x) + x0*sum(x^2)", "-x2*norm(x) + x0*sum(x^2)", "-x[3]*norm(x) + x[0]*sum(x^2)", "-x[i]*norm(x) + x[0]*sum(x^2)"},
			[]string{"1"}, radial, 1, ones},
		{"a diagonal", []string{"-A*x"}, []string{"1 + i"}, linear, d, func(k int) float64 { return 1 + float64(k) }},
		{"a vector of noise", []string{"-A*x"}, []string{"exp(x)"}, linear, d, ones},
		{"a full matrix of noise", []string{"-A*x"}, []string{"2*A + 0"}, linear, d * d, nil},
	} {
		values := map[string][]float64{"A": random(d*d, 1), "omega": random(d, 2), "force": {8}}
		shapes := map[string]Shape{"A": Matrix, "omega": Vector, "force": Number}
		s, err := CompileSystem(d, test.drift, test.diffusion, shapes)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if s.Terms != test.terms {
			t.Errorf("%s: %d terms of diffusion, want %d", test.name, s.Terms, test.terms)
		}
		states := [][]float64{make([]float64, d)}
		for l := range 40 {
			states = append(states, random(d, uint64(10+l)))
		}
		var first [][]float64
		for _, engine := range Engines() {
			drift, diffusion := evaluated(t, s, engine, values, states)
			for l, x := range states {
				want := test.want(x, values)
				for i, v := range drift[l] {
					if math.Abs(v-want[i]) > 1e-12*(1+math.Abs(want[i])) {
						t.Errorf("%s: component %d is %v, want %v", test.name, i, v, want[i])
					}
				}
			}
			for k, v := range diffusion[0] {
				want := 2 * values["A"][k%(d*d)]
				if test.sigma != nil {
					want = test.sigma(k)
				}
				if v != want {
					t.Errorf("%s: entry %d of the diffusion is %v, want %v", test.name, k, v, want)
				}
			}
			if all := slices.Concat(drift, diffusion); first == nil {
				first = all
			} else if fmt.Sprint(all) != fmt.Sprint(first) {
				t.Errorf("%s: %s and %s differ", test.name, engine, Engines()[0])
			}
		}
	}
}

// What a parameter alone decides is computed once, when the system is bound.
func TestSystemComputesParametersOnce(t *testing.T) {
	s, err := CompileSystem(3, []string{"-(transpose(A)*A*x)[i]*exp(c)"}, []string{"sqrt(2*c)"}, map[string]Shape{"A": Matrix, "c": Number})
	if err != nil {
		t.Fatal(err)
	}
	if at, once := len(s.program.code), len(s.program.once); at > 3*3+3*2+2*3 || once < 3*3*5 {
		t.Errorf("%d operations at every state, and %d once", at, once)
	}
	if !s.Uses("A") || !s.Uses("c") || s.Uses("b") {
		t.Error("it does not know its parameters")
	}
}

// The drift of an oscillator is its other coordinate: it must not be the block of that, which a
// step changes.
func TestDriftIsNoState(t *testing.T) {
	s, err := CompileSystem(2, []string{"x1", "-x0"}, []string{"0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := []*block{new(block), new(block)}
	evaluate, drift, _ := bound(t, s, nil).Bind("go", x)
	x[0][0], x[1][0] = 3, 4
	evaluate(1)
	x[0][0], x[1][0] = 5, 6
	if drift[0][0] != 4 || drift[1][0] != -3 {
		t.Errorf("the drift is %v, %v", drift[0][0], drift[1][0])
	}
}

// What cannot be read says so, and where.
func TestSystemErrors(t *testing.T) {
	shapes := map[string]Shape{"A": Matrix, "v": Vector, "c": Number}
	for formula, want := range map[string]string{
		"x[3]":               "no component 3",
		"x[i+1]":             "no component 3",
		"x[-1]":              "no component -1",
		"x[0.5]":             "whole number",
		"x[x0]":              "does not depend on the state",
		"c[0]":               "no components",
		"A":                  "9 components",
		"c*x0":               "1 components",
		"A + x":              "in common",
		"norm(A)":            "vector",
		"dot(x, c)":          "two vectors",
		"sum(c)":             "needs a vector",
		"sum(x, x)":          "meaning already",
		"sum(2, x)":          "counts the components",
		"y + x":              "unknown name y",
		"sin":                "needs arguments",
		"sum":                "needs arguments",
		"sin(x, x)":          "2 arguments",
		"foo(x)":             "not a function",
		"x > 0":              "condition",
		"x > 0 ? x : -x":     "one condition",
		"1 < 2 ? x : x > 0)": "unexpected",
		"x // 2":             "no comments",
		"":                   "empty",
		"let y = x; y":       "may not contain",
		"'text'":             "may not contain",
		"[1, 2, 3]":          "may not contain",
		"x.y":                "",
		"x[0:2]":             "may not contain",
		"sum(a, sum(b, sum(c0, sum(d, sum(f, sum(g, sum(h, sum(k, sum(l, sum(m, sum(n, sum(o, sum(p, sum(q, x))))))))))))))": "too large",
	} {
		if testing.Short() && want == "too large" { // half a minute under the race detector
			continue
		}
		_, err := CompileSystem(3, []string{formula}, []string{"1"}, shapes)
		if !errors.Is(err, ErrSyntax) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", formula, err, want)
		}
	}
	for _, name := range []string{"x", "x2", "i", "dim", "sum", "sin", "2a", "and"} {
		if _, err := CompileSystem(3, []string{"-x"}, []string{"1"}, map[string]Shape{name: Number}); !errors.Is(err, ErrSyntax) {
			t.Errorf("the parameter %s: %v", name, err)
		}
	}
	for _, diffusion := range [][]string{{"1", "2"}, {}, {"1", "1", "1", "1"}, {"A*A*A*A > 0"}} {
		if _, err := CompileSystem(3, []string{"-x"}, diffusion, shapes); err == nil {
			t.Errorf("the diffusion %v was taken", diffusion)
		}
	}
	for _, dim := range []int{0, -1, 65} {
		if _, err := CompileSystem(dim, []string{"-x"}, []string{"1"}, nil); err == nil {
			t.Errorf("%d coordinates were taken", dim)
		}
	}
}

// FuzzSystem: whatever is read can be evaluated.
func FuzzSystem(f *testing.F) {
	for _, formula := range []string{"-(A*x)[i]", "sum(j, x[j]*x[i])", "i == 0 ? x[0] : x[i-1]", "max(x, v)", "x[(i-1)%dim]"} {
		f.Add(formula, "1")
	}
	shapes := map[string]Shape{"A": Matrix, "v": Vector}
	f.Fuzz(func(t *testing.T, drift, diffusion string) {
		s, err := CompileSystem(3, []string{drift}, []string{diffusion}, shapes)
		if err == nil {
			evaluated(t, s, "go", map[string][]float64{"A": random(9, 1), "v": random(3, 2)}, [][]float64{random(3, 3)})
		}
	})
}

func BenchmarkSystem(b *testing.B) {
	for _, dim := range []int{10, 64} {
		s, err := CompileSystem(dim, []string{"-(A*x)[i]"}, []string{"1"}, map[string]Shape{"A": Matrix})
		if err != nil {
			b.Fatal(err)
		}
		x := make([]*block, dim)
		for k := range x {
			x[k] = new(block)
		}
		evaluate, _, _ := bound(b, s, map[string][]float64{"A": random(dim*dim, 1)}).Bind("", x)
		b.Run(fmt.Sprint(dim), func(b *testing.B) {
			for b.Loop() {
				evaluate(Lanes)
			}
		})
	}
}
