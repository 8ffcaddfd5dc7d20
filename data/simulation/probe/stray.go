package probe

import (
	"errors"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrDiverged says that a probe was not finite or left ±1e6: the equation explodes,
// or the time between its points is too large for it.
var ErrDiverged = errors.New("probe diverged")

// margin is how far probes may step out of where they start, relative to its width,
// before they are astray: those that start near its edge do step out.
const margin = 0.1

// Astray is the part of a function's rows, as Fill writes them, that are far outside
// of where probes start: of the grid of an equation in the plane, of the distances
// of pairs. What is recorded there tells little of the equation.
func (c Config) Astray(rows []float32, system sde.System) float64 {
	features := c.Features()
	astray := 0
	for at := 0; at < len(rows); at += features {
		x, y := float64(rows[at]), float64(rows[at+1])
		switch s := system.(type) {
		case sde.Plane:
			if beyond(x, s.X) || beyond(y, s.Y) {
				astray++
			}
		case sde.Particles:
			if math.Hypot(x, y) > (1+margin)*farthest {
				astray++
			}
		}
	}
	return float64(astray*features) / float64(len(rows))
}

func beyond(x float64, g sde.Grid) bool {
	reach := margin * (g.Hi - g.Lo)
	return x < g.Lo-reach || x > g.Hi+reach
}
