//go:build !amd64

package softmin

// expSums is expSumsPlain: only amd64 has kernels.
func expSums(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int) {
	expSumsPlain(sums, a, v, u, stride, n, d)
}

// hasPairKernel reports whether this processor has a kernel for expPairs.
const hasPairKernel = false

// expPairs is expPairsPlain: only amd64 has kernels.
func expPairs(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int) {
	expPairsPlain(sums, columns, a, v, u, stride, n, d)
}
