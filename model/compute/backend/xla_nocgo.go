//go:build !(linux && cgo)

package backend

import "fmt"

// canLoad: this program can load plugins.
const canLoad = false

func openXLA(name, path string) (*Backend, error) {
	return nil, fmt.Errorf("backend %s: %w", name, ErrNoCgo)
}
