//go:build !goexperiment.simd || !amd64

package metrics

// search is searchPlain for a group: this build has no vectors.
func (t task) search(group *box, centre []float64, best int, top float64) (int, float64) {
	return t.searchPlain(group.lo, group.hi, centre, best, top)
}
