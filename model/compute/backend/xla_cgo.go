//go:build linux && cgo

package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

func init() {
	// Keep go-xla from downloading plugins.
	xla.EnableAutoInstall(false)
}

// openXLA loads the shared object at path as a PJRT plugin.
func openXLA(name, path string) (b *Backend, err error) {
	defer recoverPanic(&err, "backend "+name)
	if strings.Contains(path, ",") {
		return nil, fmt.Errorf("backend %s: go-xla cannot read a plugin path with a comma, %q", name, path)
	}
	// Without these options go-xla guesses from the path, where names of the user's
	// directories may mislead it.
	options := ",shared_buffers=true,tf32=false"
	// Vectors of the processor's full width save 2–3 % of a step.
	flag, value := "--xla_cpu_prefer_vector_width", "512"
	// By default the plugin makes four virtual devices and at least as many threads,
	// which compete for the cores.
	client := pjrt.NamedValuesMap{"cpu_device_count": int64(1)}
	if name == XLACUDA {
		options = ",shared_buffers=false,tf32=true"
		client = nil
		// The wheels have ptxas and libdevice here: nvidia/ is beside jax_plugins/.
		flag, value = "--xla_gpu_cuda_data_dir", filepath.Join(filepath.Dir(path), "..", "..", "nvidia", "cu13")
	}
	// The plugin reads the variable when it is loaded. The user's value takes precedence.
	if flags := os.Getenv("XLA_FLAGS"); !strings.Contains(flags, flag) {
		if err := os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" "+flag+"="+value)); err != nil {
			return nil, fmt.Errorf("backend %s: %w", name, err)
		}
	}
	opened, err := xla.NewWithOptions(path+options, client)
	if err != nil {
		return nil, fmt.Errorf("backend %s: plugin %s does not load: %w", name, path, err)
	}
	device := processor()
	if name == XLACUDA {
		device = opened.DeviceDescription(0)
	}
	return &Backend{Name: name, Device: device, OwnMemory: name == XLACUDA, compute: opened}, nil
}
