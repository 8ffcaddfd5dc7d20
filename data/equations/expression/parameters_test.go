package expression

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Parameters stand for their values, to the last bit.
func TestParameters(t *testing.T) {
	p, err := ParseParameters([]string{"theta=2", " mu = -0.1", "c=sqrt(2)*pi", "big=1e300"})
	if err != nil {
		t.Fatal(err)
	}
	for with, without := range map[string]string{
		"-theta*(x - mu)": "-2*(x + 0.1)", "c": "sqrt(2)*pi", "x^theta": "x^2", "big*x": "1e300*x", "x > mu ? theta : 0": "x > -0.1 ? 2 : 0",
	} {
		got, err := p.Compile(with, "x")
		if err != nil {
			t.Errorf("%q: %v", with, err)
			continue
		}
		want, err := Compile(without)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{-3, -0.1, 0, 0.3, 7} {
			if got.At(x) != want.At(x) {
				t.Errorf("%q is %g at %g, want %g", with, got.At(x), x, want.At(x))
			}
		}
		if got.String() != with {
			t.Errorf("%q is written %q", with, got)
		}
	}
	for _, c := range []struct{ assignment, want string }{
		{"theta", "must be NAME=VALUE"}, {"theta=", "theta: cannot read the formula: it is empty"}, {"1a=2", `"1a" cannot name a variable`}, {"sin=2", "has a meaning"},
		{"a=1/0", "a is +Inf"}, {"a=x", "unknown name x"}, {"theta=1;theta=2", "two values"},
	} {
		if _, err := ParseParameters(strings.Split(c.assignment, ";")); !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.assignment, err, c.want)
		}
	}
	if _, err := (Parameters{"x": 1}).Compile("x", "x"); !errors.Is(err, ErrParameter) {
		t.Errorf("a parameter x: %v", err)
	}
}

// A name that nothing gives a value is an error of its own, which lists the names.
func TestUnknownName(t *testing.T) {
	_, err := Parameters{"mu": 1}.Compile("theta*(x - mu)", "x")
	var name *UnknownNameError
	if !errors.As(err, &name) || name.Name != "theta" || !errors.Is(err, ErrSyntax) || !slices.Equal(name.Known, []string{"x", "mu", "pi", "e"}) {
		t.Errorf("%v, %+v", err, name)
	}
	if _, err := Compile("np.sin(x)"); err == nil || errors.As(err, &name) && name.Name == "np" || !strings.Contains(err.Error(), "write sin(x)") {
		t.Errorf("np.sin: %v", err)
	}
}
