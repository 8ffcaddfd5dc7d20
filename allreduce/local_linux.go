package allreduce

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Local sockets are abstract ones with the TCP address in their names. So they leave
// no files and end with their process; and since names, like ports, are those of a
// network namespace, who finds one has found the owner of the address.

// localBufferBytes is asked for where the system's default would hold less than two
// messages. It may give less.
const localBufferBytes = 1 << 20

func localName(address string) string {
	return fmt.Sprintf("@ergoflow-ring-%d/%s", protocolVersion, address)
}

// listenLocally returns nil if the name is taken or none: TCP does without it.
func listenLocally(address string) net.Listener {
	l, err := net.Listen("unix", localName(address))
	if err != nil {
		return nil
	}
	return localListener{l}
}

type localListener struct{ net.Listener }

func (l localListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if u, ok := c.(*net.UnixConn); ok {
		return newLocalConn(u), nil
	}
	return c, err
}

// dialLocally returns nil where no process of this user listens under the name.
func dialLocally(ctx context.Context, address string) net.Conn {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", localName(address))
	if err != nil {
		return nil
	}
	if u, ok := c.(*net.UnixConn); ok && isOurs(u) && u.SetWriteBuffer(localBufferBytes) == nil {
		return newLocalConn(u)
	}
	c.Close()
	return nil
}

// isOurs says whether the other end is of our user. Unlike a port that is in use, a
// name can be taken by anybody before its time; and anybody may dial it.
func isOurs(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	return err == nil && failed == nil && int(peer.Uid) == os.Geteuid()
}
