//go:build !(amd64 && goexperiment.simd)

package allreduce

// addTo adds src to dst, which have equal lengths.
func addTo(dst, src []float32) { addToPlain(dst, src) }

// encodeBFloat16 rounds src and writes it to dst, two bytes for each number.
func encodeBFloat16(dst []byte, src []float32) { encodeBFloat16Plain(dst, src) }

// decodeBFloat16 reads len(dst) numbers.
func decodeBFloat16(dst []float32, src []byte) { decodeBFloat16Plain(dst, src) }

// addBFloat16 adds len(dst) numbers to dst.
func addBFloat16(dst []float32, src []byte) { addBFloat16Plain(dst, src) }

// largestBits is the largest magnitude as bits.
func largestBits(v []float32) uint32 { return largestBitsPlain(v) }

// roundInt8 writes v in steps of scale to q, and the rounding errors to residual. v
// becomes what receivers read.
func roundInt8(q []byte, v, residual []float32, scale, inverse float32) {
	roundInt8Plain(q, v, residual, scale, inverse)
}

// decodeInt8 reads len(dst) numbers in steps of scale and adds them to dst, or copies
// them there.
func decodeInt8(dst []float32, q []byte, scale float32, add bool) {
	decodeInt8Plain(dst, q, scale, add)
}
