//go:build !goexperiment.simd || !amd64

package softmin

// Engine names the instruction set of the kernels: avx512, avx2 or go.
func Engine() string { return "go" }

// expSum is expSumPlain: this build has no vectors.
func expSum(a, v []float64, stride int, u []float64) float64 {
	return expSumPlain(a, v, stride, u)
}
