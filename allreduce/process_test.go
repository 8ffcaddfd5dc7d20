package allreduce

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
)

const (
	childEnv    = "ALLREDUCE_TEST_PARENT" // address of rank 0; makes this process rank 1
	childLength = 1_000_000
	childSteps  = 5
)

func TestMain(m *testing.M) {
	if parent := os.Getenv(childEnv); parent != "" {
		if err := child(parent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0) // at once: nothing may depend on what runs later
	}
	goleak.VerifyTestMain(m)
}

func child(parent string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := NewServer(nil)
	g := grpc.NewServer(s.Options()...)
	s.Register(g)
	go s.Serve(g, l, l.Addr().String())
	fmt.Println(l.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ring, err := s.Join(ctx, Identity{1, 1, 2}, []string{parent, l.Addr().String()}, Options{})
	if err != nil {
		return err
	}
	if err := train(ring, childLength, childSteps); err != nil {
		return err
	}
	return ring.Close()
}

// startChild starts rank 1 in a process of its own and joins it as rank 0.
func startChild(t *testing.T) (*exec.Cmd, *Ring) {
	t.Helper()
	c := grpcCluster(t, 1)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+c.peers[0])
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ring, err := c.servers[0].Join(t.Context(), Identity{1, 0, 2}, []string{c.peers[0], strings.TrimSpace(address)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cmd, ring
}

// A process that exits right after Close breaks nothing off, on either side.
func TestExitAfterClose(t *testing.T) {
	for range 3 {
		cmd, ring := startChild(t)
		if err := train(ring, childLength, childSteps); err != nil {
			t.Error(err)
		}
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank 1: %v", err)
		}
	}
}

// A killed process ends its neighbour's all-reduce when its streams break, before the
// neighbour notices the silence.
func TestKilledProcess(t *testing.T) {
	cmd, ring := startChild(t)
	v := make([]float32, childLength)
	if err := ring.AllReduce(0, v); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	for step := ergoflow.Step(1); err == nil; step++ { // the child stops at childSteps
		err = ring.AllReduce(step, v)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrPeerLost) || e.Peer != 1 {
		t.Errorf("%v", err)
	}
}
