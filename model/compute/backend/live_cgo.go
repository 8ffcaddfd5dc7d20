//go:build linux && cgo

package backend

import "github.com/gomlx/go-xla/pjrt"

// LiveBuffers is the number of buffers on XLA devices that are not finalized. If it
// grows over steps there is a leak, which the garbage collector does not find.
func LiveBuffers() int64 { return pjrt.BuffersAlive() }
