// Package backendtest opens backends for tests.
package backendtest

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Each runs a test on every backend that works on this machine: pure Go, and XLA on
// the CPU and on a GPU if their plugins are installed.
func Each(t *testing.T, test func(t *testing.T, b *backend.Backend)) {
	t.Helper()
	for _, name := range []string{backend.Go, backend.XLACPU, backend.XLACUDA} {
		b, err := backend.Open(name)
		if err != nil {
			if name == backend.Go {
				t.Fatal(err)
			}
			t.Logf("without %s: %v", name, err)
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, b) })
		b.Close()
	}
}

// Fast opens XLA on the CPU, or pure Go if its plugin is not installed, and closes it
// at the end of the test.
func Fast(t testing.TB) *backend.Backend {
	t.Helper()
	b, err := backend.Open(backend.XLACPU)
	if err != nil {
		t.Logf("without XLA: %v", err)
		if b, err = backend.Open(backend.Go); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(b.Close)
	return b
}

// Run runs a program on these inputs and returns its outputs.
func Run(t testing.TB, b *backend.Backend, program *backend.Program, inputs ...[]float32) [][]float32 {
	t.Helper()
	var buffers []backend.Buffer
	defer func() { backend.Free(buffers...) }()
	for i, values := range inputs {
		buffer, err := b.Upload(values, program.Input(i).Dimensions...)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, buffer)
	}
	outputs, err := program.Run(buffers...)
	if err != nil {
		t.Fatal(err)
	}
	buffers = append(buffers, outputs...)
	results := make([][]float32, len(outputs))
	for i, output := range outputs {
		shape, err := output.Shape()
		if err != nil {
			t.Fatal(err)
		}
		results[i] = make([]float32, shape.Size())
		if err := backend.Download(results[i], output); err != nil {
			t.Fatal(err)
		}
	}
	return results
}
