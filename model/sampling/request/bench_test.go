package request

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// BenchmarkResolve is what an equation costs before it is sampled.
func BenchmarkResolve(b *testing.B) {
	e, err := experiment.Load("vn1d", "demo", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	f, err := e.Family()
	if err != nil {
		b.Fatal(err)
	}
	r := Request{Drift: []string{"x - x^3"}, Diffusion: []string{"0.7"}}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Resolve(b.Context(), e, f, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	learned, err := NewLearned(b.Context(), e, f, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.ResolveBy(b.Context(), e, learned); err != nil {
				b.Fatal(err)
			}
		}
	})
}
