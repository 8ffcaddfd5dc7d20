package request_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

func load(t *testing.T, name string) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Equations without an invariant law are refused; at a finite time there is a law.
func TestEquationsWithoutLaw(t *testing.T) {
	for _, test := range []struct {
		experiment       string
		drift, diffusion []string
		want             error
		input            string
	}{
		{"vn1d", []string{"-x"}, []string{"1"}, nil, ""},
		{"vn1d", []string{"x"}, []string{"1"}, density.ErrNotNormalisable, "drift"},
		{"vn1d", []string{"x*x"}, []string{"1"}, density.ErrNotNormalisable, "drift"},
		{"vn1d_time", []string{"x"}, []string{"1"}, nil, ""},
		{"vn1d", []string{"-log(x)"}, []string{"1"}, sde.ErrNotFinite, ""},
		{"vn1d", []string{"-x"}, []string{"0"}, sde.ErrNotPositive, "diffusion"},
		{"vn1d", []string{"-x"}, []string{"abs(x-0.0123)"}, sde.ErrNotPositive, "diffusion"}, // between two nodes
		{"vn1d", []string{"-x"}, []string{"(x-0.0123)^2"}, sde.ErrNotPositive, "diffusion"},
		{"cn2d", []string{"-x", "-y"}, []string{"abs(x-0.0123)"}, sde.ErrNotPositive, "diffusion"},
		{"vn1d_time", []string{"-x"}, []string{"-1"}, sde.ErrNotPositive, "diffusion"},
		{"cn2d", []string{"1/(x+5)", "y"}, []string{"1"}, sde.ErrNotFinite, ""},
	} {
		_, err := resolve(t, request.Request{Drift: test.drift, Diffusion: test.diffusion}, load(t, test.experiment))
		if !errors.Is(err, test.want) {
			t.Errorf("%s, drift %q, diffusion %q: error %v, want %v", test.experiment, test.drift, test.diffusion, err, test.want)
		}
		var unusable *request.EquationError
		if err != nil && (!errors.As(err, &unusable) || unusable.Input != test.input || unusable.Grid.N == 0 || !strings.Contains(err.Error(), test.input)) {
			t.Errorf("%s, drift %q, diffusion %q: error %#v, want one of %q", test.experiment, test.drift, test.diffusion, err, test.input)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	early := 1e-3
	for name, test := range map[string]struct {
		experiment string
		request    request.Request
		kind       error
		input      string
	}{
		"negative function":     {"vn1d", request.Request{Function: -1}, request.ErrRange, "function"},
		"unknown name":          {"vn1d", request.Request{Drift: []string{"y"}, Diffusion: []string{"1"}}, request.ErrFormula, "drift"},
		"unfinished":            {"vn1d", request.Request{Drift: []string{"-x"}, Diffusion: []string{"(1"}}, request.ErrFormula, "diffusion"},
		"two on the line":       {"vn1d", request.Request{Drift: []string{"-x", "-x"}, Diffusion: []string{"1"}}, request.ErrCount, "drift"},
		"one in the plane":      {"cn2d", request.Request{Drift: []string{"-x"}, Diffusion: []string{"1"}}, request.ErrCount, "drift"},
		"three in the plane":    {"cn2d", request.Request{Drift: []string{"-x", "-y"}, Diffusion: []string{"1", "1", "1"}}, request.ErrCount, "diffusion"},
		"z in the plane":        {"cn2d", request.Request{Drift: []string{"-x", "z"}, Diffusion: []string{"1"}}, request.ErrPlaneFormula, "drift"},
		"another diffusion":     {"cn2d", request.Request{Drift: []string{"-x", "-y"}, Diffusion: []string{"1"}}, request.ErrDiffusion, "diffusion"},
		"particles":             {"particles64d", request.Request{Drift: []string{"-x"}, Diffusion: []string{"1"}}, request.ErrFormulas, "drift"},
		"time without times":    {"vn1d", request.Request{Time: &early}, request.ErrTimeless, "time"},
		"time before the first": {"vn1d_time", request.Request{Time: &early}, request.ErrRange, "time"},
	} {
		_, err := resolve(t, test.request, load(t, test.experiment))
		var input *request.InputError
		if !errors.Is(err, test.kind) || !errors.As(err, &input) || input.Input != test.input {
			t.Errorf("%s: error %v, want %v of %q", name, err, test.kind, test.input)
		}
	}
}

// A function has its own time, formulas the longest, and a request may name another.
func TestTimes(t *testing.T) {
	e := load(t, "vn1d_time")
	formulas := request.Request{Drift: []string{"-x"}, Diffusion: []string{"1"}}
	longest, err := resolve(t, formulas, e)
	if err != nil {
		t.Fatal(err)
	}
	own, err := resolve(t, request.Request{Function: 256}, e)
	if err != nil || own.Subject.Index != 256 || !(own.Time > 0 && own.Time < longest.Time) {
		t.Errorf("function 256 is %d, at time %g of at most %g, error %v", own.Subject.Index, own.Time, longest.Time, err)
	}
	asked := longest.Time / 2
	formulas.Time = &asked
	if got, err := resolve(t, formulas, e); err != nil || got.Time != asked {
		t.Errorf("asked for time %g, got %g, error %v", asked, got.Time, err)
	}
	if got, err := resolve(t, request.Request{Function: 1}, load(t, "vn1d")); err != nil || got.Time != 0 {
		t.Errorf("an invariant law is at time %g, error %v", got.Time, err)
	}
}

// Values of formulas between the model's nodes get a warning, on the line as in the
// plane.
func TestBetweenNodes(t *testing.T) {
	for _, test := range []struct {
		experiment       string
		drift, diffusion []string
		want             string
	}{
		{"vn1d", []string{"-x"}, []string{"1"}, ""},
		{"vn1d", []string{"1/(x-0.03)-x"}, []string{"1"}, "the drift between two nodes of the grid, at x = 0.0"},
		{"vn1d", []string{"-x"}, []string{"1 + (abs(x) < 0.05 ? 5 : 0)"}, "the diffusion between two nodes of the grid, at x = "},
		{"cn2d", []string{"-x", "-y"}, []string{"sqrt(2)"}, ""},
		{"cn2d", []string{"1/(x-0.001)", "-y"}, []string{"sqrt(2)"}, "the drift between two nodes of the grid, at (0, "},
		{"cn2d", []string{"-x", "-y + (abs(y) < 0.1 ? 12 : 0)"}, []string{"sqrt(2)"}, "the drift between two nodes of the grid, at ("},
	} {
		target, err := resolve(t, request.Request{Drift: test.drift, Diffusion: test.diffusion}, load(t, test.experiment))
		got := ""
		for _, w := range target.Warnings {
			if strings.Contains(w, "between two nodes") {
				got += w
			}
		}
		if err != nil || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s, drift %q, diffusion %q: %q, error %v", test.experiment, test.drift, test.diffusion, target.Warnings, err)
		}
	}
}

func resolve(t *testing.T, r request.Request, e experiment.Experiment) (request.Target, error) {
	t.Helper()
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	return r.Resolve(t.Context(), e, f, nil)
}
