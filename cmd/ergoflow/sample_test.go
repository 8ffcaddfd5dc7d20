package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/request"
)

// TestRequestErrors: an error names the flag that sample refuses, with a hint. Requests that
// cannot be read are wrong usage, equations without a law are failures.
func TestRequestErrors(t *testing.T) {
	for _, test := range []struct {
		experiment, drift, diffusion string
		code                         int
		words                        string
	}{
		{"vn1d", "x", "1", exitFailure, "--drift: "},
		{"vn1d", "-x", "0", exitFailure, "--diffusion: "},
		{"vn1d", "-log(x)", "1", exitFailure, "at x = "},
		{"vn1d", "y", "1", exitUsage, "--drift: "},
		{"cn2d", "-x", "1", exitUsage, "--drift: "},
		{"particles64d", "-x", "1", exitUsage, "--drift: "},
	} {
		e, err := experiment.Load(test.experiment, "smoke", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := e.Family()
		if err != nil {
			t.Fatal(err)
		}
		_, err = request.Request{Drift: []string{test.drift}, Diffusion: []string{test.diffusion}}.Resolve(t.Context(), e, f, nil)
		if err == nil {
			t.Errorf("%s takes drift %s and diffusion %s", test.experiment, test.drift, test.diffusion)
			continue
		}
		err = requestError(err)
		if code := fail(io.Discard, err); code != test.code || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s, drift %s, diffusion %s: code %d, %v", test.experiment, test.drift, test.diffusion, code, err)
		}
		if test.code == exitFailure && hintFor(err) == "" {
			t.Errorf("%v has no hint", err)
		}
	}
}

// TestSampleWarns: warnings are on standard error and in the JSON document.
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
