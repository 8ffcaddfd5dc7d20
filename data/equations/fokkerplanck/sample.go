package fokkerplanck

import (
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

// Sample fills dst [n, 2] with independent draws of states. Within a cell the density is linear along
// each coordinate, with the slope between the cells beside it: with a constant one variances would be too
// large by a sixth of the square of a cell's side.
func (l *Law) Sample(dst []float32, rng *rand.Rand) {
	sums := floats.CumSum(make([]float64, len(l.mass)), l.mass)
	total := sums[len(sums)-1]
	for ; len(dst) > 0; dst = dst[2:] {
		u := total * rng.Float64()
		k := min(sort.Search(len(sums), func(k int) bool { return sums[k] > u }), len(sums)-1)
		for c, at := range [2]int{k / l.n, k % l.n} {
			z := float64(at) + 0.5 + place(l.slope(k, c), rng.Float64())
			r := l.domain.At(c)
			dst[c] = r.Single(lift.Down(r, l.axes[c].lo+float64(z*l.side(c))))
		}
	}
}

// slope is that of the density along a coordinate, in parts of the cell's own mass. It is 0 at the ends of
// the box.
func (l *Law) slope(k, c int) float64 {
	if l.mass[k] == 0 {
		return 0
	}
	stride, at := [2]int{l.n, 1}[c], [2]int{k / l.n, k % l.n}[c]
	below, above := k-stride, k+stride
	switch {
	case l.axes[c].circle && at == 0:
		below += l.n * stride
	case l.axes[c].circle && at == l.n-1:
		above -= l.n * stride
	case at == 0 || at == l.n-1:
		return 0
	}
	return min(max((l.mass[above]-l.mass[below])/(2*l.mass[k]), -2), 2)
}

// place is the t in a cell, from −½ to ½, of a uniform number u and the density 1 + slope·t.
func place(slope, u float64) float64 {
	const flat = 1e-6
	if math.Abs(slope) < flat {
		return u - 0.5
	}
	return (math.Sqrt(max(1+float64(2*slope*(u-0.5+slope/8)), 0)) - 1) / slope
}
