package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// A tale is a coordinator that takes or refuses every run and tells one status after
// another, then the last again and again.
type tale struct {
	wire.UnimplementedControlServer
	told   []coordinator.Status
	asked  atomic.Int64
	refuse string // every run
}

func (c *tale) Submit(context.Context, *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if c.refuse != "" {
		return nil, grpcstatus.Error(codes.FailedPrecondition, c.refuse)
	}
	return &wire.SubmitReply{}, nil
}

func (c *tale) Status(context.Context, *wire.StatusRequest) (*wire.StatusReply, error) {
	b, err := json.Marshal(c.told[min(int(c.asked.Add(1)), len(c.told))-1])
	return &wire.StatusReply{Json: b}, err
}

// near is a client of a tale without a network between them.
type near struct {
	wire.ControlClient
	tale *tale
}

func (c near) Status(ctx context.Context, r *wire.StatusRequest, _ ...grpc.CallOption) (*wire.StatusReply, error) {
	return c.tale.Status(ctx, r)
}

// serve lets the program find the tale, at the address that it returns.
func (c *tale) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	wire.RegisterControlServer(server, c)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

func running(run, state string) coordinator.Status {
	return coordinator.Status{Status: machine.Status{Run: run, Experiment: "vn1d/" + run, State: state, Steps: 64,
		Shards: machine.ShardStatus{Done: 5, Total: 5}}}
}

// TestFollowDisplaced: whoever watches a run hears that another took its place.
func TestFollowDisplaced(t *testing.T) {
	ours := running("ours", machine.StateTraining)
	for _, test := range []struct {
		next       coordinator.Status
		want, hint string
	}{
		{running("theirs", machine.StateTraining), "run ours was put aside by run theirs (vn1d/theirs)", "--replace"},
		{running("", machine.StateIdle), "the coordinator no longer knows run ours", "another --dir"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), restartPatience)
			defer cancel()
			control := near{tale: &tale{told: []coordinator.Status{ours, ours, test.next}}}
			_, err := follow(ctx, control, ergoflow.Plan{Run: "ours"}, wire.Stage_STAGE_TRAIN, nil)
			if err == nil || err.Error() != test.want || !strings.Contains(hintFor(err), test.hint) {
				t.Errorf("ended with %v, not %q", err, test.want)
			}
		})
	}
}

// TestAnotherRun: where a run is on, another is refused, and how to go on is said.
func TestAnotherRun(t *testing.T) {
	control := &tale{told: []coordinator.Status{running("theirs", machine.StateTraining)}, refuse: "run theirs is not finished"}
	address := control.serve(t)
	cmd, out := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--addr", address)
	refused(t, cmd, out, exitFailure, "run theirs is not finished")
	for _, word := range []string{"`ergoflow status --addr " + address + "`", "--replace"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("does not name %s:\n%s", word, out)
		}
	}
}

// TestDetach: leaving a cluster is no success, and says how to look again.
func TestDetach(t *testing.T) {
	e, err := experiment.Load("vn1d", "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	control := &tale{told: []coordinator.Status{running(plan.Run, machine.StateGenerating)}}
	address := control.serve(t)
	cmd, out := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--addr", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); control.asked.Load() == 0 && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGINT)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitDetached {
		t.Errorf("ended with %v, not code %d", err, exitDetached)
	}
	look := "ergoflow status --addr " + address
	if !strings.Contains(out.String(), "ergoflow: detached; ") || !strings.Contains(out.String(), look) {
		t.Errorf("does not say %q:\n%s", look, out)
	}
	if cmd, out = program(t.Context(), t, strings.Fields(look)[1:]...); cmd.Run() != nil {
		t.Errorf("%s: %s", look, out)
	}
}

// TestFollowWithoutWorkers: a cluster that nobody has joined is named, once, and
// how to join it; one that starts its own workers is not.
func TestFollowWithoutWorkers(t *testing.T) {
	empty := running("ours", machine.StateGenerating)
	empty.Gossip = "10.0.0.1:7946"
	done := running("ours", machine.StateDone)
	told := slices.Repeat([]coordinator.Status{empty}, 100)
	joined := empty
	joined.Workers = []machine.WorkerStatus{{ID: "vm-1"}}
	for name, test := range map[string]struct {
		told  []coordinator.Status
		alive func(coordinator.Status) error
		lines int
	}{
		"no workers":         {append(told, done), nil, 1},
		"some":               {append(slices.Repeat([]coordinator.Status{joined}, 100), done), nil, 0},
		"one leaves":         {append([]coordinator.Status{joined}, append(told, done)...), nil, 0},
		"own workers":        {append(told, done), func(coordinator.Status) error { return nil }, 0},
		"nothing left to do": {slices.Repeat([]coordinator.Status{done}, 2), nil, 0},
	} {
		out, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		stderr := os.Stderr
		os.Stderr = out
		synctest.Test(t, func(t *testing.T) {
			_, err = follow(t.Context(), near{tale: &tale{told: test.told}}, ergoflow.Plan{Run: "ours"}, wire.Stage_STAGE_TRAIN, test.alive)
		})
		os.Stderr = stderr
		said, readErr := os.ReadFile(out.Name())
		if err != nil || readErr != nil || strings.Count(string(said), "no workers have joined: ergoflow worker --join 10.0.0.1:7946\n") != test.lines {
			t.Errorf("%s: not %d times: %v\n%s", name, test.lines, err, said)
		}
	}
}

// A local cluster has ended when those of its workers that live cannot go on: nobody
// else will come.
func TestLocalClusterWithoutHope(t *testing.T) {
	c := &localCluster{coordinator: &process{done: make(chan struct{})}, left: 2}
	is := func(states ...string) (st coordinator.Status) {
		for _, s := range states {
			st.Workers = append(st.Workers, machine.WorkerStatus{State: s, Reason: "it does not compile"})
		}
		return st
	}
	if err := c.err(is("failed", "training")); err != nil {
		t.Errorf("one of two goes on: %v", err)
	}
	c.left, c.lost = 1, errors.New("worker-1: killed")
	if err := c.err(is("training")); err != nil {
		t.Errorf("one is left: %v", err)
	}
	if err := c.err(is()); err != nil {
		t.Errorf("one is left, between two sessions: %v", err)
	}
	if err := c.err(is("failed")); err == nil || err.Error() != "no worker is left that can go on: it does not compile; worker-1: killed" {
		t.Errorf("the one that is left cannot go on: %v", err)
	}
}

// A log is of all runs: what an earlier one said explains nothing.
func TestWhyAProcessEnded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "worker-0.log")
	const before = "ergoflow: no GPU\nhint: use --backend xla:cpu\n"
	for said, want := range map[string]string{
		"": "worker-0 ended: signal: killed",
		"ergoflow: no room\nhint: delete something\n": "worker-0 ended: no room",
	} {
		if err := os.WriteFile(log, []byte(before+said), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", "kill -9 $$")
		cmd.Run()
		p := process{name: "worker-0", log: log, from: int64(len(before)), cmd: cmd}
		if err := p.failure(); err.Error() != want {
			t.Errorf("%q is explained by %q", said, err)
		}
		io.WriteString(&p.out, strings.Repeat("x", 2*maxTail)+"\nergoflow: the log is full\n")
		if err := p.failure(); err.Error() != "worker-0 ended: the log is full" || len(p.out) != maxTail {
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

func TestWhyEnded(t *testing.T) {
	decision := func(reason string) coordinator.Decision { return coordinator.Decision{Reason: reason} }
	full := make([]coordinator.Decision, coordinator.KeptDecisions)
	for name, test := range map[string]struct {
		decisions []coordinator.Decision
		want      string
	}{
		"told":           {[]coordinator.Decision{decision("b is lost; generation 3 ends: silent for 2 s; a, c stay"), decision("generation 4 makes step 7")}, "silent for 2 s"},
		"another":        {[]coordinator.Decision{decision("generation 2 ends: c left")}, "the coordinator was started again"},
		"long forgotten": {full, "generation 4 makes step 7"},
	} {
		st := coordinator.Status{Decisions: test.decisions}
		st.Reason = "generation 4 makes step 7"
		if got := whyEnded(st, 3); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
