package allreduce

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The process that dials a local socket makes the memory. It sends the memory's
// descriptor with the connection's first byte, which is the number of descriptors: one,
// or zero if the system gave no memory.

// sealed memory cannot shrink while either end uses it: that would kill the process.
const sealed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// offer makes the memory and sends it.
func (c *localConn) offer() error {
	fd, pages, err := newPages()
	if err != nil { // the link works without, by the kernel's copies
		_, err = c.Write([]byte{0})
		return err
	}
	c.address.memory.fill(pages)
	defer unix.Close(fd)
	_, _, err = c.WriteMsgUnix([]byte{1}, unix.UnixRights(fd), nil)
	return err
}

func newPages() (fd int, pages []byte, err error) {
	fd, err = unix.MemfdCreate("ergoflow-ring", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, nil, os.NewSyscallError("memfd_create", err)
	}
	// Allocate now: later a lack of memory would be a signal that kills the process.
	// On older kernels any signal interrupts this call.
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Fallocate(fd, 0, 0, sharedBytes)
	}
	if err == nil {
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed); err == nil {
			pages, err = mapped(fd)
		}
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, pages, err
}

// accept receives what offer sends. It refuses other users, which have TCP.
func (c *localConn) accept() error {
	if !isOurs(c.UnixConn) {
		return fmt.Errorf("%w: a local link of another user", ErrRefused)
	}
	var count [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := c.ReadMsgUnix(count[:], rights)
	if err != nil {
		return err
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(rights[:m]); err == nil {
		for _, message := range messages {
			more, _ := unix.ParseUnixRights(&message)
			fds = append(fds, more...)
		}
	}
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	switch {
	case n == 1 && count[0] == 0 && len(fds) == 0:
		return nil
	case n != 1 || count[0] != 1 || len(fds) != 1:
		return fmt.Errorf("%w: not the beginning of a local link", ErrProtocol)
	}
	if err := checkPages(fds[0]); err != nil {
		return fmt.Errorf("%w: memory of a local link: %w", ErrProtocol, err)
	}
	pages, err := mapped(fds[0])
	if err != nil {
		return err
	}
	c.address.memory.fill(pages)
	return nil
}

// checkPages refuses memory that is not as newPages makes it.
func checkPages(fd int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("seals: %w", err)
	}
	if seals&sealed != sealed {
		return fmt.Errorf("seals %#x, want %#x", seals, sealed)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if stat.Size != sharedBytes {
		return fmt.Errorf("%d bytes, want %d", stat.Size, sharedBytes)
	}
	return nil
}

func mapped(fd int) ([]byte, error) {
	pages, err := unix.Mmap(fd, 0, sharedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return pages, os.NewSyscallError("mmap", err)
}

// unmap cannot fail on what mapped has returned.
func unmap(pages []byte) { _ = unix.Munmap(pages) }
