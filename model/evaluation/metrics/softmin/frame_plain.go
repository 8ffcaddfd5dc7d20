//go:build !goexperiment.simd || !amd64

package softmin

// frame is framePlain: this build has no vectors.
func (t task) frame(w *tiles, from *sources, top float64, centre, star []float64) {
	t.framePlain(w, from, 0, top, centre, star)
}
