package hosts

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets this binary be two small programs on a host: `listen ADDRESS`,
// until its input ends, and `dial ADDRESS`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "listen" {
		l, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			for {
				if c, err := l.Accept(); err == nil {
					c.Close()
				}
			}
		}()
		fmt.Println("listens")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "dial" {
		if _, err := net.DialTimeout("tcp", os.Args[2], time.Second); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestHosts(t *testing.T) { Isolated(t, hosts) }

func hosts(t *testing.T) {
	if os.Getpid() != 1 {
		t.Errorf("process %d has no process numbers of its own", os.Getpid())
	}
	network := New(t)
	a, b := network.Host("a"), network.Host("b")
	serve(t, b, "7000")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reached := func() error {
		out, err := a.Command(t.Context(), self, "dial", b.Address+":7000").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := reached(); err != nil {
		t.Fatalf("a does not reach b: %v", err)
	}
	if conn, err := net.DialTimeout("tcp", b.Address+":7000", time.Second); err != nil {
		t.Errorf("the test does not reach b: %v", err)
	} else {
		conn.Close()
	}
	b.Unplug()
	if reached() == nil {
		t.Error("b is reached without its cable")
	}
	b.Plug()
	deadline := time.Now().Add(30 * time.Second)
	for err := reached(); err != nil; err = reached() {
		if time.Now().After(deadline) {
			t.Fatalf("b is not reached though its cable is back: %v", err)
		}
	}

	limits := func() string {
		inside, _ := exec.Command("tc", "-n", "b", "qdisc", "show", "dev", "eth0").CombinedOutput()
		outside, _ := exec.Command("tc", "qdisc", "show", "dev", "b").CombinedOutput()
		return string(inside) + string(outside)
	}
	b.Limit("8mbit")
	if got := limits(); strings.Count(got, "rate 8Mbit") != 2 {
		t.Errorf("b is not limited in both directions: %s", got)
	}
	b.Unlimit()
	if got := limits(); strings.Contains(got, "tbf") {
		t.Errorf("b is still limited: %s", got)
	}
}

// serve starts a listener on a host.
func serve(t *testing.T, h *Host, port string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, self, "listen", h.Address+":"+port)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cancel(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatalf("the listener does not start: %v", err)
	}
}

func TestDisk(t *testing.T) {
	Isolated(t, func(t *testing.T) {
		dir := t.TempDir()
		Disk(t, dir, 64<<10)
		if err := os.WriteFile(dir+"/large", make([]byte, 1<<20), 0o644); err == nil {
			t.Error("a disk of 64 KiB holds 1 MiB")
		}
	})
}
