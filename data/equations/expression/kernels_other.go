//go:build !goexperiment.simd || !amd64

package expression

// vectorSets are none: this build has no vectors.
func vectorSets() []set { return nil }
