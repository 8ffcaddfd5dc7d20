package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/internal/flight/explain"
	"github.com/ergoflow/ergoflow/model/training/state"
)

var operate = flag.Bool("operate.e2e", false, "run the tests of operating a cluster: explained faults, and Debian's Prometheus")

var updateExplain = flag.Bool("explain.update", false, "write what `ergoflow explain` says of each staged fault to docs/results/explain.md")

// needOperateE2E skips a test of operating a cluster unless the flag is set.
func needOperateE2E(t *testing.T) {
	t.Helper()
	if !*operate {
		t.Skip("a fault is staged on processes of its own, which takes half a minute and root: `make operate-e2e` runs it")
	}
}

// endless is an experiment that trains until it is interrupted, with a checkpoint from time to
// time.
var endless = []string{"--set", "training.steps=1000000", "--set", "training.checkpoint_every=500"}

// interrupt ends a cluster in order.
func (c *cluster) interrupt() {
	c.cmd.Process.Signal(syscall.SIGINT)
	<-c.done
}

// A staged fault is one of docs/results/explain.md.
type staged struct {
	t      *testing.T
	number int
	title  string
	how    string // it is staged
	said   strings.Builder
}

// explained is what `ergoflow explain` says with arguments, as text and as a verdict. It runs the
// command as a person does.
func (s *staged) explained(when string, run func(args ...string) ([]byte, error), args ...string) explain.Verdict {
	s.t.Helper()
	text, err := run(append([]string{"explain"}, args...)...)
	if err != nil {
		s.t.Fatalf("explain: %v\n%s", err, text)
	}
	encoded, err := run(append([]string{"explain", "--json"}, args...)...)
	if err != nil {
		s.t.Fatalf("explain --json: %v\n%s", err, encoded)
	}
	var v explain.Verdict
	if err := json.Unmarshal(encoded, &v); err != nil {
		s.t.Fatalf("explain --json: %v\n%s", err, encoded)
	}
	s.t.Logf("%s:\n%s", when, text)
	if len(v.Sentences) > 5 {
		s.t.Errorf("%d sentences", len(v.Sentences))
	}
	if v.Decided && len(v.Evidence) == 0 {
		s.t.Error("a verdict without evidence")
	}
	fmt.Fprintf(&s.said, "%s:\n\n```\n%s```\n\n", when, text)
	return v
}

// explain explains the directory of a local cluster.
func (s *staged) explain(when string, c *cluster) explain.Verdict {
	s.t.Helper()
	return s.explained(when, func(args ...string) ([]byte, error) {
		cmd, out := program(s.t.Context(), s.t, args...)
		err := cmd.Run()
		return out.Bytes(), err
	}, c.dir)
}

// is checks the verdict's cause and culprit.
func (s *staged) is(v explain.Verdict, cause string, want explain.Culprit) {
	s.t.Helper()
	if !v.Decided || v.Culprit == nil || v.Cause != cause {
		s.t.Fatalf("the cause is %q (decided: %t), want %q\n%+v", v.Cause, v.Decided, cause, v)
	}
	got := *v.Culprit
	if got.Kind != want.Kind || want.Worker != "" && got.Worker != want.Worker || want.Peer != "" && got.Peer != want.Peer ||
		want.PID != 0 && got.PID != want.PID || want.Place != "" && !strings.HasPrefix(got.Place, want.Place) {
		s.t.Fatalf("the culprit is %+v, want %+v", got, want)
	}
}

// results is the page with what explain says.
const results = "../../docs/results/explain.md"

// publish writes the fault's section of the page, with -explain.update.
func (s *staged) publish() {
	s.t.Helper()
	if !*updateExplain {
		return
	}
	page, err := os.ReadFile(results)
	if err != nil {
		s.t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- fault %d -->\n", s.number), fmt.Sprintf("<!-- end of fault %d -->\n", s.number)
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		s.t.Fatalf("%s has no place for fault %d", results, s.number)
	}
	text := fmt.Sprintf("## %d. %s\n\n%s\n\n%s", s.number, s.title, s.how, s.said.String())
	if err := os.WriteFile(results, []byte(before+begin+text+end+after), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// A process that is stopped is the culprit while it is stopped, and afterwards.
func TestExplainStoppedProcess(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 1, title: "A stopped process", how: "One of three workers gets SIGSTOP, and some seconds later SIGCONT."}
	c := startCluster(t, t.TempDir(), 3, endless...)
	defer c.interrupt()
	st := c.until("three train", training(3, 50))
	w := st.Workers[1]
	syscall.Kill(w.PID, syscall.SIGSTOP)
	begin := time.Now()
	two := c.until("two train", training(2, int(st.Step)+50))
	<-time.After(5*time.Second - time.Since(begin)) // a pause is remembered however long it was
	s.is(s.explain("While it is stopped", c), "process stopped", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	syscall.Kill(w.PID, syscall.SIGCONT)
	c.until("three train again", training(3, int(two.Step)+50))
	s.is(s.explain("After SIGCONT", c), "process stood still", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	s.publish()
}

// The threads of XLA stop in a process whose other threads go on.
func TestExplainStuckDevice(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 2, title: "A stuck device",
		how: "Of one of two workers on xla:cpu, the threads that compute for XLA are stopped by ptrace, one by one. All other threads of the process go on: it answers the coordinator, and sends signs of life to the other rank."}
	c := startCluster(t, t.TempDir(), 2, append([]string{"--backend", "xla:cpu"}, endless...)...)
	defer c.interrupt()
	st := c.until("two train", training(2, 50))
	w := st.Workers[1]
	release := stopThreads(t, w.PID, "tf_")
	defer release()
	<-time.After(8 * time.Second) // a device is stuck that computes for more than five
	s.is(s.explain("While it is stuck", c), "device stuck", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	release()
	c.until("they go on", func(now coordinator.Status) bool { return training(2, int(st.Step)+1000)(now) })
	s.is(s.explain("After it goes on", c), "device stuck", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	s.publish()
}

// What one worker sends another is dropped; both reach the coordinator.
func TestExplainDeadLink(t *testing.T) {
	needOperateE2E(t)
	hosts.Isolated(t, explainDeadLink)
}

func explainDeadLink(t *testing.T) {
	s := &staged{t: t, number: 3, title: "A link that is dead one way",
		how: "Three workers are on three hosts (network namespaces on a bridge, certificates and all). What host c sends to host b is routed to a host that discards it; what b sends c arrives."}
	network := hosts.New(t)
	on := []*hosts.Host{network.Host("a"), network.Host("b"), network.Host("c")}
	hole := network.Host("hole")
	dir := t.TempDir()
	c := startHosts(t, on, dir, filepath.Join(dir, "shards"))
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	c.submit(tiny(t, 1_000_000, false))
	st := c.until("three train", training(3, 50))
	b, last := c.workerOn(st, on[1]), c.workerOn(st, on[2])
	on[2].Drop(on[1].Address, hole)
	c.until("two train", func(now coordinator.Status) bool { return training(2, int(st.Step)+50)(now) && len(now.CutLinks) == 1 })
	c.until("the dumps are there", func(coordinator.Status) bool { return len(dumps(t, dir)) > 3 })
	s.is(s.explainHosts("While it is dead", c), "link cut", explain.Culprit{Kind: explain.Link, Worker: last.ID, Peer: b.ID})
	on[2].Reroute(on[1].Address)
	c.end()
	c.checkSecrets()
	s.publish()
}

// workerOn is the worker on a host.
func (c *hostCluster) workerOn(st coordinator.Status, h *hosts.Host) machine.WorkerStatus {
	c.t.Helper()
	for _, w := range st.Workers {
		if strings.HasPrefix(w.Addr, h.Address+":") {
			return w
		}
	}
	c.t.Fatalf("no worker is on %s: %+v", h.Name, st.Workers)
	panic("unreachable")
}

// explainHosts explains a cluster on hosts.
func (s *staged) explainHosts(when string, c *hostCluster) explain.Verdict {
	s.t.Helper()
	return s.explained(when, func(args ...string) ([]byte, error) {
		return c.hosts[0].Command(s.t.Context(), c.program, args...).Output()
	}, "--dir", c.dir)
}

// The address of a worker's data port moves to another host, where nothing listens. That
// host refuses connections.
func TestExplainClosedPort(t *testing.T) {
	needOperateE2E(t)
	hosts.Isolated(t, explainClosedPort)
}

func explainClosedPort(t *testing.T) {
	s := &staged{t: t, number: 9, title: "A closed port",
		how: "Three workers are on three hosts. The third receives gradients at a second address of its host. That address moves to a fourth host, where nothing listens at the port: connections are reset and new ones refused. The worker itself, and its session with the coordinator, go on."}
	network := hosts.New(t)
	a, b, third, other := network.Host("a"), network.Host("b"), network.Host("c"), network.Host("other")
	const moving = "10.77.0.103"
	third.Assign(moving)
	dir := t.TempDir()
	c := startHosts(t, []*hosts.Host{a, b}, dir, filepath.Join(dir, "shards"))
	c.add(third, moving)
	c.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
	c.submit(tiny(t, 1_000_000, false))
	st := c.until("three train", training(3, 50))
	moved := c.workerOn(st, &hosts.Host{Name: "c", Address: moving})
	third.Unassign(moving)
	other.Assign(moving)
	for _, h := range []*hosts.Host{a, b} {
		h.Forget()
	}
	c.until("two train", training(2, int(st.Step)+50))
	c.until("the dumps are there", func(coordinator.Status) bool { return len(dumps(t, dir)) > 3 })
	s.is(s.explainHosts("While it is closed", c), "port closed", explain.Culprit{Kind: explain.Worker, Worker: moved.ID})
	c.end()
	s.publish()
}

// The coordinator's disk is full: checkpoints are not stored.
func TestExplainFullDisk(t *testing.T) {
	needOperateE2E(t)
	hosts.Isolated(t, explainFullDisk)
}

func explainFullDisk(t *testing.T) {
	s := &staged{t: t, number: 5, title: "A full disk", how: "The directory of the run is on a file system of 64 MiB (tmpfs). A file takes all of its room while two workers train."}
	dir := t.TempDir()
	hosts.Disk(t, dir, diskBytes)
	often := slices.Concat(endless, []string{"--set", "training.checkpoint_every=100"}) // the first have room in the file that is there
	c := startCluster(t, dir, 2, often...)
	defer c.interrupt()
	c.until("two train", func(st coordinator.Status) bool { return training(2, 50)(st) && st.Checkpoint != nil })
	ballast := filepath.Join(dir, "ballast")
	os.WriteFile(ballast, make([]byte, diskBytes), 0o644) // as much as fits
	c.until("a checkpoint is not stored", func(st coordinator.Status) bool { return st.Short != nil })
	c.until("the dumps are there", func(coordinator.Status) bool { return len(dumps(t, dir)) > 0 })
	s.is(s.explain("While it is full", c), "disk full", explain.Culprit{Kind: explain.Disk, Place: dir})
	os.Remove(ballast)
	s.publish()
}

// Writes to the coordinator's disk take seconds.
func TestExplainSlowDisk(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 4, title: "A slow disk",
		how: "strace attaches to the coordinator and makes each of its calls of fsync and fdatasync take 2.5 seconds: what its disk would do if it were that slow."}
	c := startCluster(t, t.TempDir(), 2, endless...)
	defer c.interrupt()
	st := c.until("two train", func(st coordinator.Status) bool { return training(2, 50)(st) && st.Checkpoint != nil })
	release := slowSync(t, st.PID, 2500*time.Millisecond)
	defer release()
	saved := *st.Checkpoint
	c.until("a checkpoint is stored slowly", func(st coordinator.Status) bool { return *st.Checkpoint > saved })
	c.until("the dumps are there", func(coordinator.Status) bool { return len(dumps(t, c.dir)) > 0 })
	s.is(s.explain("While it is slow", c), "disk slow", explain.Culprit{Kind: explain.Disk, Place: c.dir})
	release()
	s.publish()
}

// The loss becomes infinite.
func TestExplainDivergence(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 6, title: "A loss that is not finite", how: "A run is interrupted. The parameters in its checkpoint are multiplied by 10³⁰, and the run continues from that: its loss is more than a float32 can hold. (No setting that ergoflow accepts makes this experiment diverge.)"}
	first := startCluster(t, t.TempDir(), 2, endless...)
	first.until("two train", training(2, 50))
	first.interrupt()
	st := final(t, first.dir)
	for i := range st.Parameters {
		st.Parameters[i] *= 1e30
	}
	encoded, err := st.Encode()
	if err == nil {
		encoded, err = state.Seal(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, dir := filepath.Join(t.TempDir(), "state.safetensors"), t.TempDir()
	if err := os.WriteFile(file, encoded, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, out := program(t.Context(), t, "checkpoints", "import", file, "--dir", dir)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := startCluster(t, dir, 2, endless...)
	if err := <-c.done; err == nil {
		t.Fatalf("training from such parameters ended well\n%s", c.out)
	}
	s.is(s.explain("After the run has failed, and all processes have ended", c), "loss not finite", explain.Culprit{Kind: explain.Model})
	s.publish()
}

// The wall clock of one process jumps.
func TestExplainClock(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 7, title: "A clock that jumps",
		how: "In one of two workers the function of the vDSO by which the process reads its clocks is replaced, in its memory, by one that adds an hour to the wall clock. The clocks of the machine and of other processes stay as they are."}
	c := startCluster(t, t.TempDir(), 2, endless...)
	defer c.interrupt()
	st := c.until("two train", training(2, 50))
	w := st.Workers[0]
	jumpClock(t, w.PID, time.Hour)
	c.until("it has noticed", func(st coordinator.Status) bool { return len(dumps(t, c.dir)) > 0 })
	s.is(s.explain("Afterwards", c), "clock jumped", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	s.publish()
}

// The kernel ends a worker for want of memory.
func TestExplainMemory(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 8, title: "Too little memory",
		how: "One of three workers is moved to a cgroup with a memory limit. A second process in that cgroup takes more and more memory. When there is no more, the kernel ends the worker, whose `oom_score_adj` is the higher one."}
	if log, err := os.Open("/dev/kmsg"); err != nil {
		t.Skipf("the kernel's log cannot be read here: %v", err)
	} else {
		log.Close()
	}
	g := newCgroup(t, "memory", "memory.limit_in_bytes")
	c := startCluster(t, t.TempDir(), 3, endless...)
	defer c.interrupt()
	st := c.until("three train", training(3, 50))
	w := st.Workers[1]
	g.exhaust(t, w.PID)
	c.until("the others go on", func(now coordinator.Status) bool {
		return now.Generation > st.Generation && now.State == "training" && now.Step > st.Step
	})
	c.until("the dumps are there", func(coordinator.Status) bool { return len(dumps(t, c.dir)) > 2 })
	s.is(s.explain("Afterwards", c), "out of memory", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	s.publish()
}

// The coordinator is killed, and started again.
func TestExplainKilledCoordinator(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t, number: 10, title: "A killed coordinator", how: "The coordinator gets SIGKILL. `ergoflow train --local` starts it again after a second."}
	c := startCluster(t, t.TempDir(), 2, endless...)
	defer c.interrupt()
	st := c.until("two train", training(2, 50))
	syscall.Kill(st.PID, syscall.SIGKILL)
	<-time.After(500 * time.Millisecond) // before it is started again
	s.is(s.explain("Before it is started again", c), "coordinator killed", explain.Culprit{Kind: explain.Coordinator})
	c.until("they go on", func(now coordinator.Status) bool { return now.PID != st.PID && training(2, int(st.Step)+50)(now) })
	s.is(s.explain("After it is started again", c), "coordinator killed", explain.Culprit{Kind: explain.Coordinator, PID: st.PID})
	s.publish()
}

// In a run that nothing disturbs, nothing stopped.
func TestExplainHealthy(t *testing.T) {
	needOperateE2E(t)
	s := &staged{t: t}
	c := startCluster(t, t.TempDir(), 2, endless...)
	defer c.interrupt()
	c.until("two train", training(2, 200))
	if v := s.explain("while it trains", c); v.Stopped || v.Decided {
		t.Errorf("it names a culprit: %+v", v)
	}
}

// dumps are the files of dumps in a coordinator's directory.
func dumps(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(coordinator.FlightPath(dir), "*.flight.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
