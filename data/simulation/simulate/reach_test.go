package simulate

import (
	"context"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Chains of any grid and any start that are allowed begin within the bound.
func TestReach(t *testing.T) {
	for _, grid := range []sde.Grid{{Lo: -Reach, Hi: Reach, N: 64}, {Lo: Reach - 1, Hi: Reach, N: 64}, {Lo: -Reach, Hi: 1 - Reach, N: 64}} {
		c := sde.Coefficients{Grid: grid, Drift: make([]float32, 64), Diffusion: make([]float32, 64)}
		for i := range c.Diffusion {
			c.Diffusion[i] = 1
		}
		dst := make([]float32, 4096)
		s := Scheme{DT: 0.01, BurnIn: 2, Thin: 1, Chains: len(dst), Start: "1e5"}
		if err := Chains(context.Background(), dst, c, s, 1, 0, "test"); err != nil {
			t.Errorf("%+v: %v", grid, err)
		}
	}
	s := Scheme{DT: 0.01, Thin: 1, Chains: 1, Start: "1.01e5"}
	if s.Validate() == nil {
		t.Error("a start beyond the reach is accepted")
	}
}
