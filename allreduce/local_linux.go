package allreduce

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Local sockets are abstract Unix sockets with the TCP address in their names. They
// leave no files and end with their process. Their names, like ports, belong to a
// network namespace, so the socket of a name belongs to the owner of that address.

// localBufferBytes is the buffer size to ask for: the system's default may hold less
// than two messages. The system may give less.
const localBufferBytes = 1 << 20

func localName(address string) string {
	return fmt.Sprintf("@ergoflow-ring-%d/%s", protocolVersion, address)
}

// listenLocally returns nil if it cannot listen, e.g. because the name is taken. Then
// peers use TCP.
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

// dialLocally returns nil if no process of this user listens under the name.
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

// isOurs reports whether the other end belongs to our user. Any user may take a name
// that is not in use yet, and any user may dial it.
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
