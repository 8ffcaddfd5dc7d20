package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// dtype is how a file stores one element: NumPy's '<f4', '>i8', '|u1'.
type dtype struct {
	name  string
	order binary.ByteOrder
	class byte // f, i or u
	width int  // bytes
}

var dtypeName = regexp.MustCompile(`^[<>|]([fiu])([1248])$`)

// parseDType knows integers of 1 to 8 bytes and floating-point numbers of 2 to 8.
func parseDType(name string) (dtype, error) {
	m := dtypeName.FindStringSubmatch(name)
	if m == nil || m[1] == "f" && m[2] == "1" {
		return dtype{}, formatError("dtype %.40q, want integers or floating-point numbers of at most 8 bytes, as of x.astype('float64')", name)
	}
	width, _ := strconv.Atoi(m[2])
	d := dtype{name: name, class: m[1][0], width: width, order: binary.LittleEndian}
	if name[0] == '>' {
		d.order = binary.BigEndian
	}
	return d, nil
}

// value is the element that b stores. It fails on integers that float64 does not hold and on
// numbers that are not finite.
func (d dtype) value(b []byte) (float64, error) {
	var bits uint64
	switch d.width {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(d.order.Uint16(b))
	case 4:
		bits = uint64(d.order.Uint32(b))
	case 8:
		bits = d.order.Uint64(b)
	}
	switch d.class {
	case 'u':
		v := float64(bits)
		if v >= 1<<64 || uint64(v) != bits {
			return 0, fmt.Errorf("is %d: float64 does not hold it", bits)
		}
		return v, nil
	case 'i':
		unused := 64 - 8*d.width
		n := int64(bits<<unused) >> unused // sign extension
		v := float64(n)
		if v >= 1<<63 || int64(v) != n {
			return 0, fmt.Errorf("is %d: float64 does not hold it", n)
		}
		return v, nil
	}
	v := d.float(bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("is %v: not finite", v)
	}
	return v, nil
}

func (d dtype) float(bits uint64) float64 {
	switch d.width {
	case 2:
		return half(uint16(bits))
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// half is a number of IEEE 754 binary16: a sign, 5 bits of exponent, 10 of mantissa.
func half(bits uint16) float64 {
	exponent, mantissa := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(mantissa, -24) // subnormal
	case 0x1f:
		v = math.Inf(1)
		if mantissa != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+mantissa, exponent-25)
	}
	if bits>>15 != 0 {
		v = -v
	}
	return v
}
