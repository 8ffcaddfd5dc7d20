package systemd

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// listen is the socket of a service manager; heard is what it has heard.
func listen(t *testing.T) (heard func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		b := make([]byte, 1000)
		n, err := conn.Read(b)
		if err != nil {
			return ""
		}
		return string(b[:n])
	}
}

func TestNotify(t *testing.T) {
	heard := listen(t)
	Ready("control 127.0.0.1:7070")
	if got, want := heard(), "READY=1\nSTATUS=control 127.0.0.1:7070"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	Stopping()
	if got := heard(); got != "STOPPING=1" {
		t.Errorf("%q", got)
	}
	os.Unsetenv("NOTIFY_SOCKET")
	Ready("nobody listens")
	if got := heard(); got != "" {
		t.Errorf("%q", got)
	}
}

// Beats are passed on four times in the unit's limit, however many there are, and only where
// the unit asks for them.
func TestWatchdog(t *testing.T) {
	heard := listen(t)
	count := func(w *Watchdog) (n int) {
		synctest.Test(t, func(*testing.T) {
			for range 100 { // ten seconds
				w.Beat()
				time.Sleep(100 * time.Millisecond) // on the bubble's clock
			}
		})
		for heard() == "WATCHDOG=1" {
			n++
		}
		return n
	}
	if n := count(NewWatchdog()); n != 0 {
		t.Errorf("%d beats though nobody asks", n)
	}
	t.Setenv("WATCHDOG_USEC", "4000000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	if n := count(NewWatchdog()); n != 10 {
		t.Errorf("%d beats in ten seconds, want 10", n)
	}
	t.Setenv("WATCHDOG_PID", "1")
	if n := count(NewWatchdog()); n != 0 {
		t.Errorf("%d beats though another process is asked", n)
	}
}
