// Package backend opens the device that graphs run on, and compiles graphs for it.
//
//	xla:cuda  XLA on an NVIDIA GPU
//	xla:cpu   XLA on the CPU, the default where its plugin is installed
//	go        pure Go: no plugin, no cgo, slow
//
// The XLA plugins are shared objects that [Install] downloads into the user's cache.
// Open never downloads anything.
//
// Importing this package tunes the C allocator of the process for XLA (see
// malloc_cgo.go). Opening an XLA backend adds a flag to XLA_FLAGS unless the user has
// set it.
package backend

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/gomlx/compute"
)

// Names for Open.
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

// GPUHint says what to do where a GPU is not seen.
const GPUHint = "start a container with --device nvidia.com/gpu=all (podman) or --gpus all (docker), on a machine look at nvidia-smi"

// Backend is an open device. Its methods may be called by one goroutine at a
// time, except Compile, which may be called by several.
type Backend struct {
	Name      string // one of the names that Open takes, never auto
	Device    string // description for people
	OwnMemory bool   // results have to be copied to the host's memory
	BFloat16  bool   // products of bfloat16 take less time than those of float32
	compute   compute.Backend
}

// Open opens a backend by name. auto, or the empty name, opens xla:cuda if there is a
// GPU and its plugin is installed, else xla:cpu if its plugin is installed, else go.
// It logs why it falls back to go.
func Open(name string) (*Backend, error) {
	switch name {
	case Auto, "":
		return openAuto()
	case XLACPU, XLACUDA:
		return openInstalled(plugins[name])
	case Go:
		return openGo()
	}
	return nil, CheckName(name)
}

// CheckName returns ErrUnknown for a name that Open does not know. It does not check
// whether the backend works on this machine.
func CheckName(name string) error {
	switch name {
	case Auto, "", XLACPU, XLACUDA, Go:
		return nil
	}
	return fmt.Errorf("%w %q: use %s, %s, %s or %s", ErrUnknown, name, Auto, XLACUDA, XLACPU, Go)
}

func openAuto() (*Backend, error) {
	for _, name := range byPreference {
		b, err := openInstalled(plugins[name])
		if err == nil {
			return b, nil
		}
		if _, _, missing := plugins[name].installed(); missing == nil && errors.Is(err, ErrNoGPU) {
			slog.Warn("the plugin for NVIDIA GPUs is installed, but there is "+ErrNoGPU.Error()+": "+GPUHint, "backend", name)
		}
		// A plugin that is not installed is normal, one that does not work is not.
		if !errors.Is(err, ErrNotInstalled) && !errors.Is(err, ErrNoGPU) && !errors.Is(err, ErrNoCgo) {
			slog.Warn("cannot open backend", "backend", name, "error", err)
		}
	}
	slog.Info("computing in pure Go, which is slow: no XLA plugin for the processor is installed (ergoflow backend install cpu)")
	return openGo()
}

// Close releases the device. Its programs and buffers may not be used afterwards.
func (b *Backend) Close() { b.compute.Finalize() }
