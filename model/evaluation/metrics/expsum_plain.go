//go:build !goexperiment.simd || !amd64

package metrics

// engine names the vectors that expSum uses.
func engine() string { return "go" }

// expSum is expSumPlain: this build has no vectors.
func expSum(a, v []float64, stride int, u []float64) float64 {
	return expSumPlain(a, v, stride, u)
}
