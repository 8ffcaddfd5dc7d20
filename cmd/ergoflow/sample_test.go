package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// TestFormulasWithoutLaw: sample refuses equations that have no invariant law, and
// those at a time have one.
func TestFormulasWithoutLaw(t *testing.T) {
	for _, test := range []struct {
		experiment, drift, diffusion string
		want                         error
		words                        string
	}{
		{"vn1d", "-x", "1", nil, ""},
		{"vn1d", "x", "1", density.ErrNotNormalisable, "--drift: "},
		{"vn1d", "x*x", "1", density.ErrNotNormalisable, "right end"},
		{"vn1d_time", "x", "1", nil, ""},
		{"vn1d", "-log(x)", "1", sde.ErrNotFinite, "at x = "},
		{"vn1d", "-x", "0", sde.ErrNotPositive, "--diffusion: diffusion 0 at x = "},
		{"vn1d_time", "-x", "-1", sde.ErrNotPositive, "--diffusion: diffusion -1 at x = "},
	} {
		e, err := experiment.Load(test.experiment, "smoke", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = equation(e, nil, []string{test.drift}, []string{test.diffusion})
		if !errors.Is(err, test.want) || err != nil && (!strings.Contains(err.Error(), test.words) || hintFor(err) == "") {
			t.Errorf("%s, drift %s, diffusion %s: %v (hint: %s)", test.experiment, test.drift, test.diffusion, err, hintFor(err))
		}
	}
}

// TestUnseen: sample warns of what formulas have between the model's nodes, on the
// line as in the plane.
func TestUnseen(t *testing.T) {
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
		e, err := experiment.Load(test.experiment, "smoke", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, warnings, err := equation(e, nil, test.drift, test.diffusion)
		got := ""
		for _, w := range warnings {
			if strings.Contains(w, "does not see it there") {
				got += w
			}
		}
		if err != nil || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s, drift %q, diffusion %q: %q, error %v", test.experiment, test.drift, test.diffusion, warnings, err)
		}
	}
}

func TestUnfamiliar(t *testing.T) {
	c := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 3}, Drift: []float32{9, 1, -11}, Diffusion: []float32{1, 1, 2}}
	for _, test := range []struct {
		trained shard.Normalisation
		want    string
	}{
		{shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 1, Std: 1}}, ""},
		{shard.Normalisation{"drift": {Mean: 1, Std: 1.9}, "diffusion": {Mean: 1, Std: 1}}, "the drift is -11 at x = 1, 6.32 standard deviations"},
		{shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 1, Std: 0.1}}, "the diffusion is 2 at x = 1, 10 standard deviations"},
		{shard.Normalisation{"diffusion": {Mean: 10, Std: 3}}, "the diffusion is 1 at x = -1, 7.7 standard deviations"}, // of logarithms
		{shard.Normalisation{"diffusion": {Mean: 10, Std: 6}}, ""},
		{nil, ""},
	} {
		if got := strings.Join(unfamiliar(c, test.trained), ";"); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v: %q, want %q", test.trained, got, test.want)
		}
	}
}

// TestSampleWarns on standard error and in the document.
func TestSampleWarns(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0) // normalised by 0 and 1
	for drift, lines := range map[string]int{"-x": 0, "-10*x": 2} {
		cmd, out := program(t.Context(), t, "sample", "--checkpoint", dir, "--drift", drift, "--diffusion", "1",
			"--backend", "go", "-n", "10", "-o", filepath.Join(dir, "x.npy"), "--json")
		if err := cmd.Run(); err != nil || strings.Count(out.String(), "the drift is ") != lines || strings.Count(out.String(), `"warnings"`) != lines/2 {
			t.Errorf("drift %s: %v\n%s", drift, err, out)
		}
	}
}
