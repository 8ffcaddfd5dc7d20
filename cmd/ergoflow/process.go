package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A process is a child of `ergoflow run`: the same program under another
// subcommand, with its log in a file.
type process struct {
	name string
	log  string
	from int64 // where this process begins in its log, which others have written before
	out  tail  // standard output: its last words, where the disk of its log is full
	cmd  *exec.Cmd
	life io.Closer     // the child leaves when this end of its standard input closes
	done chan struct{} // closed when the child has ended
}

// startProcess starts `ergoflow args...`, with more in its environment, appending what
// it says on standard error to logDir/name.log.
//
// The child holds our end of a pipe as its standard input and leaves when it
// closes, which the kernel does for us however we end: no orphan survives even
// a SIGKILL of the parent.
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
	cmd.WaitDelay = time.Second // whoever else may hold its output
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
		cmd.Wait()
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

// crashed reports whether the child ended otherwise than by leaving.
func (p *process) crashed() bool { return p.ended() && !p.cmd.ProcessState.Success() }

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

// failure says why the child ended, from the last error line that it said.
func (p *process) failure() error {
	reason := p.cmd.ProcessState.String()
	var hint string
	for _, line := range p.said() {
		if text, ok := strings.CutPrefix(line, "ergoflow: "); ok {
			reason = text
		}
		if text, ok := strings.CutPrefix(line, "hint: "); ok {
			hint = text
		}
	}
	err := fmt.Errorf("%s ended: %s", p.name, reason)
	if hint == "" {
		hint = "the same command goes on where this one stopped; the log is " + p.log
	}
	return withHint(err, "%s", hint)
}

// said returns the last lines that this process wrote into its log, and those for
// which that had no room.
func (p *process) said() []string {
	written := int64(maxTail)
	if info, err := os.Stat(p.log); err == nil {
		written = min(written, info.Size()-p.from)
	}
	return append(tailLines(p.log, written), strings.Split(string(p.out), "\n")...)
}

// maxTail bounds what is read again of what a process has said.
const maxTail = 8 << 10

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
		f.Seek(max(0, size-n), io.SeekStart)
	}
	b, _ := io.ReadAll(io.LimitReader(f, n))
	return strings.Split(string(bytes.TrimSpace(b)), "\n")
}

// supervised returns a context that ends when ctx does or when the parent that
// holds our standard input has gone.
func supervised(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel(errors.New("the process that started this one has ended"))
	}()
	return ctx
}
