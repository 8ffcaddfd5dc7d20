package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
)

// How long children may take to leave in order before they are killed.
const (
	workerGrace      = 15 * time.Second
	coordinatorGrace = 10 * time.Second
)

// A crashed worker is started again, a few times: a worker that cannot live
// here should not be tried for ever.
const (
	workerRestarts    = 3
	workerRestartWait = time.Second
)

// A localCluster is a coordinator and its workers as child processes on this
// machine, all on loopback.
type localCluster struct {
	coordinator *process
	addresses   coordinator.Addresses

	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	workers []*process
	lost    error // why the last worker that was given up ended
	left    int   // workers that have not been given up
}

// startLocal starts a coordinator in dir and n workers that join it.
func startLocal(ctx context.Context, dir string, n int, workerArgs ...string) (*localCluster, error) {
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("directory of the run: %w", err)
	}
	p, err := startProcess(logs, "coordinator", nil, "coordinator", "--dir", dir)
	if err != nil {
		return nil, err
	}
	c := &localCluster{coordinator: p, left: n}
	c.addresses, err = awaitCoordinator(ctx, dir, p)
	if err != nil {
		p.stop(coordinatorGrace)
		return nil, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	args := append([]string{"worker", "--join", c.addresses.Gossip}, workerArgs...)
	for i := range n {
		w, err := startProcess(logs, fmt.Sprintf("worker-%d", i), onGPU(i, gpus()), args...)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.workers = append(c.workers, w)
	}
	for i := range n {
		c.group.Go(func() { c.keep(ctx, i, logs, args) })
	}
	return c, nil
}

const visibleGPUs = "CUDA_VISIBLE_DEVICES"

// gpus names the NVIDIA GPUs that processes here may use, as CUDA does.
func gpus() []string {
	if list, ok := os.LookupEnv(visibleGPUs); ok {
		return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	}
	nodes, _ := filepath.Glob("/dev/nvidia[0-9]*") // fails for a bad pattern alone
	names := make([]string, len(nodes))
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// onGPU is the environment of worker i: a process computes on the first GPU that it
// sees, and of several each worker has one, in turn.
func onGPU(i int, gpus []string) []string {
	if len(gpus) < 2 {
		return nil
	}
	return []string{visibleGPUs + "=" + gpus[i%len(gpus)]}
}

// awaitCoordinator waits until the coordinator has written its addresses.
func awaitCoordinator(ctx context.Context, dir string, p *process) (coordinator.Addresses, error) {
	for {
		addresses, err := coordinator.ReadAddresses(dir)
		if err == nil && addresses.PID == p.cmd.Process.Pid {
			return addresses, nil
		}
		select {
		case <-p.done:
			return coordinator.Addresses{}, p.failure()
		case <-ctx.Done():
			return coordinator.Addresses{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// keep starts worker i again when it crashes.
func (c *localCluster) keep(ctx context.Context, i int, logs string, args []string) {
	for restarts := 0; ; restarts++ {
		c.mu.Lock()
		w := c.workers[i]
		c.mu.Unlock()
		select {
		case <-w.done:
		case <-ctx.Done():
			return
		}
		if !w.crashed() || restarts == workerRestarts {
			c.giveUp(w)
			return
		}
		select {
		case <-time.After(workerRestartWait):
		case <-ctx.Done():
			return
		}
		again, err := startProcess(logs, w.name, onGPU(i, gpus()), args...)
		if err != nil {
			c.giveUp(w)
			return
		}
		c.mu.Lock()
		c.workers[i] = again
		c.mu.Unlock()
	}
}

func (c *localCluster) giveUp(w *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	c.lost = w.failure()
}

// err says why the cluster cannot go on, or nil: its coordinator or all of its
// workers have ended, or those that have not cannot go on with the run, as the
// coordinator has it.
func (c *localCluster) err(st coordinator.Status) error {
	if c.coordinator.ended() {
		return c.coordinator.failure()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return c.lost
	}
	var failed []string
	for _, w := range st.Workers {
		if w.State == "failed" {
			failed = append(failed, w.Reason)
		}
	}
	if c.lost != nil && len(failed) == c.left {
		return fmt.Errorf("no worker is left that can go on: %s; %w", failed[0], c.lost)
	}
	return nil
}

// stop lets the workers drain, then ends the coordinator.
func (c *localCluster) stop() {
	c.cancel()
	c.group.Wait()
	var group sync.WaitGroup
	for _, w := range c.workers {
		group.Go(func() { w.stop(workerGrace) })
	}
	group.Wait()
	c.coordinator.stop(coordinatorGrace)
}
