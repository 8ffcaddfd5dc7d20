//go:build !amd64

package softmin

// expSums is expSumsPlain: there are kernels for amd64 alone.
func expSums(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int) {
	expSumsPlain(sums, a, v, u, stride, n, d)
}

// fuses says whether this processor has a kernel for expPairs.
const fuses = false

// expPairs is expPairsPlain: there are kernels for amd64 alone.
func expPairs(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int) {
	expPairsPlain(sums, columns, a, v, u, stride, n, d)
}
