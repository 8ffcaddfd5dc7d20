package backend_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

func TestProgram(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		p, err := b.Compile("product", []shapes.Shape{backend.Shape(2, 3), backend.Shape(3, 1)},
			func(in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.MatMul(in[0], in[1]), graph.ReduceAllSum(in[0])}
			})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		x, err := b.Upload([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Upload([]float32{1, 10, 100}, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Free(x, y)
		for range 2 { // inputs stay valid
			out, err := p.Run(x, y)
			if err != nil {
				t.Fatal(err)
			}
			var product [2]float32
			var sum [1]float32
			if err := errors.Join(backend.Download(product[:], out[0]), backend.Download(sum[:], out[1])); err != nil {
				t.Fatal(err)
			}
			if product != [2]float32{321, 654} || sum != [1]float32{21} {
				t.Errorf("product %v, sum %v", product, sum)
			}
			if backend.Download(product[:1], out[0]) == nil {
				t.Error("downloaded two values into one")
			}
			backend.Free(out...)
		}
		if _, err := p.Run(x); err == nil {
			t.Error("ran with an input missing")
		}
		if _, err := b.Upload([]float32{1}, 2); err == nil {
			t.Error("uploaded one value as two")
		}
		if _, err := b.Compile("bad", []shapes.Shape{backend.Shape(2), backend.Shape(3)},
			func(in []*graph.Node) []*graph.Node { return []*graph.Node{graph.Add(in[0], in[1])} }); err == nil {
			t.Error("compiled a sum of different shapes")
		}
	})
}

// Compiled arithmetic keeps NaN and infinity: the detection of divergence depends on it.
func TestNotFinite(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		p, err := b.Compile("square", []shapes.Shape{backend.Shape(3)}, func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Sqrt(graph.ReduceAllSum(graph.Mul(in[0], in[0])))}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30} {
			x, err := b.Upload([]float32{1, float32(bad), 2}, 3)
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Run(x)
			if err != nil {
				t.Fatal(err)
			}
			var norm [1]float32
			if err := backend.Download(norm[:], out[0]); err != nil {
				t.Fatal(err)
			}
			if n := float64(norm[0]); !math.IsNaN(n) && !math.IsInf(n, 0) {
				t.Errorf("the norm with %g is %g", bad, n)
			}
			backend.Free(append(out, x)...)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Setenv("ERGOFLOW_CACHE", t.TempDir())
	for name, want := range map[string]error{
		"tpu":           backend.ErrUnknown,
		backend.XLACPU:  backend.ErrNotInstalled,
		backend.Auto:    nil,
		"":              nil,
		backend.Go:      nil,
		"xla:cpu,evil=": backend.ErrUnknown,
	} {
		b, err := backend.Open(name)
		if !errors.Is(err, want) && !(name == backend.XLACPU && errors.Is(err, backend.ErrNoCgo)) {
			t.Errorf("open %q: %v, want %v", name, err, want)
		}
		if err == nil {
			if b.Name != backend.Go {
				t.Errorf("open %q: %s without any plugin", name, b.Name)
			}
			b.Close()
		}
	}
}

// Where the plugin for GPUs is installed, as in its image, and there is no GPU, a line says so.
func TestNoGPU(t *testing.T) {
	if found, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(found) > 0 {
		t.Skip("this machine has a GPU")
	}
	cache := t.TempDir()
	t.Setenv("ERGOFLOW_CACHE", cache)
	dir := filepath.Join(cache, "plugins", "cuda-0.11.2")
	for file, text := range map[string]string{"jax_plugins/xla_cuda13/xla_cuda_plugin.so": "it is not loaded", "installed.json": `{"version":"0.11.2","bytes":16}`} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backend.Open(backend.XLACUDA); errors.Is(err, backend.ErrNoCgo) {
		t.Skip("a build without cgo has no GPU to look for: ", err)
	} else if !errors.Is(err, backend.ErrNoGPU) {
		t.Errorf("open %s: %v", backend.XLACUDA, err)
	}
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	b, err := backend.Open(backend.Auto)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if said := log.String(); b.Name != backend.Go || !strings.Contains(said, "no NVIDIA GPU") || !strings.Contains(said, backend.GPUHint) {
		t.Errorf("auto opens %s and says %s", b.Name, said)
	}
}

// A damaged plugin is an error, not a crash of this process.
func TestDamagedPlugins(t *testing.T) {
	for name, test := range map[string]struct {
		object, manifest string
		want             string
	}{
		"no library":      {"not a shared object", `{"version":"0.0.1","bytes":19}`, "does not load"},
		"truncated":       {"half", `{"version":"0.0.1","bytes":19}`, "4 bytes instead of 19"},
		"broken manifest": {"not a shared object", `{"version":`, "installed.json"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("ERGOFLOW_CACHE", cache)
			dir := filepath.Join(cache, "plugins", "cpu-0.0.1")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"pjrt_c_api_cpu_plugin.so": test.object, "installed.json": test.manifest} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := backend.Open(backend.XLACPU)
			if err == nil {
				t.Fatal("opened")
			}
			if !errors.Is(err, backend.ErrNoCgo) && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
			for _, info := range backend.List() {
				if info.Backend == backend.XLACPU && (info.Works || info.Problem == "") {
					t.Errorf("listed as %+v", info)
				}
			}
			b, err := backend.Open(backend.Auto)
			if err != nil {
				t.Fatal(err)
			}
			if b.Name != backend.Go {
				t.Errorf("auto opened %s", b.Name)
			}
			b.Close()
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	ctx := context.Background()
	if err := backend.Install(ctx, "tpu", io.Discard); !errors.Is(err, backend.ErrUnknown) {
		t.Errorf("tpu: %v", err)
	}
	t.Setenv("ERGOFLOW_CACHE", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	if err := backend.Install(ctx, "cpu", io.Discard); !errors.Is(err, backend.ErrPip) {
		t.Errorf("without python3: %v", err)
	}
}
