package allreduce

import "testing"

// Of a message's numbers, which stay in the cache.
func BenchmarkKernels(b *testing.B) {
	const n = localChunkBytes / 4
	x, y, bytes := make([]float32, n), make([]float32, n), make([]byte, 4*n)
	for name, run := range map[string]func(){
		"addTo":               func() { addTo(x, y) },
		"encodeBFloat16":      func() { encodeBFloat16(bytes, x) },
		"encodeBFloat16Plain": func() { encodeBFloat16Plain(bytes, x) },
		"addBFloat16":         func() { addBFloat16(x, bytes) },
		"largestBits":         func() { largestBits(x) },
		"largestBitsPlain":    func() { largestBitsPlain(x) },
		"roundInt8":           func() { roundInt8(bytes, x, y, 1, 1) },
		"roundInt8Plain":      func() { roundInt8Plain(bytes, x, y, 1, 1) },
		"decodeInt8":          func() { decodeInt8(x, bytes, 1, true) },
		"decodeInt8Plain":     func() { decodeInt8Plain(x, bytes, 1, true) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				run()
			}
		})
	}
}
