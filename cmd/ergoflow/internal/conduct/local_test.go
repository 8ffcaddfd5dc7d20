package conduct

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// A local cluster has ended when all workers that are left have failed: no others join.
func TestClusterWithoutWorkers(t *testing.T) {
	c := &cluster{coordinator: &child{}, workers: []*child{{}, {}}}
	is := func(states ...string) (st coordinator.Status) {
		for _, s := range states {
			st.Workers = append(st.Workers, machine.WorkerStatus{State: s, Reason: "it does not compile"})
		}
		return st
	}
	if err := c.err(is("failed", "training")); err != nil {
		t.Errorf("one of two goes on: %v", err)
	}
	lost := errors.New("worker-1: killed")
	c.workers[1].lose(lost)
	if err := c.err(is("training")); err != nil {
		t.Errorf("one is left: %v", err)
	}
	if err := c.err(is()); err != nil {
		t.Errorf("one is left, between two sessions: %v", err)
	}
	if err := c.err(is("failed")); !errors.Is(err, lost) || !strings.Contains(err.Error(), "it does not compile") {
		t.Errorf("the one that is left cannot go on: %v", err)
	}
	c.coordinator.lose(errors.New("coordinator: killed"))
	if err := c.err(is("training")); err == nil || err.Error() != "coordinator: killed" {
		t.Errorf("no coordinator is left: %v", err)
	}
}

// A log has the lines of all runs: those of an earlier process explain nothing.
func TestWhyAProcessEnded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "worker-0.log")
	const before = "ergoflow: no GPU\nhint: use --backend xla:cpu\n"
	for said, want := range map[string]ProcessError{
		"": {Reason: "signal: killed"},
		"runtime/cgo: pthread_create failed: no\nSIGABRT: abort\n" + strings.Repeat("r8 0\n", maxTail): {Reason: "signal: killed: runtime/cgo: pthread_create failed: no"},
		"time=1 level=INFO msg=joined\npanic: odd\n":                                                   {Reason: "signal: killed: panic: odd"},
		"ergoflow: no room\nhint: delete something\n":                                                  {Reason: "no room", Hint: "delete something"},
	} {
		want.Name, want.Log = "worker-0", log
		if err := os.WriteFile(log, []byte(before+said), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", "kill -9 $$")
		cmd.Run()
		p := process{name: "worker-0", log: log, from: int64(len(before)), cmd: cmd}
		var err *ProcessError
		if !errors.As(p.failure(), &err) || *err != want {
			t.Errorf("%q is explained by %+v", said, err)
		}
		io.WriteString(&p.out, strings.Repeat("x", 2*maxTail)+"\nergoflow: the log is full\n")
		if errors.As(p.failure(), &err); err.Reason != "the log is full" || len(p.out) != maxTail {
			t.Errorf("with last words of %d bytes %q is explained by %q", len(p.out), said, err)
		}
	}
}

func TestGPUs(t *testing.T) {
	t.Setenv(visibleGPUs, "2,GPU-b,5")
	if got := fmt.Sprint(onGPU(0, gpus()), onGPU(4, gpus())); got != "[CUDA_VISIBLE_DEVICES=2] [CUDA_VISIBLE_DEVICES=GPU-b]" {
		t.Errorf("workers 0 and 4 have %s", got)
	}
	t.Setenv(visibleGPUs, "")
	if got := onGPU(1, gpus()); got != nil {
		t.Errorf("without GPUs worker 1 has %v", got)
	}
}
