//go:build goexperiment.simd

package expression

import (
	"math"
	"simd/archsimd"
	"unsafe"
)

// The kernels for AVX2 are these with vectors of four: only what both have is
// used.
//go:generate sh -c "sed -e 's/x8/x4/g' -e 's/x16/x8/g' -e 's/AVX512/AVX2/g' -e 's/= 8 /= 4 /' -e '/go:generate/d' kernels_avx512_amd64.go | gofmt >kernels_avx2_amd64.go"

const widthAVX512 = 8 // states in a vector

var kernelsAVX512 = &kernels{
	opAdd:       addAVX512,
	opSubtract:  subtractAVX512,
	opMultiply:  multiplyAVX512,
	opDivide:    divideAVX512,
	opMin:       minAVX512,
	opMax:       maxAVX512,
	opLess:      lessAVX512,
	opLessEqual: lessEqualAVX512,
	opEqual:     equalAVX512,
	opSelect:    selectAVX512,
	opAbs:       absAVX512,
	opSqrt:      sqrtAVX512,
	opExp:       expAVX512,
	opLog:       logAVX512,
	opSin:       sinAVX512,
	opCos:       cosAVX512,
	opTanh:      tanhAVX512,
}

type vectorAVX512 = archsimd.Float64x8

// loadAVX512 and storeAVX512 do not check i: the loops make it a multiple of the width
// below Lanes. Checks would be more instructions than the rest of a sum.
func loadAVX512(a *block, i int) vectorAVX512 {
	return archsimd.LoadFloat64x8((*[widthAVX512]float64)(unsafe.Add(unsafe.Pointer(a), 8*i)))
}

func storeAVX512(dst *block, i int, v vectorAVX512) {
	v.Store((*[widthAVX512]float64)(unsafe.Add(unsafe.Pointer(dst), 8*i)))
}

// numberAVX512 is for numbers that the compiler knows. math.NaN() is not: Go 1.26 moves it by an
// instruction of SSE, and so it does the count of a shift of unsigned numbers to the right. On some
// processors that takes hundreds of cycles while the upper halves of registers are in use
// (docs/decisions/formula-kernels.md).
func numberAVX512(v float64) vectorAVX512 { return archsimd.BroadcastFloat64x8(v) }
func bitsAVX512(v int64) archsimd.Int64x8 { return archsimd.BroadcastInt64x8(v) }

// termsAVX512 has the coefficients of a polynomial as vectors: broadcasting them where
// they are used would take as many instructions as the arithmetic. They are allocated
// because that aligns them with cache lines.
type termsAVX512 [8][widthAVX512]float64

var (
	expTermsAVX512  = spreadAVX512(expTerms[:])
	logTermsAVX512  = spreadAVX512(logTerms[:])
	sinTermsAVX512  = spreadAVX512(sinTerms[:])
	cosTermsAVX512  = spreadAVX512(cosTerms[:])
	tanhAboveAVX512 = spreadAVX512(tanhAbove[:])
	tanhBelowAVX512 = spreadAVX512(tanhBelow[:])
)

func spreadAVX512(terms []float64) *termsAVX512 {
	t := new(termsAVX512)
	for i, v := range terms {
		for l := range t[i] {
			t[i][l] = v
		}
	}
	return t
}

func (t *termsAVX512) at(i int) vectorAVX512 { return archsimd.LoadFloat64x8(&t[i]) }

func addAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, loadAVX512(a, i).Add(loadAVX512(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func subtractAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, loadAVX512(a, i).Sub(loadAVX512(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func multiplyAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, loadAVX512(a, i).Mul(loadAVX512(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func divideAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, loadAVX512(a, i).Div(loadAVX512(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func minAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		x, y := loadAVX512(a, i), loadAVX512(b, i)
		storeAVX512(dst, i, x.Merge(y, x.Less(y).Or(x.NotEqual(x))))
	}
	archsimd.ClearAVXUpperBits()
}

func maxAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		x, y := loadAVX512(a, i), loadAVX512(b, i)
		storeAVX512(dst, i, x.Merge(y, x.Greater(y).Or(x.NotEqual(x))))
	}
	archsimd.ClearAVXUpperBits()
}

func lessAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, numberAVX512(1).Masked(loadAVX512(a, i).Less(loadAVX512(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func lessEqualAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, numberAVX512(1).Masked(loadAVX512(a, i).LessEqual(loadAVX512(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func equalAVX512(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, numberAVX512(1).Masked(loadAVX512(a, i).Equal(loadAVX512(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func selectAVX512(dst, a, b, c *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		test := loadAVX512(a, i).NotEqual(vectorAVX512{})
		storeAVX512(dst, i, loadAVX512(b, i).Merge(loadAVX512(c, i), test))
	}
	archsimd.ClearAVXUpperBits()
}

func sizeAVX512(x vectorAVX512) vectorAVX512 {
	return x.AsInt64x8().And(bitsAVX512(math.MaxInt64)).AsFloat64x8()
}

func absAVX512(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, sizeAVX512(loadAVX512(a, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func sqrtAVX512(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, loadAVX512(a, i).Sqrt())
	}
	archsimd.ClearAVXUpperBits()
}

// Below, names and order of operations are those of elementary.go.

func expAVX512(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		storeAVX512(dst, i, exponentialAVX512(loadAVX512(a, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func exponentialAVX512(x vectorAVX512) vectorAVX512 {
	x = numberAVX512(expLeast).Merge(x, x.Less(numberAVX512(expLeast)))
	x = numberAVX512(expMost).Merge(x, x.Greater(numberAVX512(expMost)))
	magic := numberAVX512(rounder)
	k := x.Mul(numberAVX512(perLn2)).Add(magic).Sub(magic)
	halfBits := k.Mul(numberAVX512(0.5)).Add(magic)
	restBits := k.Sub(halfBits.Sub(magic)).Add(magic)
	high, low := x.Sub(k.Mul(numberAVX512(ln2High))), k.Mul(numberAVX512(ln2Low))
	r := high.Sub(low)
	t := r.Mul(r)
	c := expTermsAVX512.at(4).Mul(t).Add(expTermsAVX512.at(3))
	c = c.Mul(t).Add(expTermsAVX512.at(2))
	c = c.Mul(t).Add(expTermsAVX512.at(1))
	c = c.Mul(t).Add(expTermsAVX512.at(0))
	c = r.Sub(c.Mul(t))
	y := numberAVX512(1).Sub(low.Sub(r.Mul(c).Div(numberAVX512(2).Sub(c))).Sub(high))
	return y.Mul(powerAVX512(halfBits)).Mul(powerAVX512(restBits))
}

func powerAVX512(k vectorAVX512) vectorAVX512 {
	return k.AsInt64x8().Add(bitsAVX512(oneBits)).ShiftAllLeft(mantissa).AsFloat64x8()
}

func logAVX512(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		x := loadAVX512(a, i)
		subnormal := x.Less(numberAVX512(leastNormal))
		scaled := x.Mul(numberAVX512(0x1p54)).Merge(x, subnormal)
		k := numberAVX512(-54).Masked(subnormal)
		bits := scaled.AsInt64x8().Add(bitsAVX512(oneBits<<mantissa - rootHalfBits))
		// In the upper half of each number, so that 2²⁰ and the exponent are one number.
		exponent := bits.AsInt32x16().ShiftAllRight(mantissa - 32).AsInt64x8().And(bitsAVX512(-1 << 32)).Or(numberAVX512(0x1p20).AsInt64x8())
		k = k.Add(exponent.AsFloat64x8().Sub(numberAVX512(0x1p20 + oneBits)))
		fraction := bits.And(bitsAVX512(1<<mantissa - 1)).Add(bitsAVX512(rootHalfBits))
		f := fraction.AsFloat64x8().Sub(numberAVX512(1))
		s := f.Div(numberAVX512(2).Add(f))
		s2 := s.Mul(s)
		s4 := s2.Mul(s2)
		odd := logTermsAVX512.at(6).Mul(s4).Add(logTermsAVX512.at(4))
		odd = odd.Mul(s4).Add(logTermsAVX512.at(2))
		odd = odd.Mul(s4).Add(logTermsAVX512.at(0)).Mul(s2)
		even := logTermsAVX512.at(5).Mul(s4).Add(logTermsAVX512.at(3))
		even = even.Mul(s4).Add(logTermsAVX512.at(1)).Mul(s4)
		square := f.Mul(numberAVX512(0.5)).Mul(f)
		rest := s.Mul(square.Add(odd.Add(even))).Add(k.Mul(numberAVX512(ln2Low)))
		y := k.Mul(numberAVX512(ln2High)).Sub(square.Sub(rest).Sub(f))
		y = x.Merge(y, x.Greater(numberAVX512(math.MaxFloat64)))
		y = numberAVX512(math.Inf(-1)).Merge(y, x.Equal(vectorAVX512{}))
		y = y.Merge(bitsAVX512(notANumber).AsFloat64x8(), x.GreaterEqual(vectorAVX512{}))
		storeAVX512(dst, i, y)
	}
	archsimd.ClearAVXUpperBits()
}

func sinAVX512(dst, a, _, _ *block, n int) {
	if farAVX512(a, n) {
		plain[opSin](dst, a, nil, nil, n)
		return
	}
	quarterAVX512(dst, a, n, 0)
}

func cosAVX512(dst, a, _, _ *block, n int) {
	if farAVX512(a, n) {
		plain[opCos](dst, a, nil, nil, n)
		return
	}
	quarterAVX512(dst, a, n, 1)
}

// farAVX512 reports whether an angle is beyond the range of quarter.
func farAVX512(a *block, n int) bool {
	most := vectorAVX512{}.Equal(vectorAVX512{})
	for i := 0; i < n; i += widthAVX512 {
		most = most.And(sizeAVX512(loadAVX512(a, i)).LessEqual(numberAVX512(angleMost)))
	}
	near := most.ToBits() == 1<<widthAVX512-1
	archsimd.ClearAVXUpperBits()
	return !near
}

func quarterAVX512(dst, a *block, size int, turns int64) {
	for i := 0; i < size; i += widthAVX512 {
		x, magic := loadAVX512(a, i), numberAVX512(rounder)
		n := x.Mul(numberAVX512(perRight)).Add(magic)
		turns := n.AsInt64x8().Add(bitsAVX512(turns))
		n = n.Sub(magic)
		r := x.Sub(n.Mul(numberAVX512(right1))).Sub(n.Mul(numberAVX512(right2))).Sub(n.Mul(numberAVX512(right3)))
		z := r.Mul(r)
		p := sinTermsAVX512.at(5).Mul(z).Add(sinTermsAVX512.at(4))
		p = p.Mul(z).Add(sinTermsAVX512.at(3))
		p = p.Mul(z).Add(sinTermsAVX512.at(2))
		p = p.Mul(z).Add(sinTermsAVX512.at(1))
		p = p.Mul(z).Add(sinTermsAVX512.at(0))
		sine := r.Add(z.Mul(r).Mul(p))
		p = cosTermsAVX512.at(5).Mul(z).Add(cosTermsAVX512.at(4))
		p = p.Mul(z).Add(cosTermsAVX512.at(3))
		p = p.Mul(z).Add(cosTermsAVX512.at(2))
		p = p.Mul(z).Add(cosTermsAVX512.at(1))
		p = p.Mul(z).Add(cosTermsAVX512.at(0))
		half := z.Mul(numberAVX512(0.5))
		w := numberAVX512(1).Sub(half)
		cosine := w.Add(numberAVX512(1).Sub(w).Sub(half).Add(z.Mul(z.Mul(p))))
		even := turns.ShiftAllLeft(63).Equal(archsimd.Int64x8{})
		sign := turns.ShiftAllLeft(62).And(bitsAVX512(math.MinInt64))
		storeAVX512(dst, i, sine.Merge(cosine, even).AsInt64x8().Xor(sign).AsFloat64x8())
	}
	archsimd.ClearAVXUpperBits()
}

func tanhAVX512(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX512 {
		x := loadAVX512(a, i)
		size := sizeAVX512(x)
		s := x.Mul(x)
		p := tanhAboveAVX512.at(0).Mul(s).Add(tanhAboveAVX512.at(1)).Mul(s).Add(tanhAboveAVX512.at(2))
		q := s.Add(tanhBelowAVX512.at(0)).Mul(s).Add(tanhBelowAVX512.at(1)).Mul(s).Add(tanhBelowAVX512.at(2))
		bounded := numberAVX512(tanhMost).Merge(size, size.Greater(numberAVX512(tanhMost)))
		e := exponentialAVX512(bounded.Add(bounded))
		// Both cases are a sum and a quotient, so that one division serves.
		small := size.Less(numberAVX512(tanhSmall))
		sign := x.AsInt64x8().And(bitsAVX512(math.MinInt64))
		first := x.Merge(numberAVX512(1).AsInt64x8().Or(sign).AsFloat64x8(), small)
		above := x.Mul(s).Mul(p).Merge(numberAVX512(-2).AsInt64x8().Xor(sign).AsFloat64x8(), small)
		below := q.Merge(e.Add(numberAVX512(1)), small)
		storeAVX512(dst, i, first.Add(above.Div(below)))
	}
	archsimd.ClearAVXUpperBits()
}
