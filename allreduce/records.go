package allreduce

import (
	"context"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// Connections of a ring with TLS. A record costs its encryption and 22 bytes, so a message
// becomes as few records as it can, and the kernel gets them all in one call:
//
//	gRPC ── pieces ──► gathering ── messages ──► records ── 16 KiB ──► tls ── records ──► holding ── messages ──► kernel

// recordBytes is the longest plain text of a record.
const recordBytes = 16 << 10

// link does the handshake on a connection of a ring. The connection gathers.
func (s security) link(ctx context.Context, c net.Conn, to expected) (net.Conn, credentials.AuthInfo, error) {
	if s.own == nil || to.plain || isLocal(c) {
		c, err := newGathering(c)
		if err != nil {
			return nil, nil, err
		}
		return s.client(ctx, c, to)
	}
	system, err := vectoredOf(c)
	if err != nil {
		return nil, nil, err
	}
	h := &holding{Conn: c, system: system}
	secured, info, err := s.client(ctx, h, to)
	if err != nil {
		return nil, nil, err
	}
	return gatheringTo(secured, &records{to: secured, below: h}), info, nil
}

// records writes messages to a TLS connection: each call of Write there begins a record.
type records struct {
	to    net.Conn // TLS
	below *holding // the records of to
	next  []byte   // plain text of the record that is not full yet
}

func (r *records) writev(pieces [][]byte) error {
	r.below.hold()
	for _, b := range pieces {
		for len(b) > 0 {
			n := min(len(b), recordBytes-len(r.next))
			r.next, b = append(r.next, b[:n]...), b[n:]
			if len(r.next) < recordBytes {
				continue
			}
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	return r.below.release()
}

func (r *records) flush() error {
	_, err := r.to.Write(r.next)
	r.next = r.next[:0]
	return err
}

// holding is a connection below TLS. Between hold and release it keeps what TLS writes.
type holding struct {
	net.Conn
	system vectored // nil if there are no such calls

	mu   sync.Mutex // TLS writes alerts and keys from where it reads
	held bool
	kept []byte
}

func (c *holding) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

func (c *holding) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	_, err := c.write(c.kept)
	c.kept = c.kept[:0]
	return err
}

func (c *holding) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.kept = append(c.kept, b...)
		return len(b), nil
	}
	return c.write(b)
}

func (c *holding) write(b []byte) (int, error) {
	if c.system == nil {
		return c.Conn.Write(b)
	}
	if err := c.system.writev([][]byte{b}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// answered waits for the first bytes from a server, and returns a connection from which they
// can be read. HTTP/2 servers send something as soon as they have accepted a connection. The
// end of ctx closes the connection.
func answered(ctx context.Context, c net.Conn) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		return nil, err
	}
	return &begun{c, first}, nil
}

// begun is a connection of which the first bytes have been read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
