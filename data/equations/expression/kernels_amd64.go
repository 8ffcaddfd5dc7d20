//go:build goexperiment.simd

package expression

import "simd/archsimd"

// vectorSets are those that the processor can run, widest first.
func vectorSets() (sets []set) {
	if archsimd.X86.AVX512() {
		sets = append(sets, set{"avx512", kernelsAVX512})
	}
	if archsimd.X86.AVX2() {
		sets = append(sets, set{"avx2", kernelsAVX2})
	}
	return sets
}
