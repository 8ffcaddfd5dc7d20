package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// warmly trains reproducibly from the newest state of a directory.
func warmly(t *testing.T, dir, from string, workers, steps int) *cluster {
	t.Helper()
	return start(t, dir, []string{"train", "vn1d", "--preset", "smoke", "--backend", backend.Go, "--reproducible",
		"--local", "--dir", dir, "--workers", fmt.Sprint(workers), "--start", from,
		"--set", "data.shards=16", "--set", "training.batch_functions=32", "--set", fmt.Sprintf("training.steps=%d", steps),
		"--set", "training.learning_rate=0.0003", "--set", "training.checkpoint_every=20",
		"--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50"})
}

// killAll kills the command and its children at once, as the end of the machine does.
func (c *cluster) killAll() {
	c.t.Helper()
	children := slices.Concat(slices.Collect(maps.Values(childrenOf(c.cmd.Process.Pid)))...)
	for _, pid := range append([]int{c.cmd.Process.Pid}, children...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			c.t.Log(err) // it has ended
		}
	}
	<-c.done
	gone(c.t, children)
}

// TestWarmStart: a run begins from the state of another. Killed as a whole, before its first
// step, before its first checkpoint and after it, the same command ends with the bits of an
// undisturbed run.
func TestWarmStart(t *testing.T) {
	needE2E(t)
	const steps = 150
	parent := reproducibly(t, backend.Go, 1, 40)
	parent.end()
	from := final(t, parent.dir)

	undisturbed := warmly(t, t.TempDir(), parent.dir, 1, steps)
	undisturbed.end()
	want := final(t, undisturbed.dir)
	e, err := experiment.Parse(want.Config)
	if err != nil {
		t.Fatal(err)
	}
	hash := from.ParameterHash()
	if s := e.Training.Start; s == nil || s.Run != from.Run || s.Step != 40 || s.Parameters != fmt.Sprintf("%x", hash) {
		t.Fatalf("start %+v", e.Training.Start)
	}
	if !maps.Equal(want.Normalisation, from.Normalisation) {
		t.Error("the run has another normalisation than the state from which it begins")
	}
	// The state is trained already, and a cold start is not.
	if warm, cold, trained := want.Losses[0], from.Losses[0], from.Losses[len(from.Losses)-1]; !(warm < (cold+trained)/2) {
		t.Errorf("the first loss is %g; that of a cold start %g, the last one of the parent %g", warm, cold, trained)
	}

	dir := t.TempDir()
	c := warmly(t, dir, parent.dir, 2, steps)
	for _, moment := range []struct {
		what string
		is   func(coordinator.Status) bool
	}{
		{"the run is submitted", func(st coordinator.Status) bool { return st.Run == want.Run }},
		{"step 3", func(st coordinator.Status) bool { return st.Step >= 3 }},
		{"step 50", func(st coordinator.Status) bool { return st.Step >= 50 }},
	} {
		c.until(moment.what, moment.is)
		c.killAll()
		c = warmly(t, dir, parent.dir, 2, steps)
	}
	c.end()
	equalBits(t, "killed three times", final(t, dir), want)

	shown, out := program(t.Context(), t, "checkpoints", "show", "latest", "--dir", dir)
	if err := shown.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var document struct{ Start experiment.Start }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil || document.Start.Run != from.Run {
		t.Errorf("checkpoints show: %v\n%s", err, out)
	}
}

// The latest checkpoint of the directory in which a warm start trains is its own after a
// while. Then the same command continues that run; a checkpoint that is named begins another.
func TestWarmStartInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	trainLocally(t, dir, 1, "--set", "training.steps=20")
	for _, want := range []string{"the run begins from run", "train: 30 steps"} {
		cmd, out := program(t.Context(), t, slices.Concat([]string{"train"}, small, []string{"--local", "--dir", dir, "--start", dir, "--set", "training.steps=30"})...)
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), want) {
			t.Fatalf("want %q: %v\n%s", want, err, out)
		}
	}
	store, done, err := readCheckpoints(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	latest, err := store.Get("latest")
	done()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out := program(t.Context(), t, slices.Concat([]string{"train"}, small,
		[]string{"--local", "--dir", dir, "--start", dir + "@" + latest.ID, "--set", "training.steps=30"})...)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), fmt.Sprintf("the run begins from run %.12s at step 30", latest.Run)) {
		t.Fatalf("%v\n%s", err, out)
	}
	if runs := runsIn(t, dir); runs != 3 {
		t.Errorf("%d runs, want 3", runs)
	}
}

// At step 0 a warm start on other data draws the samples of the state from which it begins, to
// the last bit.
func TestWarmStartSamplesAsItsParent(t *testing.T) {
	dir := t.TempDir()
	trainLocally(t, dir, 1, "--set", "training.steps=20")
	encoded, _, err := readEncoded(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.functions=512", "data.held_out_from=1024", "training.steps=5"})
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := e.StartFrom(encoded)
	if err == nil {
		first, err = state.Seal(first)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "start.safetensors")
	if err := os.WriteFile(file, first, 0o644); err != nil {
		t.Fatal(err)
	}
	var drawn [2][]byte
	for i, checkpoint := range []string{dir, file} {
		out := filepath.Join(t.TempDir(), "x.npy")
		cmd, said := program(t.Context(), t, "sample", "--checkpoint", checkpoint, "--function", "7", "-n", "256", "--backend", "go", "-o", out)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if drawn[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(drawn[0], drawn[1]) {
		t.Error("other samples")
	}
}

func runsIn(t *testing.T, dir string) int {
	t.Helper()
	cmd, out := program(t.Context(), t, "verify", "run", "--dir", dir, "--json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("verify run: %v\n%s", err, out)
	}
	var results []verified
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	return len(results)
}

// A run that can only begin from random parameters and must not fails, with a line that says
// so. States that do not fit are refused before anything is started.
func TestRefusedWarmStarts(t *testing.T) {
	dir := t.TempDir()
	trainLocally(t, dir, 1, "--set", "training.steps=5")
	elsewhere := filepath.Join(t.TempDir(), "run")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"another width": {[]string{"--start", dir, "--set", "model.deeponet.trunk_width=64"}, exitUsage, "tensor trunk.hidden0.weight"},
		"no checkpoint": {[]string{"--start", filepath.Join(dir, "none.safetensors")}, exitFailure, "none.safetensors"},
		"its state is missing": {[]string{"--set", "training.start={run: a, step: 3, parameters: " + strings.Repeat("ab", 32) +
			", normalisation: {drift: {mean: 0, std: 1}, diffusion: {mean: 0, std: 1}}}"}, exitFailure, "the state from which it begins is missing (parameters abababababab)"},
	} {
		cmd, out := program(t.Context(), t, slices.Concat([]string{"train"}, small, []string{"--local", "--dir", elsewhere}, c.args)...)
		err := cmd.Run()
		if err == nil || cmd.ProcessState.ExitCode() != c.code || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), "hint: ") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
