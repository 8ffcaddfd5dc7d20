//go:build !(linux && cgo && amd64)

package products

import "github.com/gomlx/compute"

// Supported is false: the kernels are for amd64 and need cgo.
func Supported() bool { return false }

// Wrap returns b.
func Wrap(b compute.Backend, _ string) (compute.Backend, error) { return b, nil }
