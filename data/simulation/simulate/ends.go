package simulate

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ends are those of a Space's domain, whose chains move in the coordinates z of package lift.
type ends struct {
	domain  sde.Domain
	circles []sde.Range // on which coordinates z go round, by coordinate; nil where none does
	// least and most are between which coordinates z are, by coordinate; nil where the domain has no
	// ends and all are within ±bound.
	least, most []float64
}

func endsOf(s sde.Space) ends {
	if !s.Domain.Restricts() {
		return ends{}
	}
	e := ends{domain: s.Domain, least: make([]float64, s.Dim()), most: make([]float64, s.Dim())}
	for k, r := range s.Domain {
		e.least[k], e.most[k] = lift.Limits(r, bound)
	}
	if lifted := lift.Of(s).Domain; lifted.Has(sde.Joined) {
		e.circles = lifted
	}
	return e
}

// sample is the state of coordinate k at z, in single precision.
func (e ends) sample(k int, z float64) float32 {
	if e.domain == nil {
		return float32(z)
	}
	r := e.domain[k]
	return r.Single(lift.Down(r, z))
}

// state is that of coordinate k at z. On a circle it is z, of which an error says how far it went.
func (e ends) state(k int, z float64) float64 {
	if r := e.domain.At(k); r.Ends == sde.Open {
		return lift.Down(r, z)
	}
	return z
}

// first is the coordinate z of a first state. It refuses one outside the domain. On a circle every
// number is a state.
func (e ends) first(k int, x float64) (float64, error) {
	if e.domain == nil {
		return x, nil
	}
	r := e.domain[k]
	if r.Ends == sde.Joined {
		x = r.Wrap(x)
	}
	if r.Ends != sde.NoEnds && !r.Contains(x) {
		return 0, fmt.Errorf("it starts with x[%d] = %.6g, outside the domain %v: %w", k, x, r, ErrLeftDomain)
	}
	return lift.Up(r, x), nil
}

// holds reports whether coordinate k may be z.
func (e ends) holds(k int, z float64) bool {
	if e.domain == nil {
		return z > -bound && z < bound
	}
	return z > e.least[k] && z < e.most[k]
}

// leaves returns the first coordinate of which one of the first n states is out of bounds; −1: none.
// It moves those on a circle back to their first turn.
func (e ends) leaves(z []*[lanes]float64, n int) int {
	for k, block := range z {
		least, most := -float64(bound), float64(bound)
		if e.domain != nil {
			least, most = e.least[k], e.most[k]
		}
		if !between(block[:n], least, most) {
			return k
		}
		if e.circles == nil || e.circles[k].Ends != sde.Joined {
			continue
		}
		for l, v := range block[:n] {
			block[l] = e.circles[k].Wrap(v)
		}
	}
	return -1
}

// left is the open range of which a coordinate z is behind an end; nil where it is behind none.
func (e ends) left(k int, z float64) *sde.Range {
	r := e.domain.At(k)
	behind := z <= -1 && !math.IsInf(r.Lo, 0) || z >= 1 && !math.IsInf(r.Hi, 0) // out of bounds on that side
	if r.Ends != sde.Open || !behind || e.holds(k, z) {
		return nil
	}
	return &r
}
