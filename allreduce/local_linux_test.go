package allreduce

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// joined are the networks by which the first rank reaches the others. It joins twice:
// once the first ring has formed, all serve.
func joined(t *testing.T, c cluster) (used []string) {
	t.Helper()
	for g := range ergoflow.Generation(2) {
		rings, err := c.join(t.Context(), g+1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		used = networks(rings[0])
		if err := errors.Join(each(len(rings), func(rank int) error {
			if err := rings[rank].AllReduce(0, make([]float32, 100_000)); err != nil {
				return err
			}
			return rings[rank].Close()
		})...); err != nil {
			t.Fatal(err)
		}
	}
	return used
}

func TestOneMachineUsesLocalSockets(t *testing.T) {
	if used := joined(t, grpcCluster(t, 3)); len(used) != 2 || used[0] != "unix" || used[1] != "unix" {
		t.Errorf("connected by %v", used)
	}
}

// A rank whose socket's name was taken, by another user even, is reached by TCP.
func TestTakenNames(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := listenAs(t, localName(l.Addr().String()), 65534)
	defer taken.Close()
	c := grpcCluster(t, 1)
	s := NewServer(nil)
	g := grpc.NewServer(s.Options()...)
	s.Register(g)
	done := make(chan error, 1)
	go func() { done <- s.Serve(g, l, l.Addr().String()) }()
	c.servers, c.peers = append(c.servers, s), append(c.peers, l.Addr().String())
	if used := joined(t, c); len(used) != 1 || used[0] != "tcp" {
		t.Errorf("connected by %v", used)
	}
	g.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// listenAs listens as another user.
func listenAs(t *testing.T, name string, user uintptr) (l net.Listener) {
	t.Helper()
	as(t, user, func() (err error) {
		l, err = net.Listen("unix", name)
		return err
	})
	return l
}

// as calls f as another user, as which only this thread runs meanwhile.
func as(t *testing.T, user uintptr, f func() error) {
	t.Helper()
	if syscall.Geteuid() != 0 {
		t.Skip("only root may call as another user")
	}
	const keep = ^uintptr(0)
	become := func(user uintptr) {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, user, keep); errno != 0 {
			t.Fatal(errno)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become(user)
	defer become(0)
	if err := f(); err != nil {
		t.Fatal(err)
	}
}

// Who dials as another user is refused, whatever it sends.
func TestOtherUsersDial(t *testing.T) {
	l := listenLocally(t.Name())
	if l == nil {
		t.Fatal("no local socket")
	}
	defer l.Close()
	as(t, 65534, func() error {
		c, err := net.Dial("unix", localName(t.Name()))
		if err != nil {
			return err
		}
		t.Cleanup(func() { c.Close() })
		_, err = c.Write([]byte{0})
		return err
	})
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*localConn).accept(); !errors.Is(err, ErrRefused) {
		t.Errorf("accepted: %v", err)
	}
}

// On one machine members need no encryption, and the kernel says whose processes they are.
func TestLocalSocketsStayPlain(t *testing.T) {
	own := workers(t, trusttest.Authority(t, "lab"), 2)
	var c cluster
	var streams seen
	for _, own := range own {
		c.serve(t, own, true, streams.option())
	}
	if used := joined(t, c); len(used) != 1 || used[0] != "unix" {
		t.Errorf("connected by %v", used)
	}
	if info := streams.last(); info.AuthType() != "local" {
		t.Errorf("an interceptor sees %q", info.AuthType())
	}
}
