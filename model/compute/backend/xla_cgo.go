//go:build linux && cgo

package backend

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/ergoflow/ergoflow/model/compute/products"
)

// canLoad: this program can load plugins.
const canLoad = true

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
	// directories may mislead it. A product of float32 is one of float32 on a GPU too:
	// TF32 keeps 10 bits of a factor.
	options := ",shared_buffers=true,tf32=false"
	// By default the plugin makes four virtual devices and at least as many threads,
	// which compete for the cores.
	client := pjrt.NamedValuesMap{"cpu_device_count": int64(1)}
	fitThreads()
	// Vectors of the processor's full width save 2–3 % of a step.
	flags := []string{"--xla_cpu_prefer_vector_width=512"}
	if name == XLACUDA {
		options = ",shared_buffers=false,tf32=false"
		client = nil
		flags = []string{
			// The wheels have ptxas and libdevice here: nvidia/ is beside jax_plugins/.
			"--xla_gpu_cuda_data_dir=" + filepath.Join(filepath.Dir(path), "..", "..", "nvidia", "cu13"),
			// Timing Triton's kernels takes most of a compilation and gains nothing here
			// (docs/results/gpu.md).
			"--xla_gpu_enable_triton_gemm=false",
		}
		// go-xla looks for nvidia/ one directory too low, and warns.
		if err := os.Setenv("GOPJRT_CUDA_CHECKS", "0"); err != nil {
			return nil, fmt.Errorf("backend %s: %w", name, err)
		}
	}
	// The plugin reads the variable when it is loaded. The user's values take precedence.
	for _, flag := range flags {
		option, _, _ := strings.Cut(flag, "=")
		if set := os.Getenv("XLA_FLAGS"); !strings.Contains(set, option) {
			if err := os.Setenv("XLA_FLAGS", strings.TrimSpace(set+" "+flag)); err != nil {
				return nil, fmt.Errorf("backend %s: %w", name, err)
			}
		}
	}
	opened, err := xla.NewWithOptions(path+options, client)
	if err != nil {
		return nil, fmt.Errorf("backend %s: plugin %s does not load: %w", name, path, err)
	}
	if name == XLACUDA {
		return &Backend{Name: name, Device: opened.DeviceDescription(0), OwnMemory: true, BFloat16: true, compute: opened}, nil
	}
	b = &Backend{Name: name, Device: processor(), compute: opened}
	if products.Supported() {
		if wrapped, err := products.Wrap(opened, path); err != nil {
			slog.Warn("this plugin cannot call the kernels of bfloat16, which is slow without them", "plugin", path, "error", err)
		} else {
			b.compute, b.BFloat16 = wrapped, true
		}
	}
	return b, nil
}
