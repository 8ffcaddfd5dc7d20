package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
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

// TestSampleWarnsOfLaw: sample warns on standard error and in the JSON document of what nobody
// should trust, before it draws samples and of those that it has drawn. Those are reasons of
// the certificate, too.
func TestSampleWarnsOfLaw(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0)
	for _, test := range []struct{ drift, diffusion, before, after string }{
		{"-0.05*x", "1.5", "29 % of the invariant law is outside the model's grid, -5…5: there", ", the law's is 22.5"},
		{"-(x-4.9)", "0.3", "32 % of the invariant law", ", the law's is 4.9"},
		{"-x/(1+x^2)", "1", "the invariant law has no mean and no variance", "13 % of the law is outside the model's grid"},
		{"-x", "9", "the diffusion is 9 at x = ", ", the law's is 40.5"},
	} {
		cmd, out := program(t.Context(), t, "sample", "--checkpoint", dir, "--drift", test.drift, "--diffusion", test.diffusion,
			"--backend", "go", "-n", "1000", "-o", filepath.Join(dir, "x.npy"), "--json")
		if err := cmd.Run(); err != nil || strings.Count(out.String(), test.before) != 2 || strings.Count(out.String(), test.after) != 3 {
			t.Errorf("drift %s, diffusion %s: %v\n%s", test.drift, test.diffusion, err, out)
		}
	}
}

// TestSampleRepairs: samples of an untrained network are not to be used, and are good when
// they have been repaired. The document says by how many steps.
func TestSampleRepairs(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0)
	for _, test := range []struct {
		repair string
		want   []string
	}{
		{"none", []string{`"verdict": "do not use"`, `"warnings": [` + "\n", `"seed": 0`, "hint: add --repair auto"}},
		{"300", []string{`"verdict": "good"`, `"steps": 300`, `"warnings": []`, `"exact": {`, `"run": "`, `"step": `}},
		{"auto", []string{`"verdict": "good"`, `"settled": true`, `"auto": true`, `"warnings": []`}},
	} {
		cmd, out := program(t.Context(), t, "sample", "--checkpoint", dir, "--drift", "-2*(x-1)", "--diffusion", "1",
			"--backend", "go", "-n", "4096", "-o", filepath.Join(dir, "x.npy"), "--repair", test.repair, "--json")
		err := cmd.Run()
		for _, want := range test.want {
			if err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("--repair %s lacks %s: %v\n%s", test.repair, want, err, out)
			}
		}
	}
	for _, repair := range []string{"0", "-1", "some", "1.5", "9999999999"} {
		cmd, out := program(t.Context(), t, "sample", "--checkpoint", dir, "--function", "0", "-o", filepath.Join(dir, "x.npy"), "--repair", repair)
		if err := cmd.Run(); err == nil || !strings.Contains(out.String(), "not none, auto, weights or a number of steps") {
			t.Errorf("--repair %s: %v\n%s", repair, err, out)
		}
	}
}

// TestSampleWarnsOfConstants: a diffusion that all functions of a training set share, for
// which checkpoints have the deviation 1, is compared with its value. In the plane every
// component is.
func TestSampleWarnsOfConstants(t *testing.T) {
	dir := t.TempDir()
	save := func(sets ...string) string {
		_, plan, st := untrained(t, sets...)
		st.Normalisation = shard.Normalisation{"drift": {Mean: 0, Std: 4}, "diffusion": {Mean: 1, Std: 1}}
		encoded, err := st.Encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, plan.Run[:8]+".safetensors")
		if err := os.WriteFile(path, encoded, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := save(`data.family='{name: unit_noise, dim: 1, grid: {lo: -4, hi: 4, nodes: 64}, parameters: {a: "uniform(0.5, 2)"}, drift: -a*x, diffusion: 1}'`)
	plane := save(`data.family='{name: duffing, dim: 2, grid: {lo: -4, hi: 4, nodes: 32}, parameters: {a: "uniform(0.5, 1.5)", s: "uniform(0.4, 0.8)"}, drift: [y, a*x - x^3 - y], diffusion: ["0", s]}'`,
		"model.deeponet.dimension=2", "model.deeponet.kernel=3", "model.deeponet.fields=[{name: drift, shape: [32, 32, 2]}, {name: diffusion, shape: [32, 32, 2]}]")
	duffing := []string{"--drift", "y", "--drift", "x - x^3 - y", "--diffusion"}
	for _, test := range []struct {
		checkpoint string
		equation   []string
		want       string // empty for no warning about the diffusion
	}{
		{line, []string{"--drift", "-x", "--diffusion", "1"}, ""},
		{line, []string{"--drift", "-x", "--diffusion", "5"}, "the diffusion is 5 at x = -4, where 256 functions of the training set all have 1"},
		{plane, append(duffing, "0", "--diffusion", "0.6"), ""},
		{plane, append(duffing, "0", "--diffusion", "3"), "the diffusion along y is 3 at (-4, -4), where 256 functions of the training set have 0.4"},
		{plane, append(duffing, "0.6", "--diffusion", "0"), "the diffusion along x is 0.6 at (-4, -4), where 256 functions of the training set all have 0"},
	} {
		args := append([]string{"sample", "--checkpoint", test.checkpoint, "--backend", "go", "-n", "10", "-o", filepath.Join(dir, "x.npy"), "--json"}, test.equation...)
		cmd, out := program(t.Context(), t, args...)
		if err := cmd.Run(); err != nil || strings.Contains(out.String(), "the diffusion") != (test.want != "") || test.want != "" && strings.Count(out.String(), test.want) != 2 {
			t.Errorf("%q: %v\n%s", test.equation, err, out)
		}
	}
}

// TestSampleWarns: warnings are on standard error and in the JSON document.
func TestSampleWarns(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0) // normalised by 0 and 1
	for drift, lines := range map[string]int{"-x": 0, "-10*x": 2} {
		cmd, out := program(t.Context(), t, "sample", "--checkpoint", dir, "--drift", drift, "--diffusion", "1",
			"--backend", "go", "-n", "10", "-o", filepath.Join(dir, "x.npy"), "--json") // too few to be judged
		if err := cmd.Run(); err != nil || strings.Count(out.String(), "the drift is ") != lines || strings.Count(out.String(), `"warnings": []`) != 1-lines/2 {
			t.Errorf("drift %s: %v\n%s", drift, err, out)
		}
	}
}
