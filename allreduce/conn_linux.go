package allreduce

import (
	"io"
	"runtime"
	"syscall"
	"unsafe"
)

// system calls readv and writev on a non-blocking socket. The calls are raw, so Go's
// scheduler does not see them: it would take the processor away from calls that copy
// for longer than 20 µs and hand it back through another thread.
type system struct {
	raw         syscall.RawConn
	read, write call
}

// A call is one readv or writev at a time. It keeps its memory between calls, so that
// none allocates.
type call struct {
	trap    uintptr
	vectors []syscall.Iovec
	n       int
	errno   syscall.Errno
	attempt func(fd uintptr) bool
}

func newVectored(raw syscall.RawConn) vectored {
	s := &system{raw: raw}
	s.read.trap, s.write.trap = syscall.SYS_READV, syscall.SYS_WRITEV
	for _, c := range []*call{&s.read, &s.write} {
		c.attempt = c.try
	}
	return s
}

// maxVectors is the largest number of pieces in one call: IOV_MAX.
const maxVectors = 1024

func (c *call) add(b []byte) {
	if len(b) > 0 {
		v := syscall.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(len(b))
		c.vectors = append(c.vectors, v)
	}
}

// try reports whether the call is done; false means that the socket is not ready.
func (c *call) try(fd uintptr) bool {
	for {
		vectors := c.vectors[:min(len(c.vectors), maxVectors)]
		n, _, errno := syscall.RawSyscall(c.trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(vectors))), uintptr(len(vectors)))
		c.n, c.errno = int(n), errno
		switch errno {
		case 0:
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			c.n = 0
			return true
		}
	}
}

// drop forgets the first n bytes.
func (c *call) drop(n int) {
	for n > 0 {
		v := &c.vectors[0]
		if k := int(v.Len); n >= k {
			n -= k
			c.vectors = c.vectors[1:]
			continue
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
		v.SetLen(int(v.Len) - n)
		return
	}
}

func (s *system) writev(pieces [][]byte) error {
	sending()
	c := &s.write
	all := c.vectors[:0]
	c.vectors = all
	for _, b := range pieces {
		c.add(b)
	}
	all = c.vectors
	defer func() {
		clear(all)
		c.vectors = all[:0]
		runtime.KeepAlive(pieces)
	}()
	for len(c.vectors) > 0 {
		if err := s.raw.Write(c.attempt); err != nil {
			return err
		}
		if c.errno != 0 {
			return c.errno
		}
		c.drop(c.n)
	}
	return nil
}

func (s *system) readv(first, second []byte) (int, error) {
	c := &s.read
	c.vectors = c.vectors[:0]
	c.add(first)
	c.add(second)
	err := s.raw.Read(c.attempt)
	received()
	clear(c.vectors)
	switch {
	case err != nil:
		return 0, err
	case c.errno != 0:
		return 0, c.errno
	case c.n == 0:
		return 0, io.EOF
	}
	return c.n, nil
}
