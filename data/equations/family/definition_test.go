package family

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

const doubleWell = `
# A well or two.
name: double_well
dim: 1
grid: {lo: -4, hi: 4, nodes: 64}
parameters:
  a: uniform(0.5, 2)
  b: normal(0, 1)
drift: a*x - x^3 + b
diffusion: 1 + 0.2*cos(x)
`

const vortex = `
name: vortex
dim: 2
grid: {lo: -3, hi: 3, nodes: 24}
parameters:
  omega: uniform(-2, 2)
  s: uniform(0.5, 1.5)
  bumps: field(0.8, 0.5)
drift: ["-x - omega*y + bumps", "-y + omega*x"]
diffusion: ["s", "1 + 0.1*x^2"]
`

func defined(t *testing.T, text string) Family {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Family()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The coefficients at the nodes are the formulas', with the parameters in their
// ranges: a from b(1) − b(−1) = 2a − 2, b from b(0) = b, as the nodes allow.
func TestDefinedLine(t *testing.T) {
	f := defined(t, doubleWell)
	if f.Dim() != 1 || len(f.Fields()) != 2 || f.Fields()[0].Shape[0] != 64 {
		t.Fatalf("dimension %d, fields %v", f.Dim(), f.Fields())
	}
	const n = 2000
	var meanA, squareB, meanB float64
	for i := range n {
		function, err := f.Function(5, i)
		if err != nil {
			t.Fatal(err)
		}
		c := function.System.(sde.Coefficients)
		// Two nodes give a and b, which must fit all others.
		x0, x1 := c.Grid.At(20), c.Grid.At(40)
		v0, v1 := float64(c.Drift[20])+x0*x0*x0, float64(c.Drift[40])+x1*x1*x1
		a := (v1 - v0) / (x1 - x0)
		b := v0 - a*x0
		for j := range c.Grid.N {
			x := c.Grid.At(j)
			if !(math.Abs(float64(c.Drift[j])-(a*x-x*x*x+b)) <= 1e-4 && math.Abs(float64(c.Diffusion[j])-(1+0.2*math.Cos(x))) <= 1e-6) {
				t.Fatalf("function %d at %v: %v and %v", i, x, c.Drift[j], c.Diffusion[j])
			}
		}
		if !(a >= 0.5-1e-5 && a <= 2+1e-5) {
			t.Fatalf("function %d has a = %v", i, a)
		}
		meanA, meanB, squareB = meanA+a/n, meanB+b/n, squareB+b*b/n
	}
	root := math.Sqrt(n)
	if !(math.Abs(meanA-1.25)*root <= 4.5*1.5/math.Sqrt(12) && math.Abs(meanB)*root <= 4.5 && math.Abs(squareB-1)*root <= 4.5*math.Sqrt2) {
		t.Errorf("E a = %.3f, E b = %.3f, E b² = %.3f, want 1.25, 0, 1", meanA, meanB, squareB)
	}
}

// Simulated chains of a family that was written have its exact law.
func TestDefinedLineSamples(t *testing.T) {
	f := defined(t, doubleWell)
	s := simulate.Scheme{DT: 0.01, BurnIn: 2000, Thin: 10, Chains: 2048}
	for i := range 4 {
		law, err := f.(KnownLaw).Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]float32, s.Chains)
		if err := Sample(context.Background(), f, dst, SampleSpec{i, 1, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		if k := ksScaled(dst, law); !(k <= 1.95) {
			t.Errorf("function %d: √n·KS is %.2f", i, k)
		}
	}
}

// b and S at the nodes, x varying fastest.
func TestDefinedPlane(t *testing.T) {
	f := defined(t, vortex)
	fields := f.Fields()
	if f.Dim() != 2 || len(fields) != 2 || !reflect.DeepEqual(fields[1], Field{Name: "diffusion", Shape: []int{24, 24, 2}}) {
		t.Fatalf("dimension %d, fields %v", f.Dim(), fields)
	}
	var bumps, square float64
	const n = 500
	for i := range n {
		function, err := f.Function(5, i)
		if err != nil {
			t.Fatal(err)
		}
		p := function.System.(sde.Plane)
		if k, constant := p.DiffusionTerms(); k != 2 || constant {
			t.Fatalf("%d terms of diffusion, constant: %t", k, constant)
		}
		// The second component tells ω at a node with x ≠ 0.
		at := 5*24 + 20
		x, y := p.X.At(20), p.Y.At(5)
		omega := (float64(p.Drift[2*at+1]) + y) / x
		s := p.Diffusion[0]
		if !(math.Abs(omega) <= 2 && s >= 0.5 && s <= 1.5) {
			t.Fatalf("function %d: ω = %v, s = %v", i, omega, s)
		}
		for n := range p.Nodes() {
			x, y := p.X.At(n%24), p.Y.At(n/24)
			if !(math.Abs(float64(p.Drift[2*n+1])-(-y+omega*x)) <= 1e-5) || p.Diffusion[2*n] != s || !(math.Abs(float64(p.Diffusion[2*n+1])-1-0.1*x*x) <= 1e-6) {
				t.Fatalf("function %d, (%v, %v): drift %v, diffusion %v", i, x, y, p.Drift[2*n:][:2], p.Diffusion[2*n:][:2])
			}
		}
		g := float64(p.Drift[2*at]) + x + omega*y
		bumps, square = bumps+g/n, square+g*g/n
		again, err := f.(Stored).Restore(function.Fields)
		if err != nil || !reflect.DeepEqual(again, function) {
			t.Fatalf("function %d restored from its fields differs, error %v", i, err)
		}
	}
	if !(math.Abs(bumps)*math.Sqrt(n) <= 4.5*0.5 && math.Abs(square-0.25)*math.Sqrt(n) <= 4.5*0.25*math.Sqrt2) {
		t.Errorf("the field has mean %.3f and mean square %.3f, want 0 and 0.25", bumps, square)
	}
}

// A rotation leaves a Gaussian law as it is: with b = −x + ω(−y, x) and S = I, it
// is N(0, I/2).
func TestDefinedPlaneSamples(t *testing.T) {
	f := defined(t, "name: spin\ndim: 2\ngrid: {lo: -5, hi: 5, nodes: 21}\nparameters:\n  w: uniform(-3, 3)\ndrift: [-x - w*y, w*x - y]\ndiffusion: 1\n")
	if fields := f.Fields(); len(fields) != 1 {
		t.Errorf("a constant diffusion is stored: %v", fields)
	}
	const dt, chains = 0.005, 4096
	dst := make([]float32, 2*chains)
	s := simulate.Scheme{DT: dt, BurnIn: 1000, Thin: 1, Chains: chains}
	if err := Sample(context.Background(), f, dst, SampleSpec{3, 1, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
	var xx, yy, xy float64
	for ; len(dst) > 0; dst = dst[2:] {
		x, y := float64(dst[0]), float64(dst[1])
		xx, yy, xy = xx+x*x/chains, yy+y*y/chains, xy+x*y/chains
	}
	if limit := 4.5 * 0.5 * math.Sqrt(2./chains); !(math.Abs(xx-0.5) <= limit+0.03 && math.Abs(yy-0.5) <= limit+0.03 && math.Abs(xy) <= limit) {
		t.Errorf("covariance (%.3f, %.3f; %.3f), want ½I", xx, xy, yy)
	}
}

// Underdamped Langevin dynamics of a particle of unit mass in the potential kx²/2,
// dX = V dt, dV = (−kX − γV) dt + √(2γT) dW: noise reaches X through V alone, and the
// law is that of Gibbs, Var X = T/k and Var V = T, independent.
func TestDefinedPlaneWithNoiseInOneDirection(t *testing.T) {
	const k, temperature = 2., 0.5
	f := defined(t, "name: langevin\ndim: 2\ngrid: {lo: -5, hi: 5, nodes: 21}\nparameters:\n  g: uniform(1, 2)\ndrift: [y, -2*x - g*y]\ndiffusion: [\"0\", sqrt(g)]\n")
	const dt, chains = 0.002, 4096
	dst := make([]float32, 2*chains)
	s := simulate.Scheme{DT: dt, BurnIn: 4000, Thin: 1, Chains: chains}
	if err := Sample(context.Background(), f, dst, SampleSpec{3, 1, 1, s, "test", false}, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
	var xx, vv, xv float64
	for ; len(dst) > 0; dst = dst[2:] {
		x, v := float64(dst[0]), float64(dst[1])
		xx, vv, xv = xx+x*x/chains, vv+v*v/chains, xv+x*v/chains
	}
	noise := 4.5 * math.Sqrt(2./chains) // of a variance, relative
	const bias = 0.01                   // of Euler–Maruyama, O(dt)
	if !(math.Abs(xx*k/temperature-1) <= noise+bias && math.Abs(vv/temperature-1) <= noise+bias && math.Abs(xv)*math.Sqrt(k)/temperature <= noise+bias) {
		t.Errorf("Var X = %.4f, Var V = %.4f, covariance %.4f, want %v, %v, 0", xx, vv, xv, temperature/k, temperature)
	}
}

// The name depends on the definition, not on its formatting; parameters
// do not depend on formulas.
func TestDefinitionNames(t *testing.T) {
	f := defined(t, doubleWell)
	if name := f.Name(); !strings.HasPrefix(name, "double_well_") || len(name) != len("double_well_")+16 {
		t.Errorf("name %q", name)
	}
	respaced := strings.ReplaceAll(doubleWell, "# A well or two.", "")
	respaced = strings.ReplaceAll(respaced, "{lo: -4, hi: 4, nodes: 64}", "{nodes: 64, lo: -4.0, hi: 4}")
	respaced = strings.ReplaceAll(respaced, "diffusion: 1 + 0.2*cos(x)", "diffusion: ['1 + 0.2*cos(x)']")
	if g := defined(t, respaced); g.Name() != f.Name() {
		t.Errorf("written differently, it is called %s, not %s", g.Name(), f.Name())
	}
	other := defined(t, strings.ReplaceAll(doubleWell, "0.2*cos(x)", "0.3*cos(x)"))
	if other.Name() == f.Name() {
		t.Error("another diffusion has the same name")
	}
	a, err := f.Function(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Function(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Fields[0], b.Fields[0]) || reflect.DeepEqual(a.Fields[1], b.Fields[1]) {
		t.Error("another diffusion changes the drift, or not the diffusion")
	}
	// JSON sent to another machine gives the same family there.
	d, err := Parse([]byte(vortex))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var sent Definition
	if err := json.Unmarshal(raw, &sent); err != nil || !reflect.DeepEqual(sent, d) || sent.id() != d.id() {
		t.Errorf("by way of JSON: %+v, error %v", sent, err)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "well.yaml")
	if err := os.WriteFile(path, []byte(doubleWell), 0o644); err != nil {
		t.Fatal(err)
	}
	if d, err := Load(path); err != nil || d.Name != "double_well" {
		t.Errorf("%+v, error %v", d, err)
	}
	if _, err := Load(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, yamltext.MaxBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

func TestDefinitionRefusals(t *testing.T) {
	for _, c := range []struct {
		name, from, to, want string
		is                   error
	}{
		{"unknown field", "dim: 1", "dim: 1\ncolour: red", `family: [5:1] unknown field "colour"`, nil},
		{"nested", "dim: 1", "dim: " + strings.Repeat("[", 32000), "family: line 4: nested deeper than 64 levels", nil},
		{"list for text", "dim: 1", "dim: [1]", "family: [4:6] list instead of whole number", nil},
		{"no name", "name: double_well", "", "family: name: must", nil},
		{"fraction of nodes", "nodes: 64", "nodes: 64.5", "64.5 is not a whole number", nil},
		{"fraction of dimension", "dim: 1", "dim: 1.5", "family: [4:6] 1.5 is not a whole number", nil},
		{"twice", "dim: 1", "dim: 1\ndim: 1", "dim", nil},
		{"two documents", "dim: 1", "dim: 1\n---\nname: b", "family: 2 documents", nil},
		{"name", "name: double_well", "name: Double well", "name: must be up to 40", nil},
		{"dimension", "dim: 1", "dim: 3", "dim is 3: must be 1 or 2", nil},
		{"plane", "dim: 1", "dim: 2", "drift has 1 formulas in 2 dimensions", nil},
		{"one node", "nodes: 64", "nodes: 1", "grid.nodes is 1: must be from 2 to 4096", nil},
		{"many nodes", "nodes: 64", "nodes: 1000000000", "grid.nodes is 1000000000", nil},
		{"empty grid", "lo: -4", "lo: 4", "grid: grid [4, 4] is empty", nil},
		{"infinite grid", "hi: 4", "hi: .inf", "grid: grid [-4, +Inf] is not bounded", nil},
		{"far grid", "lo: -4, hi: 4", "lo: -1e8, hi: 1.3e8", "grid is [-1e+08, 1.3e+08]: must be within ±100000", nil},
		{"grid on one side", "hi: 4", "hi: 100001", "grid is [-4, 100001]: must be within ±100000", nil},
		{"law", "uniform(0.5, 2)", "gamma(1, 2)", "parameters.a: ", nil},
		{"no law", "uniform(0.5, 2)", "3", `parameters.a: "3" is not a law`, nil},
		{"order", "uniform(0.5, 2)", "uniform(2, 0.5)", "parameters.a: ", nil},
		{"number", "uniform(0.5, 2)", "uniform(0.5, NaN)", `parameters.a: "uniform(0.5, NaN)": "NaN" is not a number`, nil},
		{"deviation", "normal(0, 1)", "normal(0, -1)", "parameters.b: ", nil},
		{"field", "normal(0, 1)", "field(-1, 1)", `parameters.b: "field(-1, 1)": length and deviation must be positive`, nil},
		{"taken", "  b: normal", "  sin: normal", "parameters.sin: ", nil},
		{"coordinate", "  b: normal", "  x: normal", "parameters.x: ", nil},
		{"idle", "x^3 + b", "x^3", "parameters.b: no formula uses it", nil},
		{"unknown parameter", "x^3 + b", "x^3 + c + b", "drift[0]: ", nil},
		{"formula", "1 + 0.2*cos(x)", "1 +", "diffusion[0]: ", nil},
		{"no formula", "diffusion: 1 + 0.2*cos(x)", "", "diffusion has 0 formulas", nil},
		{"two diffusions", "diffusion: 1 + 0.2*cos(x)", "diffusion: [1, 2]", "diffusion has 2 formulas: must be 1 on the line", nil},
		{"mapping", "diffusion: 1 + 0.2*cos(x)", "diffusion: {x: 1}", "want a formula or a list of formulas", nil},
		{"condition", "a*x - x^3 + b", "x > 0 ? a : b", `[9:8] mapping value is not allowed in this context: quote the formula in line 9: drift: "x > 0 ? a : b"`, nil},
		{"condition in a list", "drift: a*x - x^3 + b", "drift:\n  - x > 0 ? a : b", `quote the formula in line 10: - "x > 0 ? a : b"`, nil},
		{"condition in brackets", "a*x - x^3 + b", "[x > 0 ? a : b]", "quote the formulas of the list in line 9", nil},
		{"negation", "a*x - x^3 + b", "!(x > 0) ? a : b", `is a tag of YAML, which nothing here needs: quote the formula in line 9: drift: "!(x > 0) ? a : b"`, nil},
		{"tag", "a*x - x^3 + b", "!x", "family: line 9: !x is a tag of YAML", nil},
		{"dash", "a*x - x^3 + b", "- x^3 + a*x + b", `quote the formula in line 9: drift: "- x^3 + a*x + b"`, nil},
		{"dash in a list", "drift: a*x - x^3 + b", "drift:\n  - - x^3 + a*x + b", `quote the formula in line 10: - "- x^3 + a*x + b"`, nil},
		{"star", "a*x - x^3 + b", "*x", `quote the formula in line 9: drift: "*x"`, nil},
		{"brace", "a*x - x^3 + b", "{x} + a", `quote the formula in line 9: drift: "{x} + a"`, nil},
		{"half quoted", "a*x - x^3 + b", `"a*x" - x^3 + b`, `quote the formula in line 9: drift: "a*x - x^3 + b"`, nil},
		{"zero diffusion", "1 + 0.2*cos(x)", "x", "function 0 with a = ", ErrNoEquation},
		{"singular drift", "x^3 + b", "x^3 + b/0", "function 0 with a = ", sde.ErrNotFinite},
		{"no law of its own", "- x^3", "+ x^3", "at the ends of the grid", density.ErrNotNormalisable},
	} {
		text := strings.Replace(doubleWell, c.from, c.to, 1)
		if text == doubleWell {
			t.Fatalf("%s: nothing changed", c.name)
		}
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// No formula is blamed for another fault.
	for _, text := range []string{"drift: a*x - x^3 + b # note: restoring", "drift: |\n  a*x - x^3 + b", `drift: ["a*x - x^3 + b"]`, `drift: "x > 0 ? a : b"`} {
		_, err := Parse([]byte(strings.Replace(doubleWell, "drift: a*x - x^3 + b", text+"\ncolour: red", 1)))
		if err == nil || strings.Contains(err.Error(), "quote") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "# nothing", "3", "[]"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if _, err := Parse([]byte(strings.Replace(vortex, "nodes: 24", "nodes: 2", 1))); err == nil || !strings.Contains(err.Error(), "must be from 3 to 256") {
		t.Errorf("2×2 nodes: %v", err)
	}
	if _, err := Parse([]byte(strings.Replace(vortex, `["s", "1 + 0.1*x^2"]`, `[1, 1, 1, 1]`, 1))); err == nil || !strings.Contains(err.Error(), "parameters.s: no formula uses it") {
		t.Errorf("idle parameter: %v", err)
	}
	if _, err := Parse([]byte(strings.Replace(vortex, `["s", "1 + 0.1*x^2"]`, `["0*s", "0"]`, 1))); err == nil || !strings.Contains(err.Error(), "is zero") {
		t.Errorf("no noise: %v", err)
	}
}

// TestOtherEquations: what a family in the plane makes of an equation that it did
// not draw has the fields that its network reads, and no diffusion that it lacks.
func TestOtherEquations(t *testing.T) {
	const text = "name: f\ndim: 2\ngrid: {lo: -1, hi: 1, nodes: 3}\nparameters: {a: 'uniform(1, 2)'}\ndrift: [-a*x, -y]\ndiffusion: "
	for _, test := range []struct {
		family    Family
		diffusion []string
		ok        bool
		constant  bool // the diffusion is no field
	}{
		{cn2d{}, []string{"sqrt(2)"}, true, true},
		{cn2d{}, []string{"sqrt(2)", "sqrt(2)"}, true, true},
		{cn2d{}, []string{"sqrt(2)", "1"}, false, true},
		{cn2d{}, []string{"1 + x*x"}, false, true},
		{cn2d{}, []string{"sqrt(2)", "0", "0", "sqrt(2)"}, false, true},
		{defined(t, text+"['1', '2']"), []string{"1", "2"}, true, true},
		{defined(t, text+"['1', '2']"), []string{"2", "1"}, false, true},
		{defined(t, text+"['1', '2']"), []string{"1"}, false, true},
		{defined(t, text+"a"), []string{"1 + x*x"}, true, false},
		{defined(t, text+"a"), []string{"1", "1"}, false, false},
	} {
		f := test.family.(TabulatedPlane)
		p, err := TabulatePlane([]string{"y", "-x-y"}, test.diffusion, f.Grid())
		if err != nil {
			t.Fatal(err)
		}
		function, err := f.Of(p)
		if (err == nil) != test.ok {
			t.Errorf("%s of %v: %v", test.family.Name(), test.diffusion, err)
		}
		if err != nil {
			continue
		}
		if test.constant != (len(function.Fields) == 1) || !slices.Equal(function.Fields[0], p.Drift) || !test.constant && !slices.Equal(function.Fields[1], p.Diffusion) {
			t.Errorf("%s of %v: another equation", test.family.Name(), test.diffusion)
		}
	}
	for _, bad := range [][2][]string{{{"x"}, {"1"}}, {{"x", "1/(x-x)"}, {"1"}}, {{"x", "y"}, {"0"}}, {{"x", "y"}, nil}, {{"x", "q"}, {"1"}}} {
		if _, err := TabulatePlane(bad[0], bad[1], cn2dAxis); err == nil {
			t.Errorf("%v and %v are an equation", bad[0], bad[1])
		}
	}
}
