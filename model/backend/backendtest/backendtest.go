// Package backendtest opens backends for tests.
package backendtest

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/backend"
)

// Each runs a test on every backend that computes on the CPU of this machine:
// pure Go, and XLA where its plugin is installed.
func Each(t *testing.T, test func(t *testing.T, b *backend.Backend)) {
	t.Helper()
	for _, name := range []string{backend.Go, backend.XLACPU} {
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

// Fast opens XLA on the CPU, or pure Go where its plugin is not installed, and
// closes it with the test.
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
