package conduct

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

// A crashed worker is started again, but only so often: it may crash each time.
const (
	workerRestarts    = 3
	workerRestartWait = time.Second
)

// Local says which cluster to start on this machine.
type Local struct {
	Dir     string
	Workers int
	Args    []string // flags of `ergoflow worker`
}

// A cluster is a coordinator and its workers as child processes on this machine, all
// on loopback.
type cluster struct {
	coordinator *process
	addresses   coordinator.Addresses

	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	workers []*process
	lost    error // why the last worker that is not restarted ended
	left    int   // workers that run or are restarted
}

// start starts a coordinator and workers that join it.
func start(ctx context.Context, l Local) (*cluster, error) {
	logs := filepath.Join(l.Dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("directory of the run: %w", err)
	}
	p, err := startProcess(logs, "coordinator", nil, "coordinator", "--dir", l.Dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{coordinator: p, left: l.Workers}
	c.addresses, err = awaitCoordinator(ctx, l.Dir, p)
	if err != nil {
		p.stop(coordinatorGrace)
		return nil, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	args := append([]string{"worker", "--join", c.addresses.Gossip}, l.Args...)
	for i := range l.Workers {
		w, err := startProcess(logs, fmt.Sprintf("worker-%d", i), onGPU(i, gpus()), args...)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.workers = append(c.workers, w)
	}
	for i := range l.Workers {
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

// onGPU is the environment of worker i. A process computes on the first GPU that it
// sees; of several, worker i sees number i modulo their number.
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
func (c *cluster) keep(ctx context.Context, i int, logs string, args []string) {
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

func (c *cluster) giveUp(w *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	c.lost = w.failure()
}

// err says why the cluster cannot continue, or nil: its coordinator has ended, or all of
// its workers have, or those that are left have failed, as the coordinator's status says.
func (c *cluster) err(st coordinator.Status) error {
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
		return fmt.Errorf("no worker that is left can continue: %s; %w", failed[0], c.lost)
	}
	return nil
}

// stop lets the workers drain, then ends the coordinator.
func (c *cluster) stop() {
	c.cancel()
	c.group.Wait()
	var group sync.WaitGroup
	for _, w := range c.workers {
		group.Go(func() { w.stop(workerGrace) })
	}
	group.Wait()
	c.coordinator.stop(coordinatorGrace)
}
