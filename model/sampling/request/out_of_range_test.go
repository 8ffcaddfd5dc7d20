package request

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

func TestOutOfRange(t *testing.T) {
	c := sde.Coefficients{Grid: sde.Grid{Lo: -1, Hi: 1, N: 3}, Drift: []float32{9, 1, -11}, Diffusion: []float32{1, 1, 2}}
	for _, test := range []struct {
		trained shard.Normalisation
		want    string
	}{
		{shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 1, Std: 1}}, ""},
		{shard.Normalisation{"drift": {Mean: 1, Std: 1.9}, "diffusion": {Mean: 1, Std: 1}}, "the drift is -11 at x = 1, 6.32 standard deviations"},
		{shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 1, Std: 0.1}}, "the diffusion is 2 at x = 1, 10 standard deviations"},
		{shard.Normalisation{"diffusion": {Mean: 10, Std: 3}}, "the diffusion is 1 at x = -1, 7.7 standard deviations"}, // of logarithms
		{shard.Normalisation{"diffusion": {Mean: 10, Std: 6}}, ""},
		{nil, ""},
	} {
		if got := strings.Join(outOfRange(c, test.trained), ";"); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v: %q, want %q", test.trained, got, test.want)
		}
	}
}

// The statistics of a drift in the plane: max |b|, and Σ b·n over the boundary.
func TestPlaneStatistics(t *testing.T) {
	grid := sde.Grid{Lo: -1, Hi: 1, N: 2}
	inward := sde.Plane{X: grid, Y: grid, Drift: []float32{3, 4, -3, 4, 3, -4, -3, -4}}
	if got := largestDrift(inward); got != 5 {
		t.Errorf("the largest drift is %g, not 5", got)
	}
	if got := outwardFlux(inward); got != -28 {
		t.Errorf("the flux is %g, not -28", got)
	}
}
