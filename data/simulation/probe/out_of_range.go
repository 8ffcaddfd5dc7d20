package probe

import (
	"errors"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrDiverged means that a probe is not finite or left ±1e6: the equation explodes, or the
// time step is too large for it.
var ErrDiverged = errors.New("probe diverged")

// margin is how far outside of their starting region probes may be recorded, relative to its
// width: probes that start near its edge leave it.
const margin = 0.1

// OutOfRange is the fraction of a function's rows, as Fill writes them, that are outside the
// starting region of the probes by more than a tenth of its width. The region is the grid of
// an equation in the plane, the box of a Space, whose coordinates count each, and the range of distances of pairs. Rows out of range carry
// little information about the equation.
func (c Config) OutOfRange(rows []float32, system sde.System) float64 {
	features := c.Features()
	count := 0.
	for at := 0; at < len(rows); at += features {
		x, y := float64(rows[at]), float64(rows[at+1])
		switch s := system.(type) {
		case sde.Space:
			count += partOutside(rows[at:], s)
		case sde.Plane:
			if outside(x, s.X) || outside(y, s.Y) {
				count++
			}
		case sde.Particles:
			if math.Hypot(x, y) > (1+margin)*farthest*pairUnit(s) {
				count++
			}
		}
	}
	return count * float64(features) / float64(len(rows))
}

func outside(x float64, g sde.Grid) bool { return beyond(x, g.Lo, g.Hi) }

func beyond(x, lo, hi float64) bool {
	reach := margin * (hi - lo)
	return x < lo-reach || x > hi+reach
}

// partOutside is the part of a state's coordinates that are: of many, one often is. On a circle none
// is.
func partOutside(state []float32, s sde.Space) (part float64) {
	for k, b := range s.Box {
		if s.Domain.At(k).Ends != sde.Joined && beyond(float64(state[k]), b.Lo, b.Hi) {
			part += 1 / float64(len(s.Box))
		}
	}
	return part
}
