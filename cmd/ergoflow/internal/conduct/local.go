package conduct

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// How long children may take to leave in order before they are killed.
const (
	workerGrace      = 15 * time.Second
	coordinatorGrace = 10 * time.Second
)

// Local says which cluster to start on this machine.
type Local struct {
	Dir     string
	Store   string // shard store; default Dir/shards
	HTTP    string // of the coordinator's page; empty: none
	Workers int
	Args    []string // flags of `ergoflow worker`
}

// A cluster is a coordinator and its workers as child processes on this machine, all
// on loopback and in plain text.
type cluster struct {
	coordinator *child
	addresses   coordinator.Addresses
	workers     []*child

	cancel context.CancelFunc
	group  sync.WaitGroup // of the goroutines that start children again

	mu   sync.Mutex
	told []string // what happened to children, until news is asked
}

// start starts a coordinator and workers that join it.
func start(ctx context.Context, l Local) (*cluster, error) {
	logs := filepath.Join(l.Dir, "logs")
	if err := atomicfile.MakeDirs(logs); err != nil {
		return nil, fmt.Errorf("directory of the run: %w", err)
	}
	c := &cluster{}
	if err := c.startCoordinator(ctx, l, logs); err != nil {
		return nil, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	args := append([]string{"worker", "--insecure", "--join", c.addresses.Gossip, "--flight", coordinator.FlightPath(l.Dir)}, l.Args...)
	for i := range l.Workers {
		w := &child{again: func() (*process, error) {
			return startProcess(logs, fmt.Sprintf("worker-%d", i), onGPU(i, gpus()), args...)
		}}
		var err error
		if w.process, err = w.again(); err != nil {
			c.stop()
			return nil, err
		}
		c.workers = append(c.workers, w)
	}
	for _, one := range append([]*child{c.coordinator}, c.workers...) {
		c.group.Go(func() { one.keep(ctx, c.tell) })
	}
	return c, nil
}

// startCoordinator starts the coordinator and waits for its addresses. One that is killed
// before it has them is started again; one that ends with an error would do so again.
func (c *cluster) startCoordinator(ctx context.Context, l Local, logs string) error {
	args := []string{"coordinator", "--insecure", "--dir", l.Dir}
	if l.Store != "" {
		args = append(args, "--store", l.Store)
	}
	if l.HTTP != "" {
		args = append(args, "--http", l.HTTP)
	}
	for n := 1; ; n++ {
		p, err := startProcess(logs, "coordinator", nil, args...)
		if err != nil {
			return err
		}
		c.addresses, err = awaitCoordinator(ctx, l.Dir, p)
		if err != nil && p.killed() && n <= restarts {
			c.tell(restarted(p, n))
			continue
		}
		if err != nil {
			p.stop(coordinatorGrace)
			return err
		}
		// The workers and the client look for it where it was.
		c.coordinator = &child{process: p, again: func() (*process, error) {
			return startProcess(logs, p.name, nil, append(slices.Clip(args), "--listen", c.addresses.Control, "--gossip", c.addresses.Gossip)...)
		}}
		return nil
	}
}

// tell keeps a line for news.
func (c *cluster) tell(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, line)
}

// news is what happened to children since it was last asked.
func (c *cluster) news() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	return told
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

// err says why the cluster cannot continue, or nil: its coordinator has ended, or all of
// its workers have, or those that are left have failed, as the coordinator's status says.
func (c *cluster) err(st coordinator.Status) error {
	if err := c.coordinator.gone(); err != nil {
		return err
	}
	left, lost := len(c.workers), error(nil)
	for _, w := range c.workers {
		if err := w.gone(); err != nil {
			left, lost = left-1, err
		}
	}
	if left == 0 {
		return lost
	}
	var failed []string
	for _, w := range st.Workers {
		if w.State == "failed" {
			failed = append(failed, w.Reason)
		}
	}
	if lost != nil && len(failed) == left {
		return fmt.Errorf("no worker that is left can continue: %s; %w", failed[0], lost)
	}
	return nil
}

// stop lets the workers drain, then ends the coordinator.
func (c *cluster) stop() {
	c.cancel()
	c.group.Wait()
	var group sync.WaitGroup
	for _, w := range c.workers {
		group.Go(func() { w.process.stop(workerGrace) })
	}
	group.Wait()
	c.coordinator.process.stop(coordinatorGrace)
}
