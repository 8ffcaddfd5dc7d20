package assignment

import "math"

// lanes of the widest vector of float64. Rows are padded to a multiple.
const lanes = 8

// instructions is an instruction set that the kernels are written for.
type instructions uint8

const (
	unknown instructions = iota
	plain
	avx2
	avx512
)

func (i instructions) String() string {
	return [...]string{"unknown", "go", "avx2", "avx512"}[i]
}

// squaredDistancesPlain sets row[j] to |x − y_j|², rounded from float64, where
// coordinate k of y_j is y[k*len(row)+j].
func squaredDistancesPlain(row []float32, x, y []float64) {
	for j := range row {
		var sum float64
		at := j
		for _, v := range x {
			difference := v - y[at]
			sum += float64(difference * difference) // not fused: see squaredDistance
			at += len(row)
		}
		row[j] = float32(sum)
	}
}

// relaxPlain lowers distance[j] to row[j] − v[j] − shift and sets from[j] to i
// wherever that is less. It returns the least distance and the first column
// that has it.
func relaxPlain(distance []float64, from []int64, row []float32, v []float64, shift float64, i int) (least float64, at int) {
	from, row, v = from[:len(distance)], row[:len(distance)], v[:len(distance)]
	least = math.Inf(1)
	for j, old := range distance {
		if through := float64(row[j]) - v[j] - shift; through < old {
			distance[j], from[j], old = through, int64(i), through
		}
		if old < least {
			least, at = old, j
		}
	}
	return least, at
}

// twoLeastPlain returns the least of row[j] − v[j], the first column that has
// it, and the least of all other columns.
func twoLeastPlain(row []float32, v []float64) (least float64, at int, second float64) {
	v = v[:len(row)]
	least, second = math.Inf(1), math.Inf(1)
	for j, c := range row {
		reduced := float64(c) - v[j]
		if reduced < least {
			least, at, second = reduced, j, least
		} else if reduced < second {
			second = reduced
		}
	}
	return least, at, second
}
