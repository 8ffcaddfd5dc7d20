package evaluate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// pointDim is how many numbers the points have between which distances of a family are measured:
// those of a state, and one more for each coordinate on a circle.
func pointDim(f family.Family) int {
	if s, ok := f.(family.Spatial); ok {
		return f.Dim() + circles(s.Domain())
	}
	return f.Dim()
}

// pointDim is that of the function's family.
func (f heldOutFunction) pointDim() int {
	system := f.function.System
	if s, ok := system.(sde.Space); ok {
		return s.Dim() + circles(s.Domain)
	}
	return system.Dim()
}

func circles(d sde.Domain) (n int) {
	for _, r := range d {
		if r.Ends == sde.Joined {
			n++
		}
	}
	return n
}

// points are states x [n, d] of a system in a frame. A coordinate on a circle of the period P, which
// has a cut where the states begin again, is the point P/2π·(cos, sin) of the angle, in units of the
// coordinate's deviation: near the cut as everywhere, short distances are those along the circle.
func points(system sde.System, frame flow.Frame, x []float32) []float32 {
	s, ok := system.(sde.Space)
	if !ok || !s.Domain.Has(sde.Joined) {
		return frame.Standardised(x)
	}
	d := s.Dim()
	standard := frame.Standardised(x)
	all := make([]float32, 0, 2*len(x))
	for at := 0; at < len(x); at += d {
		for k, r := range s.Domain {
			if r.Ends != sde.Joined {
				all = append(all, standard[at+k])
				continue
			}
			turn := 2 * math.Pi / r.Width()
			sin, cos := math.Sincos(turn * (float64(x[at+k]) - r.Lo))
			radius := 1 / turn / frame.Scale(k)
			all = append(all, float32(radius*cos), float32(radius*sin))
		}
	}
	return all
}
