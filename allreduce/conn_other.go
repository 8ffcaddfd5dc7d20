//go:build !linux

package allreduce

import "syscall"

// newVectored returns nil: Go's own reads and writes are used.
func newVectored(syscall.RawConn) vectored { return nil }
