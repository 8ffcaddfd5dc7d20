package request

import (
	"fmt"
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// BenchmarkResolve reports the time to read new formulas on the line, with their exact law.
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
	i := 0
	for b.Loop() {
		i++ // the law of an equation that was asked before is kept
		if _, err := reader.Resolve(b.Context(), Request{Drift: []string{fmt.Sprintf("-2*(x-1)+%d*1e-6", i)}, Diffusion: []string{"1"}}); err != nil {
			b.Fatal(err)
		}
	}
}
