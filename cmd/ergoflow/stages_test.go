package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// A fakeCoordinator takes or refuses every run and answers with one status after another,
// then with the last again and again.
type fakeCoordinator struct {
	wire.UnimplementedControlServer
	statuses []coordinator.Status
	asked    atomic.Int64
	first    chan struct{} // closed when the first status is asked for
	refuse   string        // why it refuses; empty: it does not
}

func (c *fakeCoordinator) Submit(context.Context, *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if c.refuse != "" {
		return nil, grpcstatus.Error(codes.Aborted, c.refuse)
	}
	return &wire.SubmitReply{}, nil
}

func (c *fakeCoordinator) Status(context.Context, *wire.StatusRequest) (*wire.StatusReply, error) {
	n := int(c.asked.Add(1))
	if n == 1 {
		close(c.first)
	}
	b, err := json.Marshal(c.statuses[min(n, len(c.statuses))-1])
	return &wire.StatusReply{Json: b}, err
}

// serve listens at the address that it returns.
func (c *fakeCoordinator) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.first = make(chan struct{})
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

// TestAnotherRun: a coordinator with a run refuses another, and the hint says what to do.
func TestAnotherRun(t *testing.T) {
	control := &fakeCoordinator{statuses: []coordinator.Status{running("theirs", machine.StateTraining)}, refuse: "run theirs is not finished"}
	address := control.serve(t)
	cmd, out := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--addr", address)
	refused(t, cmd, out, exitFailure, "run theirs is not finished")
	for _, word := range []string{"`ergoflow status --addr " + address + "`", "--replace"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("the hint lacks %s:\n%s", word, out)
		}
	}
}

// TestDetach: leaving a cluster has a code of its own, and the hint shows how to ask for
// its status.
func TestDetach(t *testing.T) {
	e, err := experiment.Load("vn1d", "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	control := &fakeCoordinator{statuses: []coordinator.Status{running(plan.Run, machine.StateGenerating)}}
	address := control.serve(t)
	cmd, out := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--addr", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-control.first:
	case <-time.After(patience):
		t.Error("no status was asked for")
	}
	cmd.Process.Signal(syscall.SIGINT)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitDetached {
		t.Errorf("ended with %v, not code %d", err, exitDetached)
	}
	look := "ergoflow status --addr " + address
	if !strings.Contains(out.String(), "ergoflow: detached") || !strings.Contains(out.String(), look) {
		t.Errorf("does not say %q:\n%s", look, out)
	}
	if cmd, out = program(t.Context(), t, strings.Fields(look)[1:]...); cmd.Run() != nil {
		t.Errorf("%s: %s", look, out)
	}
}
