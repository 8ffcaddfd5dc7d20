package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// These tests run whole clusters of real processes: this test binary under the
// program's name.

// patience bounds every wait; a busy machine may need much of it.
const patience = 3 * time.Minute

// small is an experiment of 200 steps that pure Go trains in seconds.
var small = []string{
	"vn1d", "--preset", "smoke", "--backend", "go",
	"--set", "training.steps=200", "--set", "training.checkpoint_every=50",
	"--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50",
}

// program is the program with arguments. Its output is kept for failures.
func program(ctx context.Context, t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = "ergoflow"
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd, out
}

// trainLocally runs the small experiment with n workers to its end.
func trainLocally(t *testing.T, dir string, n int, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := slices.Concat([]string{"train"}, small, []string{"--local", "--dir", dir, "--workers", fmt.Sprint(n)}, more)
	cmd, out := program(ctx, t, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("train with %d workers: %v\n%s%s", n, err, out, logs(dir))
	}
}

// logs are the ends of a cluster's logs, for failures.
func logs(dir string) string {
	var all strings.Builder
	paths, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	for _, p := range paths {
		fmt.Fprintf(&all, "-- %s\n%s\n", filepath.Base(p), strings.Join(tailLines(p, 3000), "\n"))
	}
	return all.String()
}

// tailLines are the lines in the last n bytes of a file.
func tailLines(path string, n int) []string {
	b, _ := os.ReadFile(path)
	return strings.Split(string(bytes.TrimSpace(b[max(0, len(b)-n):])), "\n")
}

// proven is the proof of `verify run` for the one run in a directory: it learned from
// every block exactly once.
func proven(t *testing.T, dir string) ledger.Proof {
	t.Helper()
	cmd, out := program(t.Context(), t, "verify", "run", "--dir", dir, "--json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("verify run: %v\n%s", err, out)
	}
	var results []verified
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || !results[0].Proven || results[0].Proof.Steps != results[0].Step {
		t.Fatalf("verify run: %s", out)
	}
	return *results[0].Proof
}

// final is the last checkpoint of a directory, proven.
func final(t *testing.T, dir string) *state.State {
	t.Helper()
	proven(t, dir)
	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, encoded, err := store.Read("latest")
	if err != nil {
		t.Fatal(err)
	}
	_, st, err := experiment.DecodeState(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// equalToRounding compares two runs of the same batches: floating-point sums in
// another order, and nothing else, may differ.
func equalToRounding(t *testing.T, what string, got, want *state.State) {
	t.Helper()
	if got.Step != want.Step || len(got.Losses) != len(want.Losses) {
		t.Fatalf("%s: ended at step %d instead of %d", what, got.Step, want.Step)
	}
	for i := range got.Losses {
		if d := math.Abs(got.Losses[i] - want.Losses[i]); !(d <= 2e-4*math.Abs(want.Losses[i])) {
			t.Fatalf("%s: the loss of step %d is %.8g instead of %.8g", what, i, got.Losses[i], want.Losses[i])
		}
	}
	worst := 0.0
	for i := range got.Parameters {
		worst = max(worst, math.Abs(float64(got.Parameters[i]-want.Parameters[i])))
	}
	if !(worst <= 2e-3) {
		t.Errorf("%s: a parameter differs by %g", what, worst)
	}
}

func TestWorkerCountsAgree(t *testing.T) {
	needE2E(t)
	one := t.TempDir()
	trainLocally(t, one, 1)
	want := final(t, one)
	if first, last := want.Losses[0], want.Losses[len(want.Losses)-1]; !(last < first) {
		t.Errorf("the loss went from %g to %g", first, last)
	}
	for n := 2; n <= 3; n++ {
		dir := t.TempDir()
		trainLocally(t, dir, n)
		equalToRounding(t, fmt.Sprintf("%d workers", n), final(t, dir), want)
	}
}

// Workers compute the probes of the functions that they train on. Their number changes
// nothing either, nor do alternating numbers of sensors and small micro-batches.
func TestWorkerCountsAgreeOnProbes(t *testing.T) {
	needE2E(t)
	for name, sets := range map[string][]string{
		"cn2d":          nil,
		"cn2d_transfer": {"--set", "training.sensors=[12,4,8]"},
		"particles64d":  {"--set", "training.steps=4"},
	} {
		t.Run(name, func(t *testing.T) {
			train := func(workers int) *state.State {
				dir := t.TempDir()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				args := append([]string{"train", name, "--preset", "smoke", "--backend", "go", "--local", "--dir", dir, "--workers", fmt.Sprint(workers)}, sets...)
				cmd, out := program(ctx, t, args...)
				if err := cmd.Run(); err != nil {
					t.Fatalf("train with %d workers: %v\n%s%s", workers, err, out, logs(dir))
				}
				return final(t, dir)
			}
			want := train(1)
			for n := 2; n <= 3; n++ {
				equalToRounding(t, fmt.Sprintf("%d workers", n), train(n), want)
			}
			sets = append(sets, "--set", "training.micro_batch=4")
			equalToRounding(t, "in micro-batches", train(1), want)
		})
	}
}

// A cluster that a test disturbs while it trains.
type cluster struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	out  *bytes.Buffer
	done chan error
}

// startCluster trains the small experiment on a local cluster.
func startCluster(t *testing.T, dir string, workers int, more ...string) *cluster {
	t.Helper()
	return start(t, dir, slices.Concat([]string{"train"}, small, []string{"--local", "--dir", dir, "--workers", fmt.Sprint(workers)}, more))
}

// start starts the program with arguments that name dir. Its output goes to listeners too.
func start(t *testing.T, dir string, args []string, listeners ...io.Writer) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd, out := program(ctx, t, args...)
	both := io.MultiWriter(append(listeners, out)...)
	cmd.Stdout, cmd.Stderr = both, both
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, cmd: cmd, out: out, done: make(chan error, 1)}
	go func() { c.done <- cmd.Wait(); close(c.done) }() // so that later receivers do not block
	return c
}

// A listener closes heard when what is written to it has the words.
type listener struct {
	words string
	said  []byte
	heard chan struct{}
}

func (l *listener) Write(b []byte) (int, error) {
	before := bytes.Contains(l.said, []byte(l.words))
	l.said = append(l.said, b...)
	if !before && bytes.Contains(l.said, []byte(l.words)) {
		close(l.heard)
	}
	return len(b), nil
}

// status asks the coordinator; ok is false while none answers.
func (c *cluster) status() (st coordinator.Status, ok bool) {
	cmd, out := program(c.t.Context(), c.t, "status", "--dir", c.dir, "--json")
	if cmd.Run() != nil || json.Unmarshal(out.Bytes(), &st) != nil {
		return st, false
	}
	return st, true
}

// until polls the status until it is as wanted, and fails when the cluster ends.
func (c *cluster) until(what string, wanted func(coordinator.Status) bool) coordinator.Status {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if st, ok := c.status(); ok && wanted(st) {
			return st
		}
		select {
		case err := <-c.done:
			c.t.Fatalf("the cluster ended before %s: %v\n%s%s", what, err, c.out, logs(c.dir))
		case <-time.After(20 * time.Millisecond): // another process's status is polled
		}
	}
	c.t.Fatalf("waited too long for %s\n%s", what, logs(c.dir))
	panic("unreachable")
}

// end waits for the cluster to finish its run.
func (c *cluster) end() {
	c.t.Helper()
	if err := <-c.done; err != nil {
		c.t.Fatalf("train: %v\n%s%s", err, c.out, logs(c.dir))
	}
}

// join starts one more worker, on the Go backend, which drains when the test ends.
func (c *cluster) join() {
	c.t.Helper()
	addresses, err := coordinator.ReadAddresses(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	worker, out := program(ctx, c.t, "worker", "--join", addresses.Gossip, "--backend", "go")
	if err := worker.Start(); err != nil {
		cancel()
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		defer cancel()
		worker.Process.Signal(syscall.SIGTERM)
		if err := worker.Wait(); ctx.Err() != nil || err != nil && worker.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			c.t.Errorf("a worker that joined: %v\n%s", err, out)
		}
	})
}

// addresses waits for those of the coordinator in a directory, which writes to out.
func addresses(t *testing.T, dir string, out *bytes.Buffer) coordinator.Addresses {
	t.Helper()
	return addressesOf(t, dir, 0, out)
}

// addressesOf waits for those of the coordinator that is a certain process: one that was killed
// leaves its addresses there. Process 0 is any.
func addressesOf(t *testing.T, dir string, pid int, out *bytes.Buffer) coordinator.Addresses {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; {
		a, err := coordinator.ReadAddresses(dir)
		switch {
		case err == nil && (pid == 0 || a.PID == pid):
			return a
		case err != nil && !errors.Is(err, coordinator.ErrNotRunning):
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond) // the file of another process is polled
	}
	t.Fatalf("the coordinator does not come up\n%s", out)
	panic("unreachable")
}

// training says that a generation of n workers has reached the step.
func training(n, step int) func(coordinator.Status) bool {
	return func(st coordinator.Status) bool {
		return st.State == "training" && st.WorldSize == n && int(st.Step) >= step
	}
}

// slow makes the small experiment long enough to be disturbed: larger batches
// of a larger network, though fewer of them.
var slow = []string{
	"--set", "model.deeponet.trunk_width=128", "--set", "training.batch_functions=64",
	"--set", "training.steps=60", "--set", "training.checkpoint_every=15",
}

func TestDisturbedTrainingIsTheSame(t *testing.T) {
	needE2E(t)
	undisturbed := t.TempDir()
	trainLocally(t, undisturbed, 1, slow...)
	want := final(t, undisturbed)

	t.Run("worker killed", func(t *testing.T) {
		c := startCluster(t, t.TempDir(), 2, slow...)
		st := c.until("step 20", training(2, 20))
		syscall.Kill(ranked(st, 0), syscall.SIGKILL)
		c.until("another generation", func(s coordinator.Status) bool { return s.Generation > st.Generation && s.Step > st.Step })
		c.end()
		equalToRounding(t, "after a SIGKILL", final(t, c.dir), want)
		if p := proven(t, c.dir); p.Generations < 2 || p.Workers < 2 {
			t.Errorf("the ledger lacks generations or workers: %+v", p)
		}
	})

	t.Run("coordinator killed", func(t *testing.T) {
		c := startCluster(t, t.TempDir(), 2, slow...)
		st := c.until("step 20", training(2, 20))
		syscall.Kill(st.PID, syscall.SIGKILL)
		c.until("it is back", func(s coordinator.Status) bool { return s.PID != st.PID && s.Step > st.Step })
		c.end()
		equalToRounding(t, "after a SIGKILL of the coordinator", final(t, c.dir), want)
		if said := "coordinator ended: signal: killed; it is started again (1 of 3 times)\n"; strings.Count(c.out.String(), said) != 1 {
			t.Errorf("said not once %q:\n%s", said, c.out)
		}
	})

	t.Run("coordinator killed too often", func(t *testing.T) {
		c := startCluster(t, t.TempDir(), 2, slow...)
		st := c.until("step 5", training(2, 5))
		for n := range 4 {
			syscall.Kill(st.PID, syscall.SIGKILL)
			if n < 3 {
				st = c.until("it is back", func(s coordinator.Status) bool { return s.PID != st.PID })
			}
		}
		if err := <-c.done; err == nil {
			t.Errorf("training ended well, without a coordinator:\n%s", c.out)
		}
		for _, said := range []string{"it is started again (3 of 3 times)\n", "\nergoflow: coordinator ended: signal: killed\nhint: the same command continues"} {
			if !strings.Contains(c.out.String(), said) {
				t.Errorf("did not say %q:\n%s", said, c.out)
			}
		}
		startCluster(t, c.dir, 2, slow...).end()
		equalToRounding(t, "after the same command", final(t, c.dir), want)
	})

	t.Run("worker drains, another joins", func(t *testing.T) {
		c := startCluster(t, t.TempDir(), 2, slow...)
		st := c.until("step 20", training(2, 20))
		syscall.Kill(st.Workers[0].PID, syscall.SIGTERM)
		st = c.until("one worker", training(1, int(st.Step)+1))
		c.join()
		c.until("two workers again", training(2, int(st.Step)+1))
		c.end()
		equalToRounding(t, "after a drain and a join", final(t, c.dir), want)
	})

	t.Run("everything killed, then started again", func(t *testing.T) {
		dir := t.TempDir()
		// Often, so that even a disk that stalls for seconds has one before training ends.
		often := slices.Concat(slow, []string{"--set", "training.checkpoint_every=10"})
		c := startCluster(t, dir, 2, often...)
		st := c.until("a checkpoint", func(s coordinator.Status) bool { return s.Checkpoint != nil && s.State == "training" })
		pids := []int{c.cmd.Process.Pid, st.PID}
		for _, w := range st.Workers {
			pids = append(pids, w.PID)
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		<-c.done
		gone(t, pids)
		again := startCluster(t, dir, 2, often...)
		again.end()
		got := final(t, dir)
		equalToRounding(t, "after a restart", got, want)
		if first := got.Ledger.Stretches[0]; first.Generation > st.Generation {
			t.Errorf("training started again from the beginning, in generation %d, after the kill in %d\n%s", first.Generation, st.Generation, logs(dir))
		}
		if p := proven(t, dir); p.Generations < 2 {
			t.Errorf("the ledger lacks the restart: %+v", p)
		}
	})

	t.Run("parent killed", func(t *testing.T) {
		dir := t.TempDir()
		c := startCluster(t, dir, 2, slow...)
		st := c.until("step 20", training(2, 20))
		syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL)
		<-c.done
		pids := []int{st.PID}
		for _, w := range st.Workers {
			pids = append(pids, w.PID)
		}
		gone(t, pids) // they save and leave
		if got := final(t, dir).Step; int64(got) < int64(st.Step) {
			t.Errorf("training had reached step %d, but only step %d was saved", st.Step, got)
		}
	})
}

// imported exports a directory's state and imports it into another, where generations
// have to count on from the state's last.
func imported(t *testing.T, dir string, want *state.State) {
	t.Helper()
	other, file := t.TempDir(), filepath.Join(t.TempDir(), "state.safetensors")
	for _, args := range [][]string{{"export", "latest", "--dir", dir, "-o", file}, {"import", file, "--dir", other}} {
		cmd, out := program(t.Context(), t, append([]string{"checkpoints"}, args...)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	store, err := checkpoint.Open(coordinator.CheckpointPath(other), true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all, err := store.Run(want.Run)
	if last := want.Ledger.Stretches[len(want.Ledger.Stretches)-1]; err != nil || len(all) != 1 || all[0].Generation != last.Generation {
		t.Errorf("the import is %+v, not of generation %d (%v)", all, last.Generation, err)
	}
}

// gone waits until all processes have ended: children leave by themselves when their
// parent is killed.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for _, pid := range pids {
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
				break // a zombie: ended, not yet reaped by init
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is an orphan", pid)
			}
			<-time.After(20 * time.Millisecond) // a process that is no child of this one is polled
		}
	}
}
