package request

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// BenchmarkResolve reports the time to read formulas on the line, with their exact law.
func BenchmarkResolve(b *testing.B) {
	e, err := experiment.Load("vn1d", "smoke", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	f, err := e.Family()
	if err != nil {
		b.Fatal(err)
	}
	reader := NewReader(e, f, nil)
	for b.Loop() {
		if _, err := reader.Resolve(b.Context(), Request{Drift: []string{"-2*(x-1)"}, Diffusion: []string{"1"}}); err != nil {
			b.Fatal(err)
		}
	}
}
