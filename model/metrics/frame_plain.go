//go:build !goexperiment.simd || !amd64

package metrics

// frame is framePlain: this build has no vectors.
func (t task) frame(w *tiles, at, lo, hi int, top float64, centre, star []float64) {
	t.framePlain(w, at, lo, hi, top, centre, star)
}
