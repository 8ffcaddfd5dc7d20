package family

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

const (
	vanishes   = 1e-6 // part of the values beside a minimum below which it is zero
	minima     = 256  // of the diffusion that are looked at
	zoomRounds = 32
	zoomRatio  = 3 // 3⁻³² of a step is below the rounding of a coordinate
	zoomPoints = 4 // to either side along each axis
)

// Vanishes looks for a point of the grid's interval or square where a diffusion, given by
// one or more formulas in the coordinates, is zero: at the nodes of the FinerGrid and at
// its minima between them. where is empty if there is none.
func Vanishes(diffusion []*expression.Expression, grid sde.Grid, dim int) (where string) {
	return vanishing(grid, dim, func(points [][]float64) []float64 { return norms(diffusion, points) })
}

// norms are the roots of Σ v² over the formulas' values at points, given by coordinate and
// followed by other variables.
func norms(formulas []*expression.Expression, points [][]float64) []float64 {
	squares, values := make([]float64, len(points[0])), make([]float64, len(points[0]))
	for _, e := range formulas {
		e.EvalIn(values, points...)
		for i, v := range values {
			squares[i] = math.Hypot(squares[i], v)
		}
	}
	return squares
}

// vanishing is Vanishes of a size ≥ 0 at points, which are given by coordinate.
func vanishing(grid sde.Grid, dim int, size func(points [][]float64) []float64) (where string) {
	fine := FinerGrid(grid, dim)
	at := nodes(fine, dim)
	values := size(at)
	centres := make([][]float64, dim)
	var best, beside []float64 // at the centres, and the largest values beside them
	for _, i := range lowest(values, fine.N, dim) {
		for k := range dim {
			centres[k] = append(centres[k], at[k][i])
		}
		best, beside = append(best, values[i]), append(beside, highest(values, i, fine.N, dim))
	}
	if len(best) == 0 {
		return ""
	}
	for round, reach := 0, fine.Step(); round < zoomRounds; round, reach = round+1, reach/zoomRatio {
		offsets := square(dim, reach/zoomPoints)
		points := make([][]float64, dim)
		for c := range best {
			for _, o := range offsets {
				for k := range dim {
					points[k] = append(points[k], min(max(centres[k][c]+o[k], grid.Lo), grid.Hi))
				}
			}
		}
		found := size(points)
		for i, v := range found {
			if c := i / len(offsets); v < best[c] {
				best[c] = v
				for k := range dim {
					centres[k][c] = points[k][i]
				}
			}
		}
	}
	for c, v := range best {
		if v <= vanishes*beside[c] {
			if dim == 1 {
				return fmt.Sprintf("x = %.6g", centres[0][c])
			}
			return fmt.Sprintf("(%.6g, %.6g)", centres[0][c], centres[1][c])
		}
	}
	return ""
}

// square are the offsets of the points of a zoom.
func square(dim int, step float64) (offsets [][2]float64) {
	for i := -zoomPoints; i <= zoomPoints; i++ {
		if dim == 1 {
			offsets = append(offsets, [2]float64{float64(i) * step})
			continue
		}
		for j := -zoomPoints; j <= zoomPoints; j++ {
			offsets = append(offsets, [2]float64{float64(i) * step, float64(j) * step})
		}
	}
	return offsets
}

// lowest are the local minima among the nodes, the lowest first.
func lowest(values []float64, n, dim int) (at []int) {
	for i, v := range values {
		least, most := math.Inf(1), math.Inf(-1)
		neighbours(i, n, dim, func(k int) { least, most = min(least, values[k]), max(most, values[k]) })
		if v <= least && v < most {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return at[:min(len(at), minima)]
}

// highest is the largest value beside node i.
func highest(values []float64, i, n, dim int) (most float64) {
	neighbours(i, n, dim, func(k int) { most = max(most, values[k]) })
	return most
}

// neighbours calls f for the nodes around node i.
func neighbours(i, n, dim int, f func(k int)) {
	rows := 0
	if dim == 2 {
		rows = 1
	}
	x, y := i%n, i/n
	for dy := -rows; dy <= rows; dy++ {
		for dx := -1; dx <= 1; dx++ {
			inside := x+dx >= 0 && x+dx < n && (dim == 1 || y+dy >= 0 && y+dy < n)
			if inside && (dx != 0 || dy != 0) {
				f(i + dy*n + dx)
			}
		}
	}
}

// vanishing is that of function i's diffusion, given its variables. Random fields are
// interpolated linearly between the nodes.
func (f *formula) vanishing(variables [][]float64) (where string) {
	dim := len(f.coordinates)
	return vanishing(f.grid, dim, func(points [][]float64) []float64 {
		all := slices.Clip(points)
		for _, v := range variables[dim:] {
			if len(v) > 1 {
				v = interpolated(v, f.grid, points)
			}
			all = append(all, v)
		}
		return norms(f.diffusion, all)
	})
}

// interpolated are the values at points of a table on the grid.
func interpolated(table []float64, grid sde.Grid, points [][]float64) []float64 {
	values := make([]float64, len(points[0]))
	row := func(table []float64, node int, t float64) float64 {
		return table[node] + t*(table[node+1]-table[node])
	}
	for i := range values {
		node, t := grid.Cell(points[0][i])
		if len(points) == 1 {
			values[i] = row(table, node, t)
			continue
		}
		above, s := grid.Cell(points[1][i])
		lower, upper := row(table[above*grid.N:], node, t), row(table[(above+1)*grid.N:], node, t)
		values[i] = lower + s*(upper-lower)
	}
	return values
}
