package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/flight/explain"
)

var (
	operateE2E    = flag.Bool("operate.e2e", false, "run the tests of operating a cluster, which take half a minute each")
	updateExplain = flag.Bool("explain.update", false, "write what `ergoflow explain` says of each staged fault to docs/results/explain.md")
)

// needOperateE2E skips a test of operating a cluster unless the flag is set.
func needOperateE2E(t *testing.T) {
	t.Helper()
	if !*operateE2E {
		t.Skip("it takes half a minute: `make operate-e2e` runs it")
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

// publish writes the fault's section of the page, if that is asked for.
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
	s := &staged{t: t, number: 1, title: "A stopped process", how: "One of three workers gets SIGSTOP, and seven seconds later SIGCONT."}
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
	<-time.After(8 * time.Second)
	s.is(s.explain("While it is stuck", c), "device stuck", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
	release()
	c.until("they go on", func(now coordinator.Status) bool { return training(2, int(st.Step)+1000)(now) })
	s.is(s.explain("After it goes on", c), "device stuck", explain.Culprit{Kind: explain.Worker, Worker: w.ID, PID: w.PID})
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
	s := &staged{t: t, number: 6, title: "A loss that is not finite", how: "The run has `training.learning_rate=1e30`."}
	c := startCluster(t, t.TempDir(), 2, append([]string{"--set", "training.learning_rate=1e30"}, endless...)...)
	if err := <-c.done; err == nil {
		t.Fatalf("training with such a learning rate ended well\n%s", c.out)
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
		how: "One of three workers is moved to a cgroup with a memory limit. A second process in that cgroup, which the kernel must not end, takes more and more memory, until the kernel ends the worker."}
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
