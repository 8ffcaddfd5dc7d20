package request_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// Formulas for a model without a grid become the equation that they say, with the diffusion in the
// family's form.
func TestSpace(t *testing.T) {
	e := load(t, "anyd")
	for _, test := range []struct {
		drift, diffusion []string
		warned           bool
	}{
		{[]string{"-1.3*x"}, []string{"k"}, false},
		{[]string{"-(1 + 0.1*i)*x[i]"}, []string{"1 + 0*x"}, false},
		{[]string{"-30*x"}, []string{"1"}, true},
		{[]string{"-1.3*x"}, []string{"9"}, true},
	} {
		target, err := resolve(t, request.Request{Drift: test.drift, Diffusion: test.diffusion, Parameters: map[string]float64{"k": 0.8}}, e)
		if err != nil {
			t.Errorf("%q, %q: %v", test.drift, test.diffusion, err)
			continue
		}
		system := target.Subject.Function.System.(sde.Space)
		if _, sigma := system.Coefficients(make([]float64, 10)); len(sigma) != 10 || sigma[0] != sigma[9] || sigma[0] == 0 {
			t.Errorf("%q: diffusion %v", test.diffusion, sigma)
		}
		if warned := len(target.Warnings) > 0; warned != test.warned {
			t.Errorf("%q, %q: warnings %q", test.drift, test.diffusion, target.Warnings)
		}
	}
	for _, test := range []struct {
		drift, diffusion, input, want string
		kind                          error
	}{
		{"-x[i]*x[10]", "1", "drift", "component 10", request.ErrSpaceFormula},
		{"-x0", "1", "drift", "1 components in 10 dimensions", request.ErrSpaceFormula},
		{"-x", "x[", "diffusion", "cannot read", request.ErrSpaceFormula},
		{"-log(x)", "1", "drift", "in the model's box component", sde.ErrNotFinite},
		{"-x", "0", "diffusion", "0 everywhere", request.ErrDiffusion},
		{"-x", "x[i]*x[j]", "diffusion", "unknown name j", request.ErrSpaceFormula},
	} {
		_, err := resolve(t, request.Request{Drift: []string{test.drift}, Diffusion: []string{test.diffusion}}, e)
		var input *request.InputError
		if !errors.Is(err, test.kind) || !errors.As(err, &input) || input.Input != test.input || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q, %q: %v", test.drift, test.diffusion, err)
		}
	}
}

// An equation is compared with each component of a mixture. Between two of them it is beyond both.
func TestSpaceOfMixture(t *testing.T) {
	const component = `{"family":{"name":"%s","dim":2,"box":[%s],"parameters":{"a":"uniform(%s)"},"drift":"-a*x","diffusion":%s},"weight":1}`
	e := load(t, "anyd")
	e.Data.Family = `{"name":"m","dim":2,"mixture":[` +
		fmt.Sprintf(component, "slow", "-1, 1", "1, 2", `"1"`) + "," +
		fmt.Sprintf(component, "fast", "-4, 4", "8, 9", `["1", "1"]`) + "]}"
	for drift, warned := range map[string]bool{"-1.5*x": false, "-8.5*x": false, "-5*x": true, "-20*x": true} {
		target, err := resolve(t, request.Request{Drift: []string{drift}, Diffusion: []string{"1"}}, e)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(target.Warnings, "; "); strings.Contains(text, "nearest component") != warned || !warned && text != "" {
			t.Errorf("%s: warnings %q", drift, text)
		}
	}
}

// Formulas have the domain of the model's family, and what does not suit it is refused.
func TestSpaceOnADomain(t *testing.T) {
	e, err := experiment.Load("anyd", "smoke", "", []string{`data.family='{name: ring, dim: 2, box: [[-3, 3], [0, 3]], domain: ["circle [-pi, pi)", "reflect [0, inf)"], parameters: {a: "uniform(1, 2)"}, drift: ["a*sin(x0)", "-a"], diffusion: "1"}'`})
	if err != nil {
		t.Fatal(err)
	}
	target, err := resolve(t, request.Request{Drift: []string{"sin(x0)", "-1.5"}, Diffusion: []string{"1"}}, e)
	if err != nil {
		t.Fatal(err)
	}
	if system := target.Subject.Function.System.(sde.Space); !system.Domain.Has(sde.Joined) || !system.Domain.Has(sde.Reflecting) {
		t.Errorf("the domain is %v", system.Domain)
	}
	for drift, want := range map[string]string{"-x0": "one point of circle [-3.141592653589793, 3.141592653589793)", "sin(x0)*log(x1)": "component 0 of the drift is"} {
		if _, err := resolve(t, request.Request{Drift: []string{drift, "-1"}, Diffusion: []string{"1"}}, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", drift, err)
		}
	}
}
