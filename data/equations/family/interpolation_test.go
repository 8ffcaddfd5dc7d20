package family

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Between nodes, values that would be refused at a node and large deviations from the table
// are refused; other deviations give a warning. Random fields are interpolated linearly,
// however rough they are.
func TestCheckInterpolation(t *testing.T) {
	const line = "name: f\ndim: 1\ngrid: {lo: -4, hi: 4, nodes: 64}\nparameters: {a: 'uniform(0.5, 2)', rough: 'field(0.01, 1)'}\n"
	const plane = "name: f\ndim: 2\ngrid: {lo: -4, hi: 4, nodes: 32}\nparameters: {a: 'uniform(0.5, 2)', rough: 'field(0.01, 1)'}\n"
	for _, c := range []struct {
		grid, drift, diffusion string
		warning, refusal       string
		is                     error
	}{
		{line, "-a*x + 0.3*rough", "1", "", "", nil},
		{line, "-a*x + 0.3*rough", "exp(rough)", "", "", nil},
		{line, "'x > 0.01 ? -a + 0*rough : a'", "1", "", "", nil},
		{line, "-a*x + 0*rough + 1/x", "1", "", "between two nodes of the grid: drift +Inf at x = 0: not finite", sde.ErrNotFinite},
		{line, "-a*x + 0*rough", "abs(x)", "", "between two nodes of the grid: diffusion 0 at x = 0 is not positive", sde.ErrNotPositive},
		{line, "-a*x + 0*rough", "abs(x - 0.0123)", "", "between two nodes of the grid: diffusion vanishes at x = 0.0123 and is not positive", sde.ErrNotPositive},
		{line, "-a*x + 0*rough", "(x - 0.0123*a)^2", "", "diffusion vanishes at x = 0.0", sde.ErrNotPositive},
		{line, "-a*x + 0*rough", "abs(x - 0.0123) - 0.001", "", "diffusion vanishes at x = 0.01", sde.ErrNotPositive}, // negative there
		{line, "-a*x", "abs(x - 0.0123 + 0.001*rough)", "", "diffusion vanishes at x = ", sde.ErrNotPositive},
		{line, "-a*x + 0*rough", "sqrt(abs(x - 0.0123))", "", "diffusion vanishes at x = 0.0123", sde.ErrNotPositive},
		{line, "-a*x + 0*rough", "0.001 + abs(x - 0.0123)", "", "", nil},
		{line, "-a*x + 0*rough", "1.01 + cos(9*x)", "", "", nil},
		{line, "-a*x + 0*rough + 1/(x-0.01)", "1", "at x = 0.01587, differs by 1", "", nil},
		{line, "-a*x + 0*rough", "'1 + (abs(x) < 0.05 ? 5 : 0)'", "the diffusion between two nodes of the grid, at x = ", "", nil},
		{line, "'-a*x + 0*rough + (abs(x) < 0.05 ? 1e6 : 0)'", "1", "", "differs by 1e+06 from the interpolated table", ErrInterpolation},
		{line, "-a*x + 0*rough + 200*sin(2*pi*63/8*(x+4))", "1", "", "the drift at x = ", ErrInterpolation},
		{plane, "[-a*x + 3*rough, -y]", "exp(rough)", "", "", nil},
		{plane, "[-a*x + 3*rough, -y]", "1", "", "", nil},
		{plane, "[-a*x + 0*rough, -y]", "abs(x + 0.1*y - 0.0123)", "", "between two nodes of the grid: diffusion vanishes at (", sde.ErrNotPositive},
		{plane, "[-a*x + 0*rough, -y]", "[abs(x - 0.0123), abs(y + 1.01)]", "", "diffusion vanishes at (0.0123, -1.01)", sde.ErrNotPositive},
		{plane, "[-a*x + 0*rough, -y]", "['0', 0.01 + abs(x - 0.0123)]", "", "", nil},
		{plane, "[1/x*a + 0*rough, -y]", "1", "", "between two nodes of the grid: drift", sde.ErrNotFinite},
		{plane, "[-a*x + 0*rough, -y]", "['1', '1 + (abs(y) < 0.1 ? 5 : 0)']", "the diffusion between two nodes of the grid, at (", "", nil},
		{plane, "[a/(x-0.001) + 0*rough, -y]", "1", "", "the drift at (0, ", ErrInterpolation},
	} {
		d, err := Parse([]byte(c.grid + "drift: " + c.drift + "\ndiffusion: " + c.diffusion + "\n"))
		if c.refusal != "" {
			if err == nil || !errors.Is(err, ErrInterpolation) || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "function 0 with a = ") {
				t.Errorf("%s, %s: %v", c.drift, c.diffusion, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, %s: %v", c.drift, c.diffusion, err)
			continue
		}
		f, err := d.Family()
		if err != nil {
			t.Fatal(err)
		}
		warning, err := f.(Interpolated).CheckInterpolation(1, 3)
		if err != nil || (warning == "") != (c.warning == "") || !strings.Contains(warning, c.warning) || warning != "" && !strings.Contains(warning, "function 3 with a = ") {
			t.Errorf("%s, %s: warning %q, error %v", c.drift, c.diffusion, warning, err)
		}
	}
}

// The interpolation is linear along each axis and exact at the nodes.
func TestRefine(t *testing.T) {
	if got := refine([]float64{1, 3, -1}, 3, 1); len(got) != 17 || got[0] != 1 || got[4] != 2 || got[8] != 3 || got[12] != 1 || got[16] != -1 {
		t.Errorf("on the line %v", got)
	}
	want := []float64{
		0, 1, 2, 1, 0,
		2, 2.5, 3, 2.5, 2,
		4, 4, 4, 4, 4,
		2, 2, 2, 3, 4,
		0, 0, 0, 2, 4,
	}
	if got := refine([]float64{0, 2, 0, 4, 4, 4, 0, 0, 4}, 3, 2); !slices.Equal(got, want) {
		t.Errorf("in the plane %v", got)
	}
}
