package kernels

import "golang.org/x/sys/cpu"

var (
	hasAVX512 = cpu.X86.HasAVX512F
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
)

// multiply is multiplyPlain on the widest vectors that the processor has. The kernels are in
// assembly: the compiler keeps the tile's 12 vectors in memory, which takes twice as long.
func multiply(t *tile, rows *[tileRows][]float32, panel []float32, bias *[tileColumns]float32) {
	switch {
	case hasAVX512:
		multiplyAVX512(t, rows, panel, bias)
	case hasAVX2:
		multiplyAVX2(t, rows, panel, bias, 0)
		multiplyAVX2(t, rows, panel, bias, tileColumns/2)
	default:
		multiplyPlain(t, rows, panel, bias)
	}
}

// multiplyAVX512 needs rows of equal lengths n and a panel of n·32 numbers.
//
//go:noescape
func multiplyAVX512(t *tile, rows *[tileRows][]float32, panel []float32, bias *[tileColumns]float32)

// multiplyAVX2 computes the 16 columns of the tile that begin at column from.
//
//go:noescape
func multiplyAVX2(t *tile, rows *[tileRows][]float32, panel []float32, bias *[tileColumns]float32, from int)
