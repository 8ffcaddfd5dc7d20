//go:build linux && cgo

package backend

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/go-xla/compute/xla"
)

func init() {
	// go-xla would otherwise download plugins by itself.
	xla.EnableAutoInstall(false)
	if os.Getenv("XLA_FLAGS") == "" {
		// Vectors as wide as the processor has. Measured on two Zen 5 cores.
		os.Setenv("XLA_FLAGS", "--xla_cpu_prefer_vector_width=512")
	}
}

// openXLA loads the shared object at path as a PJRT plugin.
func openXLA(name, path string) (b *Backend, err error) {
	defer caught(&err, "backend "+name)
	if strings.Contains(path, ",") {
		return nil, fmt.Errorf("backend %s: plugin path %q contains a comma, which go-xla takes for an option", name, path)
	}
	// go-xla guesses these from the path otherwise, which the user's directory
	// names may mislead.
	options := ",shared_buffers=true,tf32=false"
	if name == XLACUDA {
		options = ",shared_buffers=false,tf32=true"
	}
	opened, err := xla.NewWithOptions(path+options, nil)
	if err != nil {
		return nil, fmt.Errorf("backend %s: plugin %s does not load: %w", name, path, err)
	}
	return &Backend{Name: name, Device: opened.Description(), compute: opened}, nil
}
