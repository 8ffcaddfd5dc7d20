//go:build !goexperiment.simd || !amd64

package simulate

// vectorEngines are none: this build has no vectors.
func vectorEngines() []*Engine { return nil }
