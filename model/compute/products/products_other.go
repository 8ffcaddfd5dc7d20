//go:build linux && cgo && !amd64

package products

import "github.com/gomlx/compute"

// Supported: the kernel is for amd64.
func Supported() bool { return false }

// Wrap returns b: see Supported.
func Wrap(b compute.Backend, _ string) (compute.Backend, error) { return b, nil }
