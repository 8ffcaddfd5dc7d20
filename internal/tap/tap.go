//go:build linux

// Package tap opens TAP devices: network devices whose frames a program carries. Tests and
// benchmarks make cables of them that lose and delay frames, where the kernel has no netem.
package tap

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Open makes a TAP device in the network namespace of that name (ip netns), or in that of this
// process where the name is empty. It needs root. A read of the file is one frame, and so is
// a write.
func Open(device, namespace string) (*os.File, error) {
	type made struct {
		file *os.File
		err  error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		file, err := open(device, namespace)
		done <- made{file, err}
	}()
	m := <-done
	if m.err != nil {
		return nil, fmt.Errorf("TAP device %s in namespace %q: %w", device, namespace, m.err)
	}
	return m.file, nil
}

func open(device, namespace string) (*os.File, error) {
	if namespace != "" {
		space, err := os.Open("/run/netns/" + namespace)
		if err != nil {
			return nil, err
		}
		defer space.Close()
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(device)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}
