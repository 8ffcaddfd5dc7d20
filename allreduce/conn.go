package allreduce

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Below gRPC. It copies what it writes into a buffer and what it reads out of
// one; for a gradient these are the largest costs after the kernel's own two
// copies. Connections of a ring therefore gather and scatter: frames go to the
// kernel from where the numbers are, and come to where they are read.

const (
	frameHeaderBytes = 9
	grpcPrefixBytes  = 5
	frameBytes       = 16 << 10 // gRPC's largest
	// copiedBytes bounds what is copied rather than referred to.
	copiedBytes = 1 << 10
	// aheadBytes is how much is read behind what was asked for: a message of ranks on
	// one host.
	aheadBytes = 16 * (frameBytes + frameHeaderBytes)
)

// vectored is the system's calls for several pieces at once.
type vectored interface {
	writev(pieces [][]byte) error
	readv(first, second []byte) (int, error)
}

// gathering is a connection on which gRPC, without a write buffer, writes frame
// by frame. It hands the kernel a message at a time. Pieces are referred to
// until then, which the streams of a ring allow: a payload is released when the
// last of it has been written. Not so messages in general, so that it is for
// rings alone.
type gathering struct {
	net.Conn
	system  vectored
	frame   int // bytes of the present data frame that are to come
	message int // and of the message
	pieces  [][]byte
	copied  []byte
}

func newGathering(c net.Conn) (net.Conn, error) {
	system, err := vectoredOf(c)
	if system == nil || err != nil {
		return c, err
	}
	return &gathering{Conn: c, system: system, copied: make([]byte, 0, copiedBytes)}, nil
}

// Write follows what gRPC writes only as far as it is sure that more of the
// same message comes at once; else it sends all that there is.
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
	err := c.system.writev(c.pieces)
	clear(c.pieces)
	c.pieces, c.copied = c.pieces[:0], c.copied[:0]
	return err
}

// scattering is a connection from which gRPC, without a read buffer, reads frame
// by frame: a header, then what follows it. What is asked for goes to its place, and
// in the same system call comes what has arrived behind it, to be copied from here:
// a copy in the cache costs less than a call for each frame.
type scattering struct {
	net.Conn
	system vectored
	ahead  [aheadBytes]byte
	lo, hi int          // what there is of ahead
	begin  func() error // reads what comes before gRPC; nil: has, or nothing does
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
	n, err := c.system.readv(p, c.ahead[:])
	if n > len(p) {
		c.lo, c.hi = 0, n-len(p)
		n = len(p)
	}
	return n, err
}

// listener has connections for a server made with [ServerOptions].
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	system, err := vectoredOf(c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if system == nil {
		return c, nil
	}
	s := &scattering{Conn: c, system: system}
	if local, ok := c.(*localConn); ok {
		s.begin = local.accept
	}
	return s, nil
}

// vectoredOf returns nil where the connection or the system has no such calls.
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

// frames is where a server reads frames to. Unlike gRPC's own pool it does not
// clear what is about to be overwritten.
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
