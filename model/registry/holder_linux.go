package registry

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine identifies the machine, its start and the namespace of process numbers; empty is
// unknown.
func machine() (id, boot, space string) {
	id, boot = line("/etc/machine-id"), line("/proc/sys/kernel/random/boot_id")
	space, _ = os.Readlink("/proc/self/ns/pid")
	return id, boot, space
}

func line(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// process returns when a process started, in clock ticks since the machine did, and whether
// it runs: one that ended and that its parent has not asked for yet does not.
func process(pid int) (started uint64, running bool) {
	stat := line("/proc/" + strconv.Itoa(pid) + "/stat")
	// The fields after the name, which may have spaces and parentheses: state is the
	// third of proc(5), starttime the 22nd.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || strings.ContainsAny(fields[0], "ZXx") {
		return 0, false
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	return started, err == nil
}

// sinceBoot is the machine's monotonic clock, which all its processes share.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
