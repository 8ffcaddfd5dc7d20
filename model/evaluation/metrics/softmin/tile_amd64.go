package softmin

import "golang.org/x/sys/cpu"

// The kernels of tiles are in assembly: eight targets need 24 vector registers, and
// the compiler uses 15 of the 32.

//go:noescape
func expSumsAVX512(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int, constants *[9][8]float32)

//go:noescape
func expSumsAVX2(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int, constants *[9][8]float32)

//go:noescape
func expPairsAVX512(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int, constants *[9][8]float32)

// tileConstants are, as vectors: the least exponent; the number whose addition
// rounds to integers; the polynomial for 2^f on [−½, ½], highest power first; the
// exponent of infinity. The polynomial's relative error is 9e-8 (minimax by
// reweighted least squares), 1.5e-7 with rounding. It is exactly 1 at 0, since where
// ε is large all terms are near 1.
var tileConstants = func() (c [9][8]float32) {
	for k, v := range [9]float32{-126, 3 << 22, 0.0013264732, 0.009671515, 0.055507336, 0.24022242, 0.693147, 1, 128} {
		for lane := range c[k] {
			c[k][lane] = v
		}
	}
	return c
}()

// expSums is expSumsPlain on the widest vectors that the processor has.
func expSums(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int) {
	switch {
	case cpu.X86.HasAVX512F:
		expSumsAVX512(sums, a, v, u, stride, n, d, &tileConstants)
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		expSumsAVX2(sums, a, v, u, stride, n, d, &tileConstants)
	default:
		expSumsPlain(sums, a, v, u, stride, n, d)
	}
}

// hasPairKernel reports whether this processor has a kernel for expPairs. Without one, tiles
// are faster than fused sums.
var hasPairKernel = cpu.X86.HasAVX512F

// expPairs is expPairsPlain on the widest vectors that the processor has.
func expPairs(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int) {
	if hasPairKernel {
		expPairsAVX512(sums, columns, a, v, u, stride, n, d, &tileConstants)
		return
	}
	expPairsPlain(sums, columns, a, v, u, stride, n, d)
}
