package conduct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A process is a child of this one: the same program under another subcommand, with its
// log in a file.
type process struct {
	name string
	log  string
	from int64 // where this process begins in its log, to which earlier ones wrote
	out  tail  // standard output, where its errors go if the disk of its log is full
	cmd  *exec.Cmd
	life io.Closer     // the child leaves when this end of its standard input closes
	done chan struct{} // closed when the child has ended
}

// startProcess starts `ergoflow args...`, with env added to its environment. Its standard
// error is appended to logDir/name.log.
//
// The child's standard input is a pipe from this process, and the child leaves when the
// pipe closes (Supervised). The kernel closes it however this process ends, so that no
// orphan survives even a SIGKILL.
func startProcess(logDir, name string, env []string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	logPath := filepath.Join(logDir, name+".log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: its log: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("start %s: its log: %w", name, err)
	}
	cmd := exec.Command(self, append(args, "--supervised")...)
	cmd.Args[0] = "ergoflow" // for ps
	cmd.Env = append(os.Environ(), env...)
	p := &process{name: name, log: logPath, from: from, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, log
	cmd.WaitDelay = time.Second // a grandchild may hold its output open
	// Ctrl-C reaches the whole foreground group; the parent decides the order
	// in which its children leave.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.life, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = cmd.Wait() // ProcessState has the outcome
		close(p.done)
	}()
	return p, nil
}

// ended reports whether the child has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crashed reports whether the child ended with a signal or an exit code other than 0.
func (p *process) crashed() bool { return p.ended() && !p.cmd.ProcessState.Success() }

// killed reports whether a signal ended the child.
func (p *process) killed() bool {
	return p.ended() && p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()
}

// stop asks the child to leave and, after the grace, kills it.
func (p *process) stop(grace time.Duration) {
	if p.ended() {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// A ProcessError says why a child ended.
type ProcessError struct {
	Name   string // such as worker-0
	Reason string // its last error line, or its exit status
	Hint   string // its last hint line; may be empty
	Log    string // the path of its log
}

func (e *ProcessError) Error() string { return e.Name + " ended: " + e.Reason }

// crash is the first line of what Go's runtime, or XLA, writes when it gives a process up.
var crash = regexp.MustCompile(`^(runtime(/cgo)?: |panic: |fatal error: |SIG[A-Z]+: |F\d{4} |terminate called )`)

// failure says why the child ended: its own last error, or how its runtime gave it up.
func (p *process) failure() error {
	status := p.cmd.ProcessState.String()
	e := &ProcessError{Name: p.name, Reason: status, Log: p.log}
	for _, line := range p.lastLines() {
		if e.Reason == status && crash.MatchString(line) {
			e.Reason = status + ": " + line
		}
		if text, ok := strings.CutPrefix(line, "ergoflow: "); ok {
			e.Reason = text
		}
		if text, ok := strings.CutPrefix(line, "hint: "); ok {
			e.Hint = text
		}
	}
	return e
}

// lastLines are those that this process wrote to its log, then those for which the log's
// disk had no room.
func (p *process) lastLines() []string {
	written := int64(maxLog)
	if info, err := os.Stat(p.log); err == nil {
		written = min(written, info.Size()-p.from)
	}
	return append(tailLines(p.log, written), strings.Split(string(p.out), "\n")...)
}

// Bounds of the bytes that are kept of an output, and that are read of a log: a crash of
// Go's runtime lists every goroutine below its reason.
const (
	maxTail = 8 << 10
	maxLog  = 1 << 20
)

// A tail keeps the last maxTail bytes of what is written to it.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-maxTail):]
	return len(b), nil
}

// tailLines returns the lines in the last n bytes of a file.
func tailLines(path string, n int64) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-n), io.SeekStart)
	}
	b, _ := io.ReadAll(io.LimitReader(f, n))
	return strings.Split(string(bytes.TrimSpace(b)), "\n")
}

// Supervised returns a context for a child of startProcess: it ends when ctx does or when
// the parent, which holds the other end of standard input, has ended.
func Supervised(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errors.New("the process that started this one has ended"))
	}()
	return ctx
}
