package flight

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Texts of a Process record.
const (
	IsStopped = "the operating system has stopped it (state T)"
	IsGone    = "it does not exist any more"
	OutOfMem  = "the kernel ended it for want of memory"
)

// StateOf says what the operating system of this host knows of another process of this program:
// IsStopped, IsGone, or what the kernel's log says of its end. Empty: nothing remarkable, or it
// cannot be known.
func StateOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	own, _ := os.ReadFile("/proc/self/comm")
	theirs, err := os.ReadFile(dir + "comm")
	if os.IsNotExist(err) {
		if said := killedForMemory(pid, strings.TrimSpace(string(own))); said != "" {
			return OutOfMem + ": " + said
		}
		return IsGone
	}
	if err != nil || !bytes.Equal(own, theirs) {
		return "" // the number is that of another program's process
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name before it may have spaces
	if strings.HasPrefix(after, "T ") {
		return IsStopped
	}
	return ""
}

// logAge is how old a line of the kernel's log may be to tell of a process that is lost now.
const logAge = time.Minute

// oomLine is a line of the kernel's log: priority, number, microseconds since the machine
// started, flags; text.
var oomLine = regexp.MustCompile(`^\d+,\d+,(\d+),[^;]*;([^\n]*[Oo]ut of memory: Killed process (\d+) \(([^)]*)\)[^\n]*)`)

// killedForMemory is the line of the kernel's log that says that a process of that name was
// ended for want of memory within the last minute. Empty: there is none, or this user may not
// read the log.
func killedForMemory(pid int, name string) string {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return ""
	}
	buffer := make([]byte, 8192) // each read returns one line
	for {
		n, err := unix.Read(fd, buffer)
		if err == unix.EPIPE || err == unix.EINTR { // lines were overwritten meanwhile
			continue
		}
		if err != nil || n <= 0 {
			return ""
		}
		if said := oomOf(string(buffer[:n]), pid, name, time.Duration(now.Nano())); said != "" {
			return said
		}
	}
}

// oomOf is the text of a line of the kernel's log, if that says that the process was ended.
func oomOf(line string, pid int, name string, now time.Duration) string {
	m := oomLine.FindStringSubmatch(line)
	if m == nil || m[3] != strconv.Itoa(pid) || m[4] != name {
		return ""
	}
	at, err := strconv.ParseInt(m[1], 10, 64)
	if age := now - time.Duration(at)*time.Microsecond; err != nil || age > logAge {
		return ""
	}
	return m[2]
}
