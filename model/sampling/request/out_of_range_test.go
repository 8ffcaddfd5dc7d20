package request

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

const (
	// unitNoise has one diffusion in all functions.
	unitNoise = `data.family='{name: unit_noise, dim: 1, grid: {lo: -4, hi: 4, nodes: 64}, parameters: {a: "uniform(0.5, 2)", m: "uniform(-1, 1)"}, drift: -a*(x-m), diffusion: 1}'`
	// duffing has noise in one direction alone.
	duffing = `data.family='{name: duffing, dim: 2, grid: {lo: -4, hi: 4, nodes: 32}, parameters: {a: "uniform(0.5, 1.5)", c: "uniform(0.5, 2)", s: "uniform(0.4, 0.8)"}, drift: [y, a*x - x^3 - c*y], diffusion: ["0", s]}'`
)

// Of the plane, by a network on a grid and by one with sensors.
var (
	onGrid = []string{duffing, "model.deeponet.dimension=2", "model.deeponet.kernel=3",
		"model.deeponet.fields=[{name: drift, shape: [32, 32, 2]}, {name: diffusion, shape: [32, 32, 2]}]"}
	bySensors = []string{duffing}
)

func loadSet(t *testing.T, name string, sets ...string) experiment.Experiment {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", sets)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// An equation with values that the training set has nowhere at that node gets a warning
// that says what was asked, what was seen, and where. The normalisation, in which a
// deviation of zero is one, does not matter.
func TestOutOfRange(t *testing.T) {
	for _, test := range []struct {
		experiment       string
		sets             []string
		drift, diffusion []string
		want             []string // beginnings of the warnings, in their order
	}{
		{"vn1d", []string{unitNoise}, []string{"-x"}, []string{"1"}, nil},
		{"vn1d", []string{unitNoise}, []string{"-x"}, []string{"1 + 1e-7*x"}, nil}, // rounding
		{"vn1d", []string{unitNoise}, []string{"-x"}, []string{"5"}, []string{"the diffusion is 5 at x = -4, where 256 functions of the training set all have 1: out of the training set's range at 64 of 64 nodes"}},
		{"vn1d", []string{unitNoise}, []string{"-x"}, []string{"1.01"}, []string{"the diffusion is 1.01 at x = "}},
		{"vn1d", []string{unitNoise}, []string{"-x"}, []string{"x > 2 ? 0.5 : 1"}, []string{"the diffusion is 0.5 at x = "}},
		{"vn1d", []string{unitNoise}, []string{"-x + 3"}, []string{"1"}, []string{"the drift is "}},
		{"vn1d", nil, []string{"-x"}, []string{"1"}, nil},
		{"vn1d", nil, []string{"-2*(x-1)"}, []string{"1"}, nil}, // strange at -5 alone, far from its law
		{"vn1d", nil, []string{"-10*x"}, []string{"1"}, []string{"the drift is 8.73 at x = -0.873, where 256 functions of the training set have -"}}, // not at 5, where the law has no mass
		{"vn1d", nil, []string{"x - x^3"}, []string{"0.7"}, []string{"the drift is -4.257 at x = 1.825, where 256 functions of the training set have -"}},
		{"vn1d", nil, []string{"-x"}, []string{"0.1"}, []string{"the diffusion is 0.1 at x = "}}, // the least is 0.25
		{"vn1d_time", nil, []string{"-x"}, []string{"1"}, nil},
		{"vn1d_time", nil, []string{"-x"}, []string{"9"}, []string{"the diffusion is 9 at "}},
		{"vn1d", onGrid, []string{"y", "x - x^3 - y"}, []string{"0", "0.6"}, nil},
		{"vn1d", onGrid, []string{"y", "x - x^3 - y"}, []string{"0", "3"}, []string{"the diffusion along y is 3 at (-4, -4), where 256 functions of the training set have 0.4"}},
		{"vn1d", onGrid, []string{"y", "x - x^3 - y"}, []string{"0.6", "0"}, []string{"the diffusion along x is 0.6 at (-4, -4), where 256 functions of the training set all have 0: ", "the diffusion along y is 0 at "}},
		{"vn1d", onGrid, []string{"y + 1", "x - x^3 - y"}, []string{"0", "0.6"}, []string{"the drift along x is "}},
		{"vn1d", onGrid, []string{"y", "-9*x - y"}, []string{"0", "0.6"}, []string{"the drift along y is "}},
		{"cn2d", bySensors, []string{"y", "x - x^3 - y"}, []string{"0", "0.6"}, nil},
		{"cn2d", bySensors, []string{"y", "x - x^3 - y"}, []string{"0", "3"}, []string{"the diffusion along y is 3 at "}},
		{"cn2d", nil, []string{"-30*x", "-y"}, []string{"sqrt(2)"}, []string{"the drift along x is ", "the drift along y is "}},
		{"cn2d_grid", []string{"model.deeponet.fields=[{name: force, shape: [32, 32, 2]}]"}, []string{"-30*x", "-y"}, []string{"sqrt(2)"}, []string{"the network's input force along x is ", "the network's input force along y is "}},
	} {
		e := loadSet(t, test.experiment, test.sets...)
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		target, err := Request{Drift: test.drift, Diffusion: test.diffusion}.Resolve(t.Context(), e, f, nil)
		got := ofRange(target)
		ok := err == nil && len(got) == len(test.want)
		for k, want := range test.want {
			ok = ok && strings.HasPrefix(got[k], want)
		}
		if !ok {
			t.Errorf("%s, drift %q, diffusion %q: error %v, warnings\n%s\nwant\n%s", test.experiment, test.drift, test.diffusion,
				err, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// ofRange are the warnings about the training set's range.
func ofRange(target Target) (warnings []string) {
	for _, w := range target.Warnings {
		if strings.Contains(w, "of the training set") {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// Networks that read what follows from drift and diffusion, such as the potential, are
// asked about that: another equation with the same law is in range.
func TestOutOfRangeOfDerivedInputs(t *testing.T) {
	e := loadSet(t, "vn1d", unitNoise, "model.deeponet.fields=[{name: potential, shape: [64]}, {name: score, shape: [64]}]")
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ drift, diffusion, want string }{
		{"-x", "1", ""},
		{"-25*x", "5", ""},
		{"-x", "5", "the network's input potential is "},
	} {
		target, err := Request{Drift: []string{test.drift}, Diffusion: []string{test.diffusion}}.Resolve(t.Context(), e, f, shard.Normalisation{})
		if got := strings.Join(ofRange(target), "\n"); err != nil || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s, %s: error %v, warnings %q, want %q", test.drift, test.diffusion, err, got, test.want)
		}
	}
}

// Of functions of the family with which it was not compared few are out of range.
func TestInRange(t *testing.T) {
	for name, most := range map[string]int{"vn1d": 2, "rare1d": 2, "cn2d": 2} {
		e := loadSet(t, name, "data.functions=65536")
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		grid, nodes := gridAndNodes(f)
		r, err := newReading(e, f, nil, nodes)
		if err != nil {
			t.Fatal(err)
		}
		trained, err := r.seenIn(t.Context(), e, f, nodes)
		if err != nil {
			t.Fatal(err)
		}
		far := 0
		for i := range 100 {
			function, err := f.Function(e.Data.Seed, e.Data.Functions+i)
			if err != nil {
				t.Fatal(err)
			}
			var law *density.Density
			if c, ok := function.System.(sde.Coefficients); ok {
				if law, err = density.New(c); err != nil {
					t.Fatal(err)
				}
			}
			if warnings, _ := r.compare(trained, function.Fields, grid, massAt(law, grid)); len(warnings) > 0 {
				far++
			}
		}
		if far > most {
			t.Errorf("%s: %d of 100 functions are out of range", name, far)
		}
	}
}

// A drift that points outward along one side of the grid gets a warning, also if it is far
// stronger inward elsewhere. A rotation does not.
func TestOutward(t *testing.T) {
	grid := sde.Grid{Lo: -4, Hi: 4, N: 33}
	for _, c := range []struct{ x, y, want string }{
		{"-x", "-y", ""},
		{"y", "-x", ""},
		{"y", "x - x^3 - y", ""},
		{"-x - y", "-y + x", ""},
		{"x", "-100*y", "along the side x = -4 of the model's grid the drift points outward, on average by 4: there may be no invariant law\nalong the side x = 4 "},
		{"-x", "1", "along the side y = 4 "},
	} {
		p, err := family.TabulatePlane([]string{c.x, c.y}, []string{"1"}, grid)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(outward(p), "\n"); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("(%s, %s): %q, want %q", c.x, c.y, got, c.want)
		}
	}
}
