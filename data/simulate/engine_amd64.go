//go:build goexperiment.simd && amd64

package simulate

import "simd/archsimd"

// vectorEngines are those that the processor can run, widest first.
func vectorEngines() (engines []*Engine) {
	if archsimd.X86.AVX512() {
		engines = append(engines, &Engine{"avx512", fillAVX512, advanceAVX512})
	}
	if archsimd.X86.AVX2() {
		engines = append(engines, &Engine{"avx2", fillAVX2, advanceAVX2})
	}
	return engines
}
