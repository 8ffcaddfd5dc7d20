//go:build !goexperiment.simd || !amd64

package softmin

// gather is gatherPlain: this build has no vectors.
func (t task) gather(s *scratch, kept, lo, hi int, top float64, b *box, star []float64) (int, bool) {
	return t.gatherPlain(s, kept, lo, hi, top, b, star)
}
