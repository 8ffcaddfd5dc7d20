//go:build !(linux && cgo)

package backend

// LiveBuffers is zero: there are no XLA devices.
func LiveBuffers() int64 { return 0 }
