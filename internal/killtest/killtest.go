// Package killtest kills the test binary before a given system call, by strace, so that a test
// can check what every prefix of some work leaves on a disk.
package killtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Need skips the test where strace is missing or may not trace.
func Need(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace, which kills a process before a given system call")
	}
	if err := exec.CommandContext(t.Context(), "strace", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("strace does not work here: %v", err)
	}
}

// Before runs the test binary with further environment variables, by which it knows its work,
// and kills it before its n-th call, from 1. It reports whether there was such a call. strace
// counts the calls of each thread, so the work should lock its thread.
func Before(t *testing.T, call string, n int, env ...string) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-o", os.DevNull, "-e", "trace=?"+call,
		"-e", fmt.Sprintf("inject=?%s:signal=SIGKILL:when=%d", call, n), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%s %d: %v\n%s", call, n, err, out)
	}
	return err != nil
}
