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

// programOf is the name of a process's program.
func programOf(process string) (name []byte, err error) {
	return os.ReadFile("/proc/" + process + "/comm")
}

// Visible reports whether a process of this program with that number can be seen from here. One
// on another host cannot, nor one in a container of its own.
func Visible(pid int) bool {
	own, err := programOf("self")
	if err != nil || pid <= 0 {
		return false
	}
	theirs, err := programOf(strconv.Itoa(pid))
	return err == nil && bytes.Equal(own, theirs)
}

// EndOf says how a process ended that was Visible: IsGone, or OutOfMem and what the kernel's log
// says. Empty: it has not ended.
func EndOf(pid int) string {
	own, err := programOf("self")
	if err != nil {
		return ""
	}
	if state := stateOf(pid); state != 0 && state != 'Z' && state != 'X' { // a zombie has ended
		return ""
	}
	if said := killedForMemory(pid, strings.TrimSpace(string(own))); said != "" {
		return OutOfMem + ": " + said
	}
	return IsGone
}

// StateOf says that a process that was Visible IsStopped. Empty: it is not.
func StateOf(pid int) string {
	if Visible(pid) && stateOf(pid) == 'T' {
		return IsStopped
	}
	return ""
}

// stateOf is the letter of a process's state; 0: there is no such process.
func stateOf(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	i := bytes.LastIndex(stat, []byte(") ")) // the name before it may have spaces
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
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
