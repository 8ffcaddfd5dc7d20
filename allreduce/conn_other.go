//go:build !linux

package allreduce

import "syscall"

// newVectored: Go's own reads and writes will do.
func newVectored(syscall.RawConn) vectored { return nil }
