package main

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/model/report/reproduce"
	"github.com/ergoflow/ergoflow/model/training/state"
)

func TestHints(t *testing.T) {
	for hint, err := range map[string]error{
		"checkpoints list":     checkpoint.ErrAmbiguous,
		"all but device":       simulate.ErrEngine,
		"a smaller probes.dt":  fmt.Errorf("probes of function 3: %w", probe.ErrDiverged),
		"permissions":          &fs.PathError{Op: "open", Path: "ro/logs", Err: fs.ErrPermission},
		"ulimit -u":            &conduct.ProcessError{Name: "worker-0", Reason: "exit status 2: runtime/cgo: pthread_create failed: Resource temporarily unavailable"},
		"ulimit -f":            &conduct.ProcessError{Name: "coordinator", Hint: hintFor(boltfile.ErrLimit)},
		"delete the directory": fmt.Errorf("%w: runs/a/state.safetensors: %w", reproduce.ErrCorrupt, state.ErrCorrupt),
	} {
		if got := hintFor(fmt.Errorf("some command: %w", err)); !strings.Contains(got, hint) {
			t.Errorf("%v has the hint %q", err, got)
		}
	}
}

// Only commands that store their work continue.
func TestInterrupted(t *testing.T) {
	for command, hint := range map[string]string{
		"ergoflow run": "continues", "ergoflow train": "continues", "ergoflow verify run": "starts again",
		"ergoflow sample": "starts again", "ergoflow evaluate": "starts again", "ergoflow simulate": "starts again",
	} {
		if got := hintFor(interrupted(command)); !strings.Contains(got, hint) {
			t.Errorf("%s has the hint %q", command, got)
		}
	}
}

// Ctrl-C ends a simulation.
func TestInterruptSimulation(t *testing.T) {
	t.Parallel() // nearly all of it is waiting for the first line of progress
	output := filepath.Join(t.TempDir(), "x.npy")
	cmd, out := program(t.Context(), t, "simulate", "--drift", "-x", "--diffusion", "1", "--chains", "1", "--burn-in", "100000000000", "-o", output)
	begun := &listener{words: "simulate", heard: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(begun, out), io.MultiWriter(begun, out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-begun.heard:
	case <-ended:
	}
	cmd.Process.Signal(syscall.SIGINT)
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(out.String(), "ergoflow: interrupted\nhint: the same command starts again") {
		t.Errorf("ended with code %d and\n%s", code, out)
	}
}
