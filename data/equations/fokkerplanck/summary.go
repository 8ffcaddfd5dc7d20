package fokkerplanck

import (
	"sort"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

// Cell is a state in the middle of a cell, with the density there, in states: mass by area.
type Cell struct{ X, Y, Density float64 }

// Cells are those of the law, along the first coordinate and then along the second. They are of an
// equation without open ends.
func (l *Law) Cells() []Cell {
	cells, area := make([]Cell, len(l.mass)), l.side(0)*l.side(1)
	for k, m := range l.mass {
		cells[k] = Cell{l.centre(0, k/l.n), l.centre(1, k%l.n), m / area}
	}
	return cells
}

func (l *Law) centre(c, at int) float64 { return l.axes[c].lo + (float64(at)+0.5)*l.side(c) }

// Moments are the mean and the covariance [2, 2] of an equation without open ends. Within a cell the density
// is linear, as in Sample.
func (l *Law) Moments() (mean [2]float64, covariance [2][2]float64) {
	for k, m := range l.mass {
		x := l.inCell(k)
		for c := range mean {
			mean[c] += m * x[c]
		}
	}
	for k, m := range l.mass {
		x := l.inCell(k)
		covariance[0][1] += m * (x[0] - mean[0]) * (x[1] - mean[1])
		for c := range covariance {
			covariance[c][c] += m * (x[c] - mean[c]) * (x[c] - mean[c])
			// Of the density 1 + s·t in the cell: 1/12 − (s/12)².
			s := l.slope(k, c)
			covariance[c][c] += m * l.side(c) * l.side(c) * (1 - s*s/12) / 12
		}
	}
	covariance[1][0] = covariance[0][1]
	return mean, covariance
}

// inCell is the mean state in a cell.
func (l *Law) inCell(k int) (x [2]float64) {
	for c, at := range [2]int{k / l.n, k % l.n} {
		x[c] = l.centre(c, at) + l.slope(k, c)/12*l.side(c)
	}
	return x
}

// Quantile is that of a coordinate.
func (l *Law) Quantile(coordinate int, u float64) float64 {
	w := l.n + 1
	below := func(k int) float64 { return l.below[[2]int{k*w + l.n, l.n*w + k}[coordinate]] }
	k := min(max(sort.Search(w, func(k int) bool { return below(k) >= u }), 1), l.n)
	part := 0.5
	if mass := below(k) - below(k-1); mass > 0 {
		part = min(max((u-below(k-1))/mass, 0), 1)
	}
	side := l.axes[coordinate]
	return lift.Down(l.domain.At(coordinate), side.lo+(float64(k-1)+part)*l.side(coordinate))
}
