package secure

import (
	"io"
	"net"
)

// recordHandshake is the first byte that a client of TLS sends. One of HTTP/2 sends a P.
const recordHandshake = 22

// Peek waits for the first byte of an accepted connection, which says whether the client speaks
// TLS, and returns the connection from its beginning.
func Peek(c net.Conn) (begun net.Conn, isTLS bool, err error) {
	b := begunConn{Conn: c, first: make([]byte, 1)}
	if _, err := io.ReadFull(c, b.first); err != nil {
		return nil, false, err
	}
	return &b, b.first[0] == recordHandshake, nil
}

// begunConn is a connection whose first byte has been read.
type begunConn struct {
	net.Conn
	first []byte // empty once somebody has read it again
}

func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
