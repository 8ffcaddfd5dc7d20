package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// TestInterrupt: Ctrl-C in any stage ends all processes in order and hints at the same
// command, which continues.
func TestInterrupt(t *testing.T) {
	generating := func(st coordinator.Status) bool { return st.State == "generating" && len(st.Workers) == 2 }
	for _, test := range []struct {
		stage string
		when  func(coordinator.Status) bool
		more  []string
		again bool
	}{
		{"generating", generating, []string{"--set", "data.training.burn_in=2000000"}, false}, // all of it would take minutes
		{"training", training(2, 20), []string{"--set", "training.steps=200"}, true},          // a fast machine makes dozens between two looks
	} {
		t.Run(test.stage, func(t *testing.T) {
			more := slices.Concat(slow, test.more)
			c := startCluster(t, t.TempDir(), 2, more...)
			st := c.until(test.stage, test.when)
			c.cmd.Process.Signal(syscall.SIGINT)
			err := <-c.done
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
				t.Errorf("ended with %v, not code %d", err, exitFailure)
			}
			if !strings.Contains(c.out.String(), "ergoflow: interrupted\nhint: the same command continues") {
				t.Errorf("said\n%s", c.out)
			}
			pids := []int{st.PID}
			for _, w := range st.Workers {
				pids = append(pids, w.PID)
			}
			gone(t, pids)
			if left, _ := filepath.Glob(filepath.Join(c.dir, "shards", "*", ".*")); len(left) > 0 {
				t.Errorf("half-written shards are left: %v", left)
			}
			if !test.again {
				return
			}
			// Settings that are not in the run's hash may change, also where the workers train before the
			// command submits them.
			more = append(more, "--set", "training.checkpoint_every=20", "--set", "evaluation.solver=euler-4")
			startCluster(t, c.dir, 2, more...).end()
			got := final(t, c.dir)
			if got.Step != 200 {
				t.Errorf("the same command ended at step %d", got.Step)
			}
			if p := proven(t, c.dir); p.Generations < 2 {
				t.Errorf("the same command started again from the beginning: %+v", p)
			}
			if e, err := experiment.Parse(got.Config); err != nil || e.Training.CheckpointEvery != 20 || e.Evaluation.Solver != "euler-4" {
				t.Errorf("the state's configuration is the first one: %+v, %v", e, err)
			}
			imported(t, c.dir, got)
		})
	}
}

// TestHangup: a closed terminal ends a coordinator, a worker and a run in order. The output of the
// first two has no reader from the beginning, as where `tee` was killed: they work all the same.
// Under nohup the coordinator stays.
func TestHangup(t *testing.T) {
	// Children of a process that ignores SIGHUP, as under nohup, ignore it too; of one that
	// catches it they do not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	dir := t.TempDir()
	reader, unread, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	reader.Close()
	boss, out := program(t.Context(), t, "coordinator", "--dir", dir, "--insecure")
	boss.Stderr = unread
	if err := boss.Start(); err != nil {
		t.Fatal(err)
	}
	worker, _ := program(t.Context(), t, "worker", "--backend", "go", "--insecure", "--join", addresses(t, dir, out).Gossip)
	worker.Stdout, worker.Stderr = unread, unread
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, out: out}
	c.until("a worker is there", func(st coordinator.Status) bool { return len(st.Workers) == 1 })
	for _, cmd := range []*exec.Cmd{worker, boss} { // workers of a coordinator that left end, too
		cmd.Process.Signal(syscall.SIGHUP)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v, whose terminal closed: %v", cmd.Args, err)
		}
	}

	c = startCluster(t, t.TempDir(), 1, slow...)
	st := c.until("training", training(1, 2))
	c.cmd.Process.Signal(syscall.SIGHUP)
	err = <-c.done
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailure || !strings.Contains(c.out.String(), "ergoflow: interrupted\nhint: the same command continues") {
		t.Errorf("a run whose terminal closed ended with %v and said\n%s", err, c.out)
	}
	gone(t, []int{st.PID, st.Workers[0].PID})
	if final(t, c.dir).Step < 2 {
		t.Error("the run saved nothing")
	}

	signal.Ignore(syscall.SIGHUP) // as nohup does: a child inherits it
	dir = t.TempDir()
	kept, out := program(t.Context(), t, "coordinator", "--dir", dir)
	err = kept.Start()
	signal.Notify(caught, syscall.SIGHUP)
	if err != nil {
		t.Fatal(err)
	}
	addresses(t, dir, out)
	kept.Process.Signal(syscall.SIGHUP)
	if status, said := program(t.Context(), t, "status", "--dir", dir); status.Run() != nil {
		t.Errorf("under nohup: %s", said)
	}
	kept.Process.Signal(syscall.SIGTERM)
	if err := kept.Wait(); err != nil {
		t.Errorf("under nohup: %v\n%s", err, out)
	}
}

func TestInterruptEvaluation(t *testing.T) {
	dir := t.TempDir()
	args := slices.Concat([]string{"run"}, small, []string{"--dir", dir, "--workers", "1",
		"--set", "training.steps=8", "--set", "data.reference_samples=2048", "--set", "evaluation.samples=2048"})
	evaluating := &listener{words: "reference: sample: ", heard: make(chan struct{})}
	c := start(t, dir, args, evaluating)
	select {
	case <-evaluating.heard:
	case err := <-c.done:
		t.Fatalf("the program ended before its evaluation began: %v\n%s%s", err, c.out, logs(dir))
	}
	c.cmd.Process.Signal(syscall.SIGINT)
	err := <-c.done
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Fatalf("ended with %v, not code %d\n%s", err, exitFailure, c.out)
	}
	if !strings.Contains(c.out.String(), "ergoflow: interrupted\nhint: the same command continues") {
		t.Errorf("said\n%s", c.out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "report", "*")); len(left) > 0 {
		t.Errorf("half a report is left: %v", left)
	}
	again := start(t, dir, args)
	again.end()
	if _, err := os.Stat(filepath.Join(dir, "report", "report.html")); err != nil {
		t.Error(err)
	}
}

// TestLeaveDeadCoordinator: workers that make data leave in order when their coordinator
// was killed, and say nothing of a device.
func TestLeaveDeadCoordinator(t *testing.T) {
	dir := t.TempDir()
	boss := start(t, dir, []string{"coordinator", "--dir", dir})
	defer boss.cmd.Process.Kill()
	var workers []*cluster
	gossip := addresses(t, dir, boss.out).Gossip
	for range 2 {
		workers = append(workers, start(t, dir, []string{"worker", "--join", gossip, "--backend", "go"}))
	}
	start(t, dir, []string{"generate", "vn1d", "--preset", "smoke", "--dir", dir, "--set", "data.training.burn_in=2000000"})
	boss.until("both make shards", func(st coordinator.Status) bool { // the reference takes much longer
		busy := 0
		for _, w := range st.Workers {
			if w.Doing == "generating" {
				busy++
			}
		}
		return busy == 2 && st.Shards.Done > 0
	})
	boss.cmd.Process.Kill()
	for _, w := range workers {
		w.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, w := range workers {
		if err := <-w.done; err != nil || strings.Contains(w.out.String(), "does not stop") {
			t.Errorf("a worker: %v\n%s", err, w.out)
		}
	}
}
