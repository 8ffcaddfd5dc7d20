package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Of all processes that have a file of that name open, those count that the directory names.
func TestOpenLedgers(t *testing.T) {
	proc, runs := t.TempDir(), t.TempDir()
	process := func(pid int, files ...string) {
		fd := filepath.Join(proc, strconv.Itoa(pid), "fd")
		if err := os.MkdirAll(fd, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, file := range files {
			if err := os.Symlink(file, filepath.Join(fd, strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	coordinator := func(name string, pid int) string {
		dir := filepath.Join(runs, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "coordinator.json"), []byte(`{"pid":`+strconv.Itoa(pid)+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b, gone := coordinator("a", 7), coordinator("b", 8), coordinator("gone", 9)
	process(7, "/dev/null", "pipe:[12]", filepath.Join(a, "checkpoints.db"), filepath.Join(a, "coordinator.db"))
	process(8, filepath.Join(b, "coordinator.db"), filepath.Join(a, "coordinator.db")) // it reads the other's
	process(10, filepath.Join(gone, "coordinator.db"), filepath.Join(runs, "none", "coordinator.db"))
	process(11, filepath.Join(a, "coordinator.db")+" (deleted)")
	if got := openLedgers(proc); !slices.Equal(got, []string{a, b}) {
		t.Errorf("it finds %v", got)
	}
}

// A coordinator of this machine is found whatever its directory, and no more when it has ended.
func TestRunningHere(t *testing.T) {
	dir := t.TempDir()
	cmd := startCoordinator(t, dir)
	if !slices.Contains(runningHere(), dir) {
		t.Errorf("%s is not in %v", dir, runningHere())
	}
	cmd.Process.Kill()
	cmd.Wait()
	if slices.Contains(runningHere(), dir) {
		t.Error("it is still there after its end")
	}
}

// What finished last is read from its directory, and nothing there changes.
func TestLastRun(t *testing.T) {
	t.Chdir(t.TempDir())
	if last, ok := lastRun(t.Context()); ok {
		t.Errorf("without runs the last is %+v", last)
	}
	trainLocally(t, filepath.Join(runsDirectory, "one"), 1, "--set", "training.steps=20")
	trainLocally(t, filepath.Join(runsDirectory, "two"), 1, "--set", "training.steps=10")
	content := func() (all [][]byte) {
		for _, name := range []string{"checkpoints.db", "coordinator.db"} {
			b, err := os.ReadFile(filepath.Join(runsDirectory, "two", name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		return all
	}
	before := content()
	last, ok := lastRun(t.Context())
	if !ok || last.err != nil || last.dir != filepath.Join(runsDirectory, "two") || last.experiment != "vn1d/smoke" || last.step != 10 || last.steps != 10 || !last.hasLoss || last.page != "" {
		t.Errorf("the last is %+v", last)
	}
	written, err := os.Create("status.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func(own *checked) { stdout = own }(stdout)
	stdout = &checked{out: written}
	if err := printLast(t.Context()); err != nil {
		t.Fatal(err)
	}
	written.Close()
	text, _ := os.ReadFile("status.txt")
	for _, line := range []string{"\nlast        ergoflow-runs/two\n", "\nstate       finished, saved ", "\nstep        10 of 10\n", "\nlook at it  ergoflow checkpoints list --dir ergoflow-runs/two\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
	if !slices.EqualFunc(before, content(), bytes.Equal) {
		t.Error("to look changed the files")
	}
}
