package expression

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

func TestNoiseOfSystem(t *testing.T) {
	parameters := map[string]Shape{"s": Number, "M": Matrix, "v": Vector}
	for _, c := range []struct {
		dim       int
		diffusion []string
		want      sde.Noise
	}{
		{3, []string{"s"}, sde.AdditiveNoise},
		{3, []string{"M*transpose(M)"}, sde.AdditiveNoise},
		{3, []string{"v[i] + sqrt(i)"}, sde.AdditiveNoise},
		{3, []string{"i == 0 ? 0 : s"}, sde.AdditiveNoise},
		{3, []string{"1 + x^2"}, sde.DiagonalNoise},
		{3, []string{"1", "v[2]*x[1]", "s"}, sde.DiagonalNoise},
		{64, []string{"cos(x[i])"}, sde.DiagonalNoise},
		{1, []string{"sqrt(1 + x0^2)"}, sde.DiagonalNoise},
		{3, []string{"sqrt(1 + x0^2)"}, sde.AnyNoise}, // σ·I: noise 1 depends on coordinate 0
		{3, []string{"1", "x0", "1"}, sde.AnyNoise},
		{64, []string{"cos(x[(i + 1) % dim])"}, sde.AnyNoise},
		{2, []string{"x0", "0", "0", "x1"}, sde.AnyNoise},
		{3, []string{"norm(x)*v"}, sde.AnyNoise},
	} {
		s, err := CompileSystem(c.dim, []string{"-x"}, c.diffusion, parameters)
		if err != nil {
			t.Fatal(err)
		}
		if s.Noise != c.want {
			t.Errorf("%v in %d dimensions: noise of kind %d, want %d", c.diffusion, c.dim, s.Noise, c.want)
		}
	}
}
