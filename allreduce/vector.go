package allreduce

import (
	"encoding/binary"
	"math"
)

// A vector is what a call sums, with its format on the wire.
type vector interface {
	length() int
	format() format
	// part is numbers [lo, hi) as a vector.
	part(lo, hi int) vector
	// encode returns numbers [lo, hi) in the wire's format: in place if memory and
	// wire agree, else in scratch, which holds a whole message.
	encode(m mode, lo, hi int, scratch func() []byte) []byte
	// decode reads a payload of the right length and adds it to [lo, hi), or copies it
	// there.
	decode(lo, hi int, f *frame, add bool)
	// keepOwn copies numbers [lo, hi); addOwn adds that copy later.
	keepOwn(lo, hi int)
	addOwn(lo, hi int)
}

// mode is what a message carries, which matters if the wire rounds.
type mode uint8

const (
	contribute mode = iota // a part of a sum; this rank does not read it again
	publish                // a finished sum: v becomes what receivers read
	passOn                 // a sum that was published, by this rank or another
)

// floats is a vector of float32 on any wire.
type floats struct {
	v        []float32
	wire     Wire
	residual []float32 // Int8: rounding errors so far, of v's length
	own      *[]float32
}

func (x floats) length() int    { return len(x.v) }
func (x floats) format() format { return format(x.wire) }

func (x floats) part(lo, hi int) vector {
	x.v = x.v[lo:hi]
	if x.residual != nil {
		x.residual = x.residual[lo:hi]
	}
	return x
}

func (x floats) encode(m mode, lo, hi int, scratch func() []byte) []byte {
	v := x.v[lo:hi]
	if x.wire == Float32 && littleEndian {
		return bytesOf(v)
	}
	b := scratch()[:x.format().bytes(len(v))]
	switch {
	case x.wire == Int8 && m == passOn:
		quantise(b, v, nil)
	case x.wire == Int8:
		quantise(b, v, x.residual[lo:hi])
	case x.wire == BFloat16:
		encodeBFloat16(b, v)
		if m == publish {
			decodeBFloat16(v, b)
		}
	default:
		for i, f := range v {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
		}
	}
	return b
}

func (x floats) decode(lo, hi int, f *frame, add bool) {
	dst := x.v[lo:hi]
	switch x.wire {
	case Int8:
		dequantise(dst, f, add)
	case BFloat16:
		f.numbers(2, func(p []byte) {
			if add {
				addBFloat16(dst[:len(p)/2], p)
			} else {
				decodeBFloat16(dst[:len(p)/2], p)
			}
			dst = dst[len(p)/2:]
		})
	default:
		f.numbers(4, func(p []byte) {
			decodeFloat32(dst[:len(p)/4], p, add)
			dst = dst[len(p)/4:]
		})
	}
}

func (x floats) keepOwn(lo, hi int) { *x.own = append((*x.own)[:0], x.v[lo:hi]...) }

func (x floats) addOwn(lo, hi int) { addTo(x.v[lo:hi], *x.own) }

// decodeFloat32 reads len(dst) numbers and adds them to dst, or copies them there.
func decodeFloat32(dst []float32, src []byte, add bool) {
	switch aligned := numbersOf[float32](src); {
	case !add && littleEndian:
		copy(bytesOf(dst), src)
	case aligned != nil:
		addTo(dst, aligned)
	default:
		for i := range dst {
			x := math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			if add {
				x += dst[i]
			}
			dst[i] = x
		}
	}
}

// words is a vector of 64-bit integers, whose sum does not depend on order.
type words struct {
	v   []int64
	own *[]int64
}

func (x words) length() int    { return len(x.v) }
func (x words) format() format { return formatInt64 }

func (x words) part(lo, hi int) vector {
	x.v = x.v[lo:hi]
	return x
}

func (x words) encode(_ mode, lo, hi int, scratch func() []byte) []byte {
	v := x.v[lo:hi]
	if littleEndian {
		return bytesOf(v)
	}
	b := scratch()[:8*len(v)]
	for i, w := range v {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(w))
	}
	return b
}

func (x words) decode(lo, hi int, f *frame, add bool) {
	dst := x.v[lo:hi]
	f.numbers(8, func(p []byte) {
		n := len(p) / 8
		for i := range dst[:n] {
			w := int64(binary.LittleEndian.Uint64(p[8*i:]))
			if add {
				w += dst[i]
			}
			dst[i] = w
		}
		dst = dst[n:]
	})
}

func (x words) keepOwn(lo, hi int) { *x.own = append((*x.own)[:0], x.v[lo:hi]...) }

func (x words) addOwn(lo, hi int) {
	for i, w := range *x.own {
		x.v[lo+i] += w
	}
}
