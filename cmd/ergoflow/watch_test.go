package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A screen is a program on a pseudo-terminal, with what it has written there.
type screen struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	done chan error

	mu   sync.Mutex
	out  bytes.Buffer
	more chan struct{} // has one when out has grown
}

// onTerminal starts the program on a terminal of that size.
func onTerminal(t *testing.T, rows, columns uint16, args ...string) *screen {
	t.Helper()
	cmd, _ := program(t.Context(), t, args...)
	cmd.Stdout, cmd.Stderr = nil, nil
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, tty: tty, cmd: cmd, done: make(chan error, 1), more: make(chan struct{}, 1)}
	t.Cleanup(func() { tty.Close() })
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			s.mu.Lock()
			s.out.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { err := cmd.Wait(); <-read; s.done <- err }()
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// await waits until what was written from a place on has a text.
func (s *screen) await(from int, want string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for !strings.Contains(s.text()[from:], want) {
		select {
		case <-s.more:
		case <-ctx.Done():
			s.t.Fatalf("the screen does not say %q:\n%q", want, s.text()[from:])
		}
	}
}

// resize gives the terminal another size, for which the program draws everything anew.
func (s *screen) resize(rows, columns uint16) (from int) {
	s.t.Helper()
	from = len(s.text())
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		s.t.Fatal(err)
	}
	return from
}

// startCoordinator starts a coordinator on a directory, and waits until it is there.
func startCoordinator(t *testing.T, dir string, more ...string) *exec.Cmd {
	t.Helper()
	cmd, out := program(context.Background(), t, append([]string{"coordinator", "--insecure", "--dir", dir}, more...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	addressesOf(t, dir, cmd.Process.Pid, out)
	return cmd
}

// The screen of a terminal: it follows the size, heeds keys, says when the coordinator is killed,
// goes on with the next one, which has another address, and leaves the terminal as it was.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	first := startCoordinator(t, dir)
	s := onTerminal(t, 20, 100, "status", "--watch=0.1", "--dir", dir)
	s.await(0, "\x1b[?1049h") // the other screen
	s.await(0, "0 workers by rank")
	raw, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Error("the terminal echoes keys, and waits for the end of a line")
	}
	s.tty.WriteString("w")
	s.await(s.resize(12, 90), "by wait")
	s.tty.WriteString("w")
	s.await(s.resize(13, 91), "by -wait")
	s.await(s.resize(10, 24), "0 workers by -wait · q ")

	from := len(s.text())
	first.Process.Kill()
	first.Wait()
	s.resize(14, 100)
	s.await(from, "does not answer since")
	startCoordinator(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil { // every size is drawn anew: until one of them has no such line
		from = s.resize(15, 100)
		s.await(from, "by -wait")
		if !strings.Contains(s.text()[from:], "does not answer") {
			break
		}
		s.resize(16, 100)
	}
	s.tty.WriteString("q")
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-ctx.Done():
		t.Fatal("q does not end it")
	}
	if text := s.text(); strings.LastIndex(text, "\x1b[?1049l") < strings.LastIndex(text, "\x1b[?1049h") || !strings.Contains(text[strings.LastIndex(text, "\x1b[?1049l"):]+text, "\x1b[?25h") {
		t.Errorf("the terminal keeps the other screen, or no cursor: %q", text[max(0, len(text)-200):])
	}
}

// A signal ends the screen in order, too: the terminal has its mode back.
func TestWatchEndsWithASignal(t *testing.T) {
	dir := t.TempDir()
	startCoordinator(t, dir)
	s := onTerminal(t, 20, 100, "status", "--watch", "--dir", dir)
	s.await(0, "0 workers by rank")
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("SIGTERM does not end it")
	}
	s.await(0, "\x1b[?1049l")
	mode, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err == nil && mode.Lflag&(unix.ICANON|unix.ECHO) == 0 {
		t.Error("the terminal stays in raw mode")
	}
}

// Events are followed beyond the end of a coordinator: `logs --follow` says so, and goes on with
// the next one.
func TestLogsFollow(t *testing.T) {
	dir := t.TempDir()
	first := startCoordinator(t, dir)
	s := onTerminal(t, 50, 300, "logs", "--follow", "--dir", dir)
	s.await(0, "this coordinator is")
	first.Process.Kill()
	first.Wait()
	s.await(0, "does not answer since")
	from := len(s.text())
	startCoordinator(t, dir)
	s.await(from, "the coordinator was started again")
	s.await(from, "this coordinator is")
	s.cmd.Process.Signal(syscall.SIGINT)
	if err := <-s.done; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
