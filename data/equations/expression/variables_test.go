package expression

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// Variables have their own values; one value holds for all results, whatever
// their number.
func TestVariables(t *testing.T) {
	e, err := CompileIn("a*x - y^2 + max(b_1, x)", "x", "y", "a", "b_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 63, 64, 65, 200} {
		x, y, b := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i], b[i] = math.Sin(float64(i)), float64(i)/7, math.Cos(float64(i))
		}
		dst := make([]float64, n)
		e.EvalIn(dst, x, y, []float64{2.5}, b)
		for i, got := range dst {
			if want := 2.5*x[i] - y[i]*y[i] + max(b[i], x[i]); !(math.Abs(got-want) <= 1e-13*(1+math.Abs(want))) {
				t.Fatalf("%d values: number %d is %v, want %v", n, i, got, want)
			}
		}
	}
	constant, err := CompileIn("b", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 70)
	constant.EvalIn(dst, []float64{1}, []float64{2})
	if slices.Min(dst) != 2 || slices.Max(dst) != 2 {
		t.Errorf("b is %v", dst)
	}
	for _, v := range []string{"x", "y", "a", "b_1", "c"} {
		if got, want := e.Uses(v), v != "c"; got != want {
			t.Errorf("uses %s: %t", v, got)
		}
	}
}

func TestVariableNames(t *testing.T) {
	for _, v := range []string{"sin", "pi", "e", "max", "", "2a", "a b", "a.b", "not", "in", "é", "a-b"} {
		if _, err := CompileIn("1", v); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "cannot name a variable") {
			t.Errorf("%q as a variable: %v", v, err)
		}
	}
	// Names that are accepted can be written in formulas.
	for _, v := range []string{"a", "A", "_", "x1", "theta_0", "alpha", "y", "len", "map"} {
		if _, err := CompileIn(v+" + 1", v); err != nil {
			t.Errorf("%q as a variable: %v", v, err)
		}
	}
	if _, err := CompileIn("x + y", "y"); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), " x (1:1)") {
		t.Errorf("x is known without being a variable: %v", err)
	}
	if _, err := CompileIn("1", make([]string, 65)...); !errors.Is(err, ErrSyntax) {
		t.Errorf("65 variables: %v", err)
	}
}
