//go:build !goexperiment.simd || !amd64

package assignment

// widest is plain: this build has no SIMD kernels.
func widest() instructions { return plain }

func squaredDistances(_ instructions, row []float32, x, y []float64) {
	squaredDistancesPlain(row, x, y)
}

func relax(_ instructions, distance []float64, from []int64, row []float32, v []float64, shift float64, i int) (least float64, at int) {
	return relaxPlain(distance, from, row, v, shift, i)
}

func twoLeast(_ instructions, row []float32, v []float64) (least float64, at int, second float64) {
	return twoLeastPlain(row, v)
}
