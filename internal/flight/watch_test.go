package flight

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergoflow/ergoflow/internal/memory"
)

// Pauses and jumps are told apart by the two clocks.
func TestClocks(t *testing.T) {
	const tick = interval
	for name, c := range map[string]struct {
		wall, mono time.Duration // of the second look
		want       []Record
	}{
		"on time":                {tick, tick, nil},
		"a little late":          {tick + 900*time.Millisecond, tick + 900*time.Millisecond, nil},
		"it stood still":         {tick + 5*time.Second, tick + 5*time.Second, []Record{{Kind: Paused, Seconds: 5.25}}},
		"the clock was set":      {tick + time.Hour, tick, []Record{{Kind: Clock, Seconds: 3600}}},
		"the clock was set back": {tick - time.Minute, tick, []Record{{Kind: Clock, Seconds: -60}}},
		"both":                   {tick + 5*time.Second - time.Minute, tick + 5*time.Second, []Record{{Kind: Paused, Seconds: 5.25}, {Kind: Clock, Seconds: -60}}},
		"NTP slews":              {tick + 100*time.Millisecond, tick, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var clocks clocks
			if found := clocks.next(0, 0); found != nil {
				t.Fatalf("the first look finds %+v", found)
			}
			found := clocks.next(c.wall, c.mono)
			if len(found) != len(c.want) {
				t.Fatalf("found %+v", found)
			}
			for i := range found {
				if found[i].Kind != c.want[i].Kind || found[i].Seconds != c.want[i].Seconds {
					t.Errorf("found %+v, want %+v", found[i], c.want[i])
				}
			}
			if again := clocks.next(c.wall+tick, c.mono+tick); again != nil {
				t.Errorf("the next look finds %+v", again)
			}
		})
	}
}

// Want of memory is recorded once until there is room again; so is every process that the kernel
// ends.
func TestGauge(t *testing.T) {
	var g gauge
	limit := memory.Limit{Bytes: 100, Source: "the limit of the cgroup"}
	for i, step := range []struct {
		used, killed uint64
		want         int
	}{{50, 3, 0}, {91, 3, 1}, {95, 3, 0}, {85, 3, 0}, {92, 3, 0}, {70, 3, 0}, {92, 3, 1}, {10, 4, 1}, {95, 6, 2}} {
		if found := g.next(memory.Usage{Bytes: step.used, Limit: limit, Killed: step.killed}); len(found) != step.want {
			t.Errorf("look %d finds %+v", i, found)
		}
	}
}

// Watch looks again and again, and ends with its context.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Worker)
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		go func() { r.Watch(ctx, func(e Record) { t.Errorf("found %+v", e) }); ended = true }()
		time.Sleep(time.Minute) // on the bubble's clock
		cancel()
		synctest.Wait()
		if !ended {
			t.Error("it goes on")
		}
	})
}

// The state of a process of this program: it lives, is stopped, or is gone.
func TestStateOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestSleeps$")
	cmd.Env = append(os.Environ(), "ERGOFLOW_TEST_SLEEPS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1)
	out.Read(buffer)
	pid := cmd.Process.Pid
	if got := StateOf(pid) + EndOf(pid); got != "" || !Visible(pid) {
		t.Errorf("of a process that runs: %q", got)
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	for begin := time.Now(); StateOf(pid) != IsStopped; <-time.After(time.Millisecond) { // another process is polled
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("of a stopped process: %q", StateOf(pid))
		}
	}
	cmd.Process.Signal(syscall.SIGCONT)
	in.Close()
	cmd.Wait()
	if got := EndOf(pid); got != IsGone || StateOf(pid) != "" || Visible(pid) {
		t.Errorf("of a process that has ended: %q", got)
	}
	for _, other := range []int{0, -1, os.Getppid()} {
		if Visible(other) || StateOf(other) != "" {
			t.Errorf("process %d is one of this program", other)
		}
	}
}

// TestSleeps is the process of TestStateOf.
func TestSleeps(t *testing.T) {
	if os.Getenv("ERGOFLOW_TEST_SLEEPS") == "" {
		t.Skip("it is the process that TestStateOf starts and looks at")
	}
	os.Stdout.WriteString("x")
	os.Stdin.Read(make([]byte, 1))
}

// The kernel's log names the process that it ended.
func TestOOMLine(t *testing.T) {
	const line = "3,1234,60000000,-;Memory cgroup out of memory: Killed process 4711 (ergoflow) total-vm:1kB, anon-rss:2kB, UID:0 pgtables:3kB oom_score_adj:0\n SUBSYSTEM=x\n"
	first, _, _ := strings.Cut(line, "\n")
	want := strings.TrimPrefix(first, "3,1234,60000000,-;")
	for _, c := range []struct {
		line, name string
		pid        int
		now        time.Duration
		want       string
	}{
		{line, "ergoflow", 4711, 61 * time.Second, want},
		{line, "ergoflow", 4712, 61 * time.Second, ""},
		{line, "python3", 4711, 61 * time.Second, ""},
		{line, "ergoflow", 4711, 10 * time.Minute, ""}, // an earlier process of that number
		{"6,1,1,-;switch: port 1 entered disabled state\n", "ergoflow", 4711, time.Second, ""},
	} {
		if got := oomOf(c.line, c.pid, c.name, c.now); got != c.want {
			t.Errorf("pid %d (%s) at %v: %q", c.pid, c.name, c.now, got)
		}
	}
}
