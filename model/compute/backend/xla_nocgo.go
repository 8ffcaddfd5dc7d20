//go:build !(linux && cgo)

package backend

import "fmt"

func openXLA(name, path string) (*Backend, error) {
	return nil, fmt.Errorf("backend %s: %w", name, ErrNoCgo)
}
