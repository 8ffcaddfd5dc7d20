package simulate

import (
	"context"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// A first state is the normal of its chain's first number, whatever engine.
func TestGeneratorAndNormal(t *testing.T) {
	for _, e := range engines {
		dst := make([]float32, 3)
		c := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 2}, Drift: []float32{0, 0}, Diffusion: []float32{1, 1}}
		if err := e.Chains(context.Background(), dst, c, Scheme{DT: 1, Thin: 1, Chains: 3}, 7, 5, "p"); err != nil {
			t.Fatal(err)
		}
		for chain, got := range dst {
			g := Generator(7, "p", 5, uint64(chain))
			if want := Normal(g[0] + g[3]); got != want {
				t.Errorf("%v: chain %d starts at %v, want %v", e, chain, got, want)
			}
		}
	}
}
