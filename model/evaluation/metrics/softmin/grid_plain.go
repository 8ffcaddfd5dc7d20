//go:build !goexperiment.simd || !amd64

package softmin

// weigh is weighPlain: this build has no vectors.
func (t task) weigh(s *scratch, at, lo, hi int, top float64, centre, star []float64) {
	t.weighPlain(s, at, lo, hi, top, centre, star)
}
