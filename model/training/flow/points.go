package flow

import (
	"math"
	"sort"

	"github.com/ergoflow/ergoflow/data/random"
	"gonum.org/v1/gonum/stat/distuv"
)

// points are J pairs (x, t) at which a step fits all its functions. On the line the
// monotone coupling has one velocity at a given (x, t), so that functions need no pairs of
// their own: a network that computes a part from (x, t) alone computes it J times in a
// step, instead of S times for each function.
//
// t has the law of Times. At a time t the x have a wide law q_t, the same for all
// functions:
//
//	x = (1−t)Φ⁻¹(u) + t·T⁻¹(u),  u ~ U(0,1)
//
// with T the distribution function of Student's law with 4 degrees of freedom, whose tails
// are heavier than those of the laws to be learned. A function's error at (x, t) counts with the weight
// p_t(x)/q_t(x), p_t its own density (importance sampling). The t and u are a
// two-dimensional sequence of low discrepancy, Roberts' R2, shifted by a random vector
// modulo 1 in every step (Cranley and Patterson 1976): each pair has the law above, and a
// step's pairs are spread evenly.
type points struct {
	step    int
	x, t    []float32
	density []float64 // q_t(x)
}

// wide is Student's law, with a deviation of 2.1: that of the pooled laws of vn1d is 1.9, the
// modes of rare1d are uniform on ±3, and standardised states have a deviation of 1.
var wide = distuv.StudentsT{Sigma: 1.5, Nu: 4}

// draw makes the n points of a step, unless it has them: a step has many micro-batches.
func (p *points) draw(seed uint64, step, n int, times Times) {
	if p.step == step && len(p.x) == n {
		return
	}
	p.step = step
	// The inverses of the plastic number, the real root of p³ = p + 1, and of its square.
	const first, second = 0.7548776662466927, 0.5698402909980532
	p.x, p.t, p.density = p.x[:0], p.t[:0], p.density[:0]
	r := random.New(seed, "flow/points", uint64(step))
	shiftT, shiftU := r.Float64(), r.Float64()
	for i := range n {
		t := times.quantile(fraction(shiftT + float64(i)*first))
		u := inside(fraction(shiftU + float64(i)*second))
		z, y := distuv.UnitNormal.Quantile(u), wide.Quantile(u)
		slope := (1-t)/distuv.UnitNormal.Prob(z) + t/wide.Prob(y) // dx/du
		p.x, p.t = append(p.x, float32((1-t)*z+t*y)), append(p.t, float32(t))
		p.density = append(p.density, 1/slope)
	}
}

func fraction(v float64) float64 { return v - math.Floor(v) }

// inside moves 0 and what is next to 0 or 1 into (0, 1), where quantiles are finite.
func inside(u float64) float64 { return min(max(u, 0x1p-40), 1-0x1p-40) }

const (
	// window is how many of a function's samples on each side of x give its density there:
	// the reciprocal of a single spacing has no finite variance.
	window = 4
	// maxWeight bounds what one point counts. Where x determines the velocity the least loss
	// has the same velocity for any positive weights; fewer than one percent of vn1d's are larger.
	maxWeight = 8
)

// fit appends to velocity and weight what a function's coupled samples say at the points.
// x0 and x1 [S] are increasing: its quantile map, linear between them. At time t it carries
// x₀ to z(x₀) = (1−t)x₀ + t·x₁(x₀). The velocity at x = z(x₀) is x₁(x₀) − x₀. Beyond the
// ends of the map it is that of the end, of weight 0.
func (p *points) fit(velocity, weight, x0, x1 []float32) (velocities, weights []float32) {
	n := len(x0)
	for j, x := range p.x {
		x, t := float64(x), float64(p.t[j])
		at := func(i int) float64 { return (1-t)*float64(x0[i]) + t*float64(x1[i]) }
		speed := func(i int) float64 { return float64(x1[i]) - float64(x0[i]) }
		above := sort.Search(n, func(i int) bool { return at(i) > x })
		if above == 0 || above == n {
			velocity, weight = append(velocity, float32(speed(min(above, n-1)))), append(weight, 0)
			continue
		}
		below := above - 1
		share := (x - at(below)) / (at(above) - at(below)) // at(below) ≤ x < at(above)
		v := (1-share)*speed(below) + share*speed(above)
		lo, hi := max(above-window, 0), min(below+window, n-1)
		density := float64(hi-lo) / float64(n) / (at(hi) - at(lo))
		velocity, weight = append(velocity, float32(v)), append(weight, float32(min(density/p.density[j], maxWeight)))
	}
	return velocity, weight
}
