//go:build !goexperiment.simd || !amd64

package softmin

// keep is keepPlain: this build has no vectors.
func (t task) keep(to, from *sources, lo, hi int, top, cut float64, b *box, star []float64) {
	t.keepPlain(to, from, lo, hi, top, cut, b, star)
}
