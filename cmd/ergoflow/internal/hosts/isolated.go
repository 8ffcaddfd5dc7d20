// Package hosts gives tests a network of hosts on one machine. Each host is a network
// namespace with a cable to a switch, to which the test itself is connected too. Tests
// unplug cables, plug them in again, and limit their rate.
//
//	  switch (10.77.0.254: the test)
//	┌────┼────┬────┐
//	a    b    c    d      10.77.0.1, 10.77.0.2, …
//
// The network lives in a child process with network, mount and process namespaces of its
// own. The machine does not see it, and the kernel removes it however the child ends.
//
// It needs root, and `ip` and `tc` of iproute2.
package hosts

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// isolated is the environment variable of the child with the name of its test.
const isolated = "ERGOFLOW_ISOLATED_TEST"

// reportTime is how long before the test's deadline the child is ended, to report its output.
const reportTime = 5 * time.Second

// Isolated runs the test f in a child process with namespaces of its own, where it is
// process 1: its children end with it, and it ends with this process. Where the machine
// does not allow that, Isolated skips the test.
//
// The child is this test binary, which runs this test alone: both processes run what comes
// before the call of Isolated.
func Isolated(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(isolated) == t.Name() {
		enter(t)
		f(t)
		return
	}
	if why := missing(); why != "" {
		t.Skip("no hosts can be made here: " + why)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(os.Args[1:]), "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.testlogfile=")
	if deadline, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprintf("-test.timeout=%v", time.Until(deadline)-reportTime))
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), isolated+"="+t.Name())
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	// The child ends when this pipe closes, also when this process is killed.
	life, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer life.Close()
	if err := cmd.Run(); err != nil {
		t.Fatalf("in isolation: %v", err)
	}
}

// missing says why namespaces cannot be made; it is empty if they can.
func missing() string {
	if os.Geteuid() != 0 {
		return "not root"
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not there (on Debian: apt install iproute2)"
		}
	}
	probe := exec.Command("ip", "-V")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if err := probe.Run(); err != nil {
		return fmt.Sprintf("this process may not make namespaces: %v", err)
	}
	return ""
}

// enter separates the child from the machine: its mounts are not seen outside, /proc shows
// its processes, and /run, where `ip netns` keeps names, is empty.
func enter(t *testing.T) {
	t.Helper()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // the parent has ended
	}()
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"none", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{"proc", "/proc", "proc", 0},
		{"tmpfs", "/run", "tmpfs", 0},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			t.Fatalf("mount %s: %v", m.target, err)
		}
	}
	run(t, "ip", "link", "set", "lo", "up")
}

// Disk mounts an empty disk of that many bytes, in memory, at dir.
func Disk(t *testing.T, dir string, bytes int64) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Fatalf("mount %s: %v", dir, err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
