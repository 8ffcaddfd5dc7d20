package data

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// A family far from 0 starts in the middle of its grid, where no chain from N(0, 1) arrives.
// Others keep N(0, 1), and so their data sets keep their hashes.
func TestDefaultStart(t *testing.T) {
	for _, c := range []struct {
		dim                int
		lo, hi             float64
		drift, start, want string
	}{
		{1, 990, 1010, "-a*(x - 1000)", "", "normal(1000, 2)"},
		{1, -1010, -990, "-a*(x + 1000)", "", "normal(-1000, 2)"},
		{1, 990, 1010, "-a*(x - 1000)", "normal(999, 1)", ""},
		{1, 990, 1010, "-1000*(x - 1000)", "", ""}, // arrives
		{1, 1, 5, "-a*(x - 3)", "", ""},
		{1, -4, 4, "-a*x", "", ""},
		{1, 0, 4, "-a*(x - 2)", "", ""},
		{2, 990, 1010, "[-a*(x - 1000), -a*(y - 1000)]", "", "normal(1000, 2)"},
		{2, 990, 1010, "[-1000*(x - 1000), -a*(y - 1000)]", "", "normal(1000, 2)"},
		{2, 2, 6, "[-a*(x - 4), -a*(y - 4)]", "", ""},
	} {
		d := tiny()
		d.Samples = 64
		d.Training = simulate.Scheme{DT: 0.001, BurnIn: 4000, Thin: 10, Chains: 16, Start: simulate.Start(c.start)}
		d.Reference = d.Training
		name := fmt.Sprintf("%s on %g … %g from %q", c.drift, c.lo, c.hi, c.start)
		definition, err := family.Parse(fmt.Appendf(nil, "name: far\ndim: %d\ngrid: {lo: %g, hi: %g, nodes: 21}\n"+
			"parameters: {a: \"uniform(0.5, 2)\"}\ndrift: %s\ndiffusion: 1 + 0*a", c.dim, c.lo, c.hi, c.drift))
		if err != nil {
			t.Fatal(err)
		}
		d.Family = definition.String()
		f, err := definition.Family()
		if err != nil {
			t.Fatal(err)
		}
		start := d.DefaultStart(f)
		if start != simulate.Start(c.want) {
			t.Errorf("%s: the default is %q, want %q", name, start, c.want)
		}
		if start == "" {
			if _, err := pilotRun(t, d); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		// It failed without the default, and says which start would do.
		var outside *StartError
		if _, err := pilotRun(t, d); !errors.As(err, &outside) || outside.Setting() != "data.training.start="+c.want {
			t.Errorf("%s: %v", name, err)
		}
		d.Training.Start = start
		if _, err := pilotRun(t, d); err == nil || !strings.HasPrefix(err.Error(), "data.reference: ") {
			t.Errorf("%s, training from %s: %v", name, start, err)
		}
		d.Reference.Start = start
		if _, err := pilotRun(t, d); err != nil {
			t.Errorf("%s from %s: %v", name, start, err)
		}
		d.Training.Start, d.Reference.Start, d.Draws, d.ReferenceDraws = "", "", Exact, Exact
		if start := d.DefaultStart(f); start != "" {
			t.Errorf("%s, exact draws: the default is %q", name, start)
		}
	}
}

// Samples of a family far from 0 have its law: mean m and variance 1/2a, the same as
// around 0.
func TestFamilyFarFromZero(t *testing.T) {
	d := tiny()
	d.Samples = 4096
	d.Training = simulate.Scheme{DT: 0.01, BurnIn: 1000, Thin: 100, Chains: 4096, Start: "normal(1000, 2)"}
	definition, err := family.Parse([]byte("name: far\ndim: 1\ngrid: {lo: 990, hi: 1010, nodes: 64}\n" +
		"parameters: {a: \"uniform(1, 1.0001)\"}\ndrift: -a*(x - 1002)\ndiffusion: 1"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := definition.Family()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, d.Samples)
	if err := family.Sample(t.Context(), f, x, family.SampleSpec{Count: 1, Scheme: d.Training, Purpose: "test"}, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
	var sum, squares float64
	for _, v := range x {
		sum, squares = sum+float64(v)-1002, squares+(float64(v)-1002)*(float64(v)-1002)
	}
	mean, variance := sum/4096, squares/4096
	// Euler–Maruyama's variance is 1/(2 − dt); five standard errors.
	if want := 1 / (2 - 0.01); mean*mean > 25*want/4096 || variance < want*(1-5*0.0221) || variance > want*(1+5*0.0221) {
		t.Errorf("mean 1002%+.4g, variance %.4g: want 1002 and %.4g", mean, variance, want)
	}
}
