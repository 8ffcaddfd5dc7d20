//go:build !goexperiment.simd || !amd64

package softmin

// search is searchPlain: this build has no vectors.
func (t task) search(from *sources, lo, hi int, centre []float64, best int, top float64) (int, float64) {
	return t.searchPlain(from, lo, hi, centre, best, top)
}
