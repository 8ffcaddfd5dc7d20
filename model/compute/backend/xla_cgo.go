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
	// go-xla would otherwise download plugins by itself.
	xla.EnableAutoInstall(false)
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
	// Vectors as wide as the processor has: 2–3 % of a step.
	flag, value := "--xla_cpu_prefer_vector_width", "512"
	// The plugin makes four virtual devices unless told otherwise, and no fewer
	// threads than devices, which then fight for the cores.
	client := pjrt.NamedValuesMap{"cpu_device_count": int64(1)}
	if name == XLACUDA {
		options = ",shared_buffers=false,tf32=true"
		// Where the wheels put ptxas and libdevice: nvidia/ is beside jax_plugins/.
		client = nil
		flag, value = "--xla_gpu_cuda_data_dir", filepath.Join(filepath.Dir(path), "..", "..", "nvidia", "cu13")
	}
	// The plugin reads the variable when it is loaded. What the user set wins.
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
