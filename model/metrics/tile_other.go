//go:build !amd64

package metrics

// expSums is expSumsPlain: there are kernels for amd64 alone.
func expSums(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int) {
	expSumsPlain(sums, a, v, u, stride, n, d)
}
