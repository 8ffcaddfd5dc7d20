//go:build !goexperiment.simd || !amd64

package expression

// vectorSets is empty: this build has no vector instructions.
func vectorSets() []set { return nil }
