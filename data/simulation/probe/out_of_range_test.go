package probe

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Rows are out of range beyond a tenth of the grid's width, in either direction, and pairs
// beyond 4.4 of their unit.
func TestOutOfRange(t *testing.T) {
	p := sde.Plane{X: sde.Grid{Lo: -1, Hi: 1, N: 3}, Y: sde.Grid{Lo: 0, Hi: 10, N: 3}}
	rows := make([]float32, 4*8)
	for i, at := range [][2]float32{{1.1, 5}, {1.3, 5}, {0, -0.9}, {0, -1.1}} {
		rows[8*i], rows[8*i+1] = at[0], at[1]
	}
	if got := (Config{Kind: Walk}).OutOfRange(rows, p); got != 0.5 {
		t.Errorf("%v of the rows in the plane are outOfRange, want half", got)
	}
	pairs := []float32{3, 3, 9, 9, 3, 3.3, 9, 9, 0, -4.3, 9, 9, 4.5, 0, 0, 0}
	if got := (Config{Kind: Pairs}).OutOfRange(pairs, sde.Particles{}); got != 0.5 {
		t.Errorf("%v of the pairs are outOfRange, want half", got)
	}
	trapped := sde.Particles{Trap: 2, Noise: 1.94} // one particle alone has the deviation 0.97
	if got := (Config{Kind: Pairs}).OutOfRange(pairs, trapped); got != 0.75 {
		t.Errorf("%v of the pairs in a narrower trap are outOfRange, want three quarters", got)
	}
}
