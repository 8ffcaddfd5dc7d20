//go:build linux && cgo

package backend

import "github.com/gomlx/go-xla/pjrt"

// Alive is the number of buffers on XLA devices that are not finalized: a number
// that grows over steps is a leak that the garbage collector will not find.
func Alive() int64 { return pjrt.BuffersAlive() }
