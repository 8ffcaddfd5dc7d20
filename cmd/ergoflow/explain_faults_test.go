package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow/internal/killtest"
)

// These are the faults that tests of `ergoflow explain` stage in running processes. They need
// root.

// stopThreads stops the threads of a process whose names begin with a prefix, until it is called
// back. The process and its other threads go on.
func stopThreads(t *testing.T, pid int, prefix string) (release func()) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var threads []int
	for _, path := range names {
		name, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(string(name), prefix) {
			thread, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			threads = append(threads, thread)
		}
	}
	if len(threads) == 0 {
		t.Fatalf("process %d has no thread %s…", pid, prefix)
	}
	stopped, over, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // of the tracer; never unlocked
		var err error
		for _, thread := range threads {
			if err == nil {
				err = unix.PtraceSeize(thread)
			}
			if err == nil {
				err = unix.PtraceInterrupt(thread)
			}
			if err == nil {
				_, err = unix.Wait4(thread, nil, unix.WALL, nil)
			}
		}
		stopped <- err
		<-over
		for _, thread := range threads {
			_ = unix.PtraceDetach(thread) // fails where the process has ended
		}
	}()
	if err := <-stopped; err != nil {
		t.Skipf("ptrace, by which the device hangs, is not allowed here: %v", err)
	}
	return sync.OnceFunc(func() { close(over); <-ended })
}

// slowSync makes every call of fsync and fdatasync of a process take longer, until it is called
// back.
func slowSync(t *testing.T, pid int, delay time.Duration) (release func()) {
	t.Helper()
	killtest.Need(t)
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-p", strconv.Itoa(pid), "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_enter=%d", delay.Microseconds()))
	said := &listener{words: "attached", heard: make(chan struct{})}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Skipf("strace, which slows the disk, cannot be started: apt install strace: %v", err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-said.heard:
	case <-ended:
		t.Skipf("ptrace, by which strace slows the disk, is not allowed here: %s", said.said)
	}
	return sync.OnceFunc(func() { cmd.Process.Signal(os.Interrupt); <-ended })
}

// jumpClock adds to the wall clock of one process. It replaces the vDSO's function that the
// process calls to read a clock; the monotonic clock stays.
func jumpClock(t *testing.T, pid int, jump time.Duration) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the clock of a process is set by machine code, which is written for amd64")
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	var begin, end int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			fmt.Sscanf(line, "%x-%x", &begin, &end)
		}
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Skipf("the memory of a process cannot be written here: %v", err)
	}
	defer memory.Close()
	image := make([]byte, end-begin)
	if _, err := memory.ReadAt(image, begin); err != nil {
		t.Fatal(err)
	}
	vdso, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := vdso.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	// int clock_gettime(clockid_t edi, struct timespec *rsi)
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, 228: the system call clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 0x07, // jnz: another clock than CLOCK_REALTIME, to ret
		0x48, 0x81, 0x06, 0, 0, 0, 0, // add qword [rsi], jump
		0xc3, // ret
	}
	binary.LittleEndian.PutUint32(code[14:], uint32(int32(jump/time.Second)))
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			if _, err := memory.WriteAt(code, begin+int64(s.Value)); err != nil {
				t.Skipf("the vDSO of a process cannot be written here: %v", err)
			}
			return
		}
	}
	t.Fatal("the vDSO has no __vdso_clock_gettime")
}

// exhaust moves a process to the cgroup, limits that to 128 MiB, and has another process there
// take these, slowly. The kernel is told to end the first one.
func (g cgroup) exhaust(t *testing.T, pid int) {
	t.Helper()
	g.write(t, "cgroup.procs", strconv.Itoa(pid)) // pages that it has stay with its old cgroup
	g.write(t, g.limit, strconv.FormatInt(128<<20, 10))
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0o644); err != nil {
		t.Fatal(err)
	}
	hog := exec.CommandContext(t.Context(), "python3", "-c", `
import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
taken = []
while True:
    taken.append(b"x" * (2 << 20))
    time.sleep(0.1)
`, filepath.Join(g.dir, "cgroup.procs"))
	if err := hog.Start(); err != nil {
		t.Skipf("the program that takes the memory is in Python: apt install python3: %v", err)
	}
	t.Cleanup(func() { hog.Process.Kill(); hog.Wait() })
	for unix.Kill(pid, 0) == nil { // another process is polled
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("the kernel does not end the process")
		}
	}
	hog.Process.Kill()
}
