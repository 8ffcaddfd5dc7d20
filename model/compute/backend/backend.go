// Package backend opens the device that graphs run on and compiles them for it.
//
//	xla:cuda  XLA on an NVIDIA GPU
//	xla:cpu   XLA on the CPU, the default where its plugin is installed
//	go        pure Go: no plugin, no cgo, slow
//
// The XLA plugins are shared objects that [Install] fetches into the user's
// cache. Nothing is ever fetched while opening.
//
// Importing this package tunes the C allocator of the process for XLA (see
// malloc_cgo.go). Opening an XLA backend adds a
// flag to XLA_FLAGS unless the user set it.
package backend

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/gomlx/compute"
)

// Names that Open takes, besides Auto.
const (
	Auto    = "auto"
	XLACPU  = "xla:cpu"
	XLACUDA = "xla:cuda"
	Go      = "go"
)

// Errors that callers branch on.
var (
	ErrUnknown      = errors.New("unknown backend")
	ErrNotInstalled = errors.New("plugin is not installed")
	ErrDamaged      = errors.New("plugin is damaged")
	ErrNoGPU        = errors.New("no NVIDIA GPU on this machine")
	ErrNoCgo        = errors.New("this build has no cgo, so it cannot load XLA plugins")
)

// Backend is an open device. Its methods may be called by one goroutine at a
// time, except Compile, which may be called by several.
type Backend struct {
	Name      string // one of the names that Open takes, never auto
	Device    string // for people
	OwnMemory bool   // what it computes has to be copied to the host's memory
	compute   compute.Backend
}

// Open opens a backend by name. auto, or the empty name, takes xla:cuda where
// there is a GPU with its plugin, else xla:cpu where its plugin is installed,
// else go, and says on the log what it took and why.
func Open(name string) (*Backend, error) {
	switch name {
	case Auto, "":
		return openAuto()
	case XLACPU, XLACUDA:
		return openInstalled(plugins[name])
	case Go:
		return openGo()
	}
	return nil, Known(name)
}

// Known is nil for a name that Open takes, whether or not that backend works here,
// and ErrUnknown for any other.
func Known(name string) error {
	switch name {
	case Auto, "", XLACPU, XLACUDA, Go:
		return nil
	}
	return fmt.Errorf("%w %q: there are %s, %s, %s and %s", ErrUnknown, name, Auto, XLACUDA, XLACPU, Go)
}

func openAuto() (*Backend, error) {
	for _, name := range []string{XLACUDA, XLACPU} {
		b, err := openInstalled(plugins[name])
		if err == nil {
			return b, nil
		}
		// Absent is normal; installed but broken is worth a line.
		if !errors.Is(err, ErrNotInstalled) && !errors.Is(err, ErrNoGPU) && !errors.Is(err, ErrNoCgo) {
			slog.Warn("backend does not open", "backend", name, "error", err)
		}
	}
	slog.Info("computing in pure Go, which is slow: no XLA plugin is installed (ergoflow backend install cpu)")
	return openGo()
}

// Close releases the device. Nothing that was made on it may be used afterwards.
func (b *Backend) Close() { b.compute.Finalize() }
