package expression

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The tape computes what the library's own virtual machine does, on states of
// every size and for lengths around the block's.
func TestAgainstVirtualMachine(t *testing.T) {
	states := []float64{-1e6, -7.25, -2, -1, -0.5, -1e-9, 0, 1e-9, 0.3, 1, 1.5, 2, 4, 31, 1e5}
	for len(states) < 3*Lanes+5 {
		states = append(states, math.Sin(float64(len(states)))*6)
	}
	for _, source := range []string{
		"x", "3", "-x", "+x", "x-x^3", "-x^2", "(-x)^2", "2^x", "2^3^x", "x^-2", "x^(-3)", "x**4", "x^0", "x^1", "x^0.5", "x^7", "x^-11", "x^16", "abs(x)^2.5", "x/8+8/x", "2^-x",
		"1/2*x", "x/2/3", "x-1-2", "1-(2-x)", "2+3*x/(1+x*x)-4", "pi*e*x",
		"sin(x)+cos(x)*tan(x)", "asin(x/7)-acos(x/7)+atan(x)", "sinh(x/10)+cosh(x/10)+tanh(x)",
		"exp(-x^2/2)", "log(abs(x)+1)+log2(abs(x)+2)+log10(abs(x)+3)", "sqrt(2*(1+x^2))", "cbrt(x)+sign(x)",
		"floor(x)-ceil(x)+erf(x)", "pow(abs(x), 1.5)+atan2(x, 2)", "min(x, 1, 2*x)", "max(x^2, 3, -x)", "min(sqrt(x), 1)+max(1, sqrt(x))", "max(1)", "abs(1-3)*x",
		"x > 0 ? x : -2*x", "x < 1 and x > -1 ? 1.0 : 0.5", "x <= 1 or not (x >= 2) ? 1 : 2", "x == 1 ? 3 : x != 2 ? 4 : 5",
		"x > 0 ? (x > 1 ? 1 : 2) : 3", "true && x > 1 || false ? 1 : x", "!(x > 0) ? 1 : x",
	} {
		e, err := Compile(source)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		env, err := scope([]string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		program, err := expr.Compile(source, expr.Env(env), expr.DisableAllBuiltins(), expr.AsFloat64())
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			got := make([]float64, len(states))
			e.eval(got, states, set.kernels)
			for i, x := range states {
				env["x"] = x
				out, err := expr.Run(program, env)
				if err != nil {
					t.Fatal(err)
				}
				want := out.(float64)
				if math.IsNaN(want) && math.IsNaN(got[i]) || got[i] == want {
					continue
				}
				if !(math.Abs(got[i]-want) <= 1e-13*math.Abs(want)) {
					t.Errorf("%q at %v is %v by %s, the virtual machine says %v", source, x, got[i], set.name, want)
				}
				if one := e.At(x); one != got[i] {
					t.Errorf("%q at %v alone is %v, in a block %v by %s", source, x, one, got[i], set.name)
				}
			}
		}
	}
}

func TestErrorsPointAtThePosition(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"", "it is empty"},
		{" \n", "it is empty"},
		{strings.Repeat("x+", 3000) + "x", "at most 4096"},
		{strings.Repeat("x+", 1000) + "x", "(1:"},
		{"x +", "(1:3)"},
		{strings.Repeat(" ", 300) + "2*y", " y (1:303)"},
		{strings.Repeat("(", 600), "(1:"},
		{strings.Repeat("y", 4000), "yyy"},
		{"2*y", " y (1:3)\n | 2*y\n | ..^"},
		{"sin x", "(1:5)"},
		{"sin(x, x)", "(1:"},
		{"sin()", "(1:"},
		{"max()", "(1:1)"},
		{"sin", "function"},
		{"x + sin", "(1:3)"},
		{"x > 0", "bool"},
		{"x > 0 ? 1 : true", "(1:13)"},
		{"x ? 1 : 2", "(1:1)"},
		{"'x'", "text"},
		{"[x][0]", "(1:"},
		{"let y = x; y", "(1:"},
		{"map([1], #)", "have no ["},
		{"{a: 1}", "have no {"},
		{"nil", "nothing"},
		{"x + true", "number and bool"},
		{"float64 + x", " float64 (1:1)"},
		{"map([1], #)[0] + x", "(1:"},
		{"now()", " now (1:1)"},
		{"1 + (x", "(1:6)"},
		{"x % 2", "(1:3)"},
		{"(x > 0) == (x < 1) ? 1 : 2", "(1:4)"},
		{"-x//2", "// is not an operator, and formulas have no comments (1:3)\n | -x//2\n | ..^"},
		{"x /* well */ - x^3", "/* is not an operator, and formulas have no comments (1:3)"},
		{"x\n-x^3 // well", "(2:6)"},
		{"x /*/ 2", "/* is not an operator"},
		{"µ//2", "(1:2)"},
		{strings.Repeat(" ", 300) + "x//2", "// is not an operator, and formulas have no comments (1:302)"},
	} {
		_, err := Compile(c.source)
		if err == nil {
			t.Errorf("%.20q compiles", c.source)
			continue
		}
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want ErrSyntax with %q", c.source, err, c.want)
		}
		for _, goType := range []string{"float64", "interface", "func("} {
			if strings.Contains(err.Error(), goType) && !strings.Contains(c.source, goType) {
				t.Errorf("%.20q: the error names a Go type: %v", c.source, err)
			}
		}
		if len(err.Error()) > 500 {
			t.Errorf("%.20q: an error of %d characters: %v", c.source, len(err.Error()), err)
		}
	}
}

func TestTabulate(t *testing.T) {
	compile := func(source string) *Expression {
		e, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	grid := sde.Grid{Lo: -2, Hi: 2, N: 5}
	c, err := Tabulate(compile("x-x^3"), compile("1+x^2/4"), grid)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{6, 0, 0, 0, -6} {
		if c.Drift[i] != want {
			t.Errorf("drift[%d] = %v, want %v", i, c.Drift[i], want)
		}
	}
	for _, bad := range []struct{ drift, diffusion, want string }{
		{"1/x", "1", `drift "1/x" is +Inf at x = 0`},
		{"-x", "sqrt(x)", `diffusion "sqrt(x)" is NaN at x = -2`},
		{"exp(100*x)", "1", `drift "exp(100*x)" is 2.6881171418161`},
		{"-x", "x", "diffusion -2 at x = -2 is not positive"},
	} {
		if _, err := Tabulate(compile(bad.drift), compile(bad.diffusion), grid); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("drift %s, diffusion %s: %v, want %q", bad.drift, bad.diffusion, err, bad.want)
		}
	}
	if _, err := Tabulate(compile("x"), compile("1"), sde.Grid{Lo: 1, Hi: 0, N: 3}); err == nil {
		t.Error("an empty grid is accepted")
	}
}

// Whatever the bytes, compiling gives an expression that runs, to the same bits
// on all instruction sets, or an error.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"x", "sqrt(2*(1+x^2))", "x > 0 ? 1 : 2", "let a = 1; a", "max(x,", "((((", "x?.y", "{}", "1..2", "'", "#", "a|b(1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := Compile(source)
		if err != nil {
			return
		}
		states := []float64{0.5, -3, 0, 1e5, -1e-300, 2, math.Inf(1), math.NaN(), 7}
		want, got := make([]float64, len(states)), make([]float64, len(states))
		e.eval(want, states, plain)
		for _, set := range sets {
			e.eval(got, states, set.kernels)
			for i := range got {
				if !same(got[i], want[i]) {
					t.Errorf("%q at %v is %v by %s, plain %v", source, states[i], got[i], set.name, want[i])
				}
			}
		}
	})
}
