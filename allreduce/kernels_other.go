//go:build !(amd64 && goexperiment.simd)

package allreduce

// addTo adds src to dst; the lengths are equal.
func addTo(dst, src []float32) { addToPlain(dst, src) }

// encodeBFloat16 writes src, rounded, to dst, which has two bytes for each.
func encodeBFloat16(dst []byte, src []float32) { encodeBFloat16Plain(dst, src) }

// decodeBFloat16 reads len(dst) numbers.
func decodeBFloat16(dst []float32, src []byte) { decodeBFloat16Plain(dst, src) }

// addBFloat16 adds len(dst) numbers to dst.
func addBFloat16(dst []float32, src []byte) { addBFloat16Plain(dst, src) }
