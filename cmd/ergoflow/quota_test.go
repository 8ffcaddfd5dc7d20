package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// TestQuota: one of two workers may compute for 10 ms in every 100 (a CPU cgroup). The
// status names it slow, and it keeps fewer shards than the other. Steps take ten times as
// long as smoke's, so that the worker exceeds its quota. The quota is small enough that
// this worker is by far the slower one, even where other tests take most of the other's
// processor. That shards come back without the quota takes a minute, and is tested in the
// machine's time (TestPaceUnderQuota).
func TestQuota(t *testing.T) {
	needE2E(t)
	group := newCgroup(t, "cpu", "cpu.cfs_quota_us")
	c := startCluster(t, t.TempDir(), 2, "--set", "training.steps=1000000", "--set", "training.checkpoint_every=1000000",
		"--set", "data.shards=8", "--set", "training.batch_functions=64", "--set", "training.batch_samples=64")
	defer func() {
		c.cmd.Process.Signal(syscall.SIGINT)
		<-c.done
	}()
	st := c.until("two workers train", training(2, 20))
	id := st.Workers[len(st.Workers)-1].ID
	even := len(workerIn(st, id).Shards)
	group.limitCPU(t, workerIn(st, id).PID, "10000")
	begin := time.Now()
	st = c.until("the throttled worker is named", func(st coordinator.Status) bool { return workerIn(st, id).Slow })
	t.Logf("named after %v, its median step %+v, waits for %+v", time.Since(begin).Round(time.Second/10), workerIn(st, id).Timing, st.WaitsFor)
	st = c.until("it has fewer shards", func(st coordinator.Status) bool {
		return st.State == "training" && st.WorldSize == 2 && len(workerIn(st, id).Shards) < even
	})
	t.Logf("%d of its %d shards are left after %v: %s", len(workerIn(st, id).Shards), even, time.Since(begin).Round(time.Second/10), group.stat())
	for _, w := range st.Workers {
		if w.ID != id && w.Slow {
			t.Errorf("worker %s is slow, too", w.ID)
		}
	}
}

// workerIn is a worker in a status.
func workerIn(st coordinator.Status, id ergoflow.WorkerID) machine.WorkerStatus {
	i := slices.IndexFunc(st.Workers, func(w machine.WorkerStatus) bool { return w.ID == id })
	if i < 0 {
		return machine.WorkerStatus{}
	}
	return st.Workers[i]
}

// A cgroup limits a resource of its processes. It is of either version.
type cgroup struct {
	dir   string
	v2    bool
	limit string // file
}

// newCgroup makes a cgroup with a controller for the test, or skips the test. limit is the
// file that limits the resource in version 1.
func newCgroup(t *testing.T, controller, limit string) cgroup {
	t.Helper()
	const root = "/sys/fs/cgroup"
	name := fmt.Sprintf("ergoflow-test-%d", os.Getpid())
	var reasons []error
	for _, g := range []cgroup{
		{filepath.Join(root, controller, name), false, limit},
		{filepath.Join(root, name), true, controller + ".max"},
	} {
		if err := os.Mkdir(g.dir, 0o755); err != nil {
			reasons = append(reasons, err)
			continue
		}
		_, err := os.Stat(filepath.Join(g.dir, g.limit))
		if err == nil {
			t.Cleanup(func() { g.remove(t) })
			return g
		}
		reasons = append(reasons, err, os.Remove(g.dir))
	}
	t.Skipf("no limit of %s can be set here: %v", controller, errors.Join(reasons...))
	panic("unreachable")
}

// remove moves the processes that are left to the parent group and removes this one.
func (g cgroup) remove(t *testing.T) {
	left, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		t.Error(err)
	}
	for _, pid := range strings.Fields(string(left)) {
		// The process may end meanwhile.
		_ = os.WriteFile(filepath.Join(filepath.Dir(g.dir), "cgroup.procs"), []byte(pid), 0o644)
	}
	if err := os.Remove(g.dir); err != nil {
		t.Error(err)
	}
}

// write writes a file of the group.
func (g cgroup) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// limitCPU lets a process compute for quota microseconds in every 100,000.
func (g cgroup) limitCPU(t *testing.T, pid int, quota string) {
	t.Helper()
	if g.v2 {
		quota += " 100000"
	}
	g.write(t, g.limit, quota)
	g.write(t, "cgroup.procs", strconv.Itoa(pid))
}

// stat is the kernel's count of throttling.
func (g cgroup) stat() string {
	text, _ := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	return strings.Join(strings.Fields(string(text)), " ")
}
