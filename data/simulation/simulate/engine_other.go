//go:build !amd64

package simulate

// vectorEngines are none: there are kernels for amd64 alone.
func vectorEngines() []*Engine { return nil }
