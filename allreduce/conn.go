package allreduce

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
)

// Connections below gRPC. gRPC copies what it writes into a buffer and what it reads
// out of one. For a gradient these copies are the largest cost after the kernel's own
// two. Connections of a ring therefore gather and scatter (writev, readv): frames go to
// the kernel from where the numbers are, and arrive where they are read. Where TLS is
// between gRPC and the kernel (tls.go), it gets whole records instead of pieces.

const (
	frameHeaderBytes = 9
	grpcPrefixBytes  = 5
	frameBytes       = 16 << 10 // the largest that gRPC sends
	// copiedBytes bounds the pieces that are copied instead of referred to.
	copiedBytes = 1 << 10
	// aheadBytes is how much a read takes beyond what gRPC asked for: one message of
	// ranks on one host.
	aheadBytes = 16 * (frameBytes + frameHeaderBytes)
)

// vectored is the system's calls for several pieces at once.
type vectored interface {
	vectoredWriter
	readv(first, second []byte) (int, error)
}

// vectoredWriter is the system, or TLS above it.
type vectoredWriter interface{ writev(pieces [][]byte) error }

// gathering is a connection on which gRPC, without a write buffer, writes frame by
// frame. It hands on one message at a time and refers to its pieces until then.
// The streams of a ring allow this: they release a payload when the last piece of it
// has been written. Other gRPC streams do not, so gathering is for rings alone.
type gathering struct {
	net.Conn
	below   vectoredWriter
	frame   int // bytes of the present data frame that are still to come
	message int // bytes of the present message that are still to come
	pieces  [][]byte
	copied  []byte
}

func newGathering(c net.Conn) (net.Conn, error) {
	system, err := vectoredOf(c)
	if system == nil || err != nil {
		return c, err
	}
	return gatheringTo(c, system), nil
}

func gatheringTo(c net.Conn, below vectoredWriter) *gathering {
	return &gathering{Conn: c, below: below, copied: make([]byte, 0, copiedBytes)}
}

// Write parses what gRPC writes just enough to know whether more of the same message
// follows at once. If that is not certain, it sends what it has.
func (c *gathering) Write(b []byte) (int, error) {
	more := false
	switch {
	case c.frame == 0 && len(b) == frameHeaderBytes && b[3] == 0: // of a data frame
		c.frame = int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		more = c.frame > 0
	case c.frame == 0: // another frame
	case c.message == 0 && len(b) == grpcPrefixBytes:
		c.frame -= len(b)
		c.message = int(binary.BigEndian.Uint32(b[1:]))
		more = c.message > 0
	default:
		c.frame, c.message = max(c.frame-len(b), 0), max(c.message-len(b), 0)
		more = c.message > 0 && (c.frame > 0 || len(b) >= copiedBytes)
	}
	if len(b) >= copiedBytes {
		c.pieces = append(c.pieces, b)
	} else {
		if len(c.copied)+len(b) > cap(c.copied) {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
		c.copied = append(c.copied, b...)
		c.pieces = append(c.pieces, c.copied[len(c.copied)-len(b):])
	}
	if more {
		return len(b), nil
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *gathering) flush() error {
	err := c.below.writev(c.pieces)
	clear(c.pieces)
	c.pieces, c.copied = c.pieces[:0], c.copied[:0]
	return err
}

// scattering is a connection from which gRPC, without a read buffer, reads frame by
// frame: a header, then what follows it. One system call reads what gRPC asks for to its
// place, and what has arrived behind it to ahead, from where later reads copy it. A copy
// within the cache costs less than a system call for each frame.
type scattering struct {
	net.Conn
	system vectored      // nil if there are no such calls
	ahead  []byte        // nil where TLS asks for as much as it has room for
	lo, hi int           // the bytes of ahead that are not read yet
	begin  func() error  // reads what precedes gRPC's bytes; nil when done, or without any
	reads  atomic.Uint64 // system calls that brought bytes
}

func (c *scattering) Read(p []byte) (int, error) {
	if begin := c.begin; begin != nil {
		c.begin = nil
		if err := begin(); err != nil {
			return 0, err
		}
	}
	if c.lo < c.hi {
		n := copy(p, c.ahead[c.lo:c.hi])
		c.lo += n
		return n, nil
	}
	var n int
	var err error
	if c.system == nil {
		n, err = c.Conn.Read(p)
	} else {
		n, err = c.system.readv(p, c.ahead)
	}
	if n > 0 {
		c.reads.Add(1)
	}
	if n > len(p) {
		c.lo, c.hi = 0, n-len(p)
		n = len(p)
	}
	return n, err
}

// fill reads what has arrived to ahead, which is empty.
func (c *scattering) fill() (err error) {
	c.lo = 0
	if c.system == nil {
		c.hi, err = c.Conn.Read(c.ahead)
	} else {
		c.hi, err = c.system.readv(nil, c.ahead)
	}
	if c.hi > 0 {
		c.reads.Add(1)
	}
	return err
}

func (c *scattering) RemoteAddr() net.Addr {
	a, ok := c.Conn.RemoteAddr().(connAddr)
	if !ok {
		a.Addr = c.Conn.RemoteAddr()
	}
	a.reads, a.segments = &c.reads, func() uint64 { return segmentsOf(c.Conn) }
	return a
}

// connAddr carries parts of a connection to the streams on it: gRPC gives them their peer's
// address and nothing else of the connection.
type connAddr struct {
	net.Addr
	memory *sharedMemory  // that the ends share; nil if there is none
	reads  *atomic.Uint64 // of an accepted connection; nil on the other end
	// segments counts those of TCP on an accepted connection; nil on the other end.
	segments func() uint64
}

// addressOf is the address of a stream's peer; its parts are nil where the connection has
// none.
func addressOf(stream context.Context) (a connAddr) {
	if p, ok := peer.FromContext(stream); ok {
		a, _ = p.Addr.(connAddr)
	}
	return a
}

// listener has connections for a server made with [Server.Options].
type listener struct {
	net.Listener
	server *Server
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	system, err := vectoredOf(c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := &scattering{Conn: c, system: system}
	if local, ok := c.(*localConn); ok {
		s.begin = local.accept
	} else if l.server.own == nil {
		s.begin = func() error { return l.server.refuseTLS(s) }
	} else {
		return s, nil
	}
	s.ahead = make([]byte, aheadBytes)
	return s, nil
}

// vectoredOf returns nil if the connection or the system has no such calls.
func vectoredOf(c net.Conn) (vectored, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	return newVectored(raw), nil
}

// frames is the pool of a server's read buffers. Unlike gRPC's own pool it does not
// clear buffers that are about to be overwritten.
type frames struct{ pool sync.Pool }

var _ mem.BufferPool = (*frames)(nil)

func (f *frames) Get(n int) *[]byte {
	if n > frameBytes {
		b := make([]byte, n)
		return &b
	}
	b, ok := f.pool.Get().(*[]byte)
	if !ok {
		b = new([]byte)
		*b = make([]byte, frameBytes)
	}
	*b = (*b)[:n]
	return b
}

func (f *frames) Put(b *[]byte) {
	if cap(*b) == frameBytes {
		f.pool.Put(b)
	}
}
