//go:build goexperiment.simd

package expression

import (
	"math"
	"simd/archsimd"
	"unsafe"
)

// The kernels for AVX2 are these with vectors of four: only what both have is
// used.

const widthAVX2 = 4 // states in a vector

var kernelsAVX2 = &kernels{
	opAdd:       addAVX2,
	opSubtract:  subtractAVX2,
	opMultiply:  multiplyAVX2,
	opDivide:    divideAVX2,
	opMin:       minAVX2,
	opMax:       maxAVX2,
	opLess:      lessAVX2,
	opLessEqual: lessEqualAVX2,
	opEqual:     equalAVX2,
	opSelect:    selectAVX2,
	opAbs:       absAVX2,
	opSqrt:      sqrtAVX2,
	opExp:       expAVX2,
	opLog:       logAVX2,
	opSin:       sinAVX2,
	opCos:       cosAVX2,
	opTanh:      tanhAVX2,
}

type vectorAVX2 = archsimd.Float64x4

// loadAVX2 and storeAVX2 do not check i: the loops make it a multiple of the width
// below Lanes. Checks would be more instructions than the rest of a sum.
func loadAVX2(a *block, i int) vectorAVX2 {
	return archsimd.LoadFloat64x4((*[widthAVX2]float64)(unsafe.Add(unsafe.Pointer(a), 8*i)))
}

func storeAVX2(dst *block, i int, v vectorAVX2) {
	v.Store((*[widthAVX2]float64)(unsafe.Add(unsafe.Pointer(dst), 8*i)))
}

// numberAVX2 is for numbers that the compiler knows. math.NaN() is not: Go 1.26 moves it by an
// instruction of SSE, and so it does the count of a shift of unsigned numbers to the right. On some
// processors that takes hundreds of cycles while the upper halves of registers are in use
// (docs/decisions/formula-kernels.md).
func numberAVX2(v float64) vectorAVX2   { return archsimd.BroadcastFloat64x4(v) }
func bitsAVX2(v int64) archsimd.Int64x4 { return archsimd.BroadcastInt64x4(v) }

// termsAVX2 has the coefficients of a polynomial as vectors: broadcasting them where
// they are used would take as many instructions as the arithmetic. They are allocated
// because that aligns them with cache lines.
type termsAVX2 [8][widthAVX2]float64

var (
	expTermsAVX2  = spreadAVX2(expTerms[:])
	logTermsAVX2  = spreadAVX2(logTerms[:])
	sinTermsAVX2  = spreadAVX2(sinTerms[:])
	cosTermsAVX2  = spreadAVX2(cosTerms[:])
	tanhAboveAVX2 = spreadAVX2(tanhAbove[:])
	tanhBelowAVX2 = spreadAVX2(tanhBelow[:])
)

func spreadAVX2(terms []float64) *termsAVX2 {
	t := new(termsAVX2)
	for i, v := range terms {
		for l := range t[i] {
			t[i][l] = v
		}
	}
	return t
}

func (t *termsAVX2) at(i int) vectorAVX2 { return archsimd.LoadFloat64x4(&t[i]) }

func addAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, loadAVX2(a, i).Add(loadAVX2(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func subtractAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, loadAVX2(a, i).Sub(loadAVX2(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func multiplyAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, loadAVX2(a, i).Mul(loadAVX2(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func divideAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, loadAVX2(a, i).Div(loadAVX2(b, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func minAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		x, y := loadAVX2(a, i), loadAVX2(b, i)
		storeAVX2(dst, i, x.Merge(y, x.Less(y).Or(x.NotEqual(x))))
	}
	archsimd.ClearAVXUpperBits()
}

func maxAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		x, y := loadAVX2(a, i), loadAVX2(b, i)
		storeAVX2(dst, i, x.Merge(y, x.Greater(y).Or(x.NotEqual(x))))
	}
	archsimd.ClearAVXUpperBits()
}

func lessAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, numberAVX2(1).Masked(loadAVX2(a, i).Less(loadAVX2(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func lessEqualAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, numberAVX2(1).Masked(loadAVX2(a, i).LessEqual(loadAVX2(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func equalAVX2(dst, a, b, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, numberAVX2(1).Masked(loadAVX2(a, i).Equal(loadAVX2(b, i))))
	}
	archsimd.ClearAVXUpperBits()
}

func selectAVX2(dst, a, b, c *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		test := loadAVX2(a, i).NotEqual(vectorAVX2{})
		storeAVX2(dst, i, loadAVX2(b, i).Merge(loadAVX2(c, i), test))
	}
	archsimd.ClearAVXUpperBits()
}

func sizeAVX2(x vectorAVX2) vectorAVX2 {
	return x.AsInt64x4().And(bitsAVX2(math.MaxInt64)).AsFloat64x4()
}

func absAVX2(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, sizeAVX2(loadAVX2(a, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func sqrtAVX2(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, loadAVX2(a, i).Sqrt())
	}
	archsimd.ClearAVXUpperBits()
}

// Below, names and order of operations are those of elementary.go.

func expAVX2(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		storeAVX2(dst, i, exponentialAVX2(loadAVX2(a, i)))
	}
	archsimd.ClearAVXUpperBits()
}

func exponentialAVX2(x vectorAVX2) vectorAVX2 {
	x = numberAVX2(expLeast).Merge(x, x.Less(numberAVX2(expLeast)))
	x = numberAVX2(expMost).Merge(x, x.Greater(numberAVX2(expMost)))
	magic := numberAVX2(rounder)
	k := x.Mul(numberAVX2(perLn2)).Add(magic).Sub(magic)
	halfBits := k.Mul(numberAVX2(0.5)).Add(magic)
	restBits := k.Sub(halfBits.Sub(magic)).Add(magic)
	high, low := x.Sub(k.Mul(numberAVX2(ln2High))), k.Mul(numberAVX2(ln2Low))
	r := high.Sub(low)
	t := r.Mul(r)
	c := expTermsAVX2.at(4).Mul(t).Add(expTermsAVX2.at(3))
	c = c.Mul(t).Add(expTermsAVX2.at(2))
	c = c.Mul(t).Add(expTermsAVX2.at(1))
	c = c.Mul(t).Add(expTermsAVX2.at(0))
	c = r.Sub(c.Mul(t))
	y := numberAVX2(1).Sub(low.Sub(r.Mul(c).Div(numberAVX2(2).Sub(c))).Sub(high))
	return y.Mul(powerAVX2(halfBits)).Mul(powerAVX2(restBits))
}

func powerAVX2(k vectorAVX2) vectorAVX2 {
	return k.AsInt64x4().Add(bitsAVX2(oneBits)).ShiftAllLeft(mantissa).AsFloat64x4()
}

func logAVX2(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		x := loadAVX2(a, i)
		subnormal := x.Less(numberAVX2(leastNormal))
		scaled := x.Mul(numberAVX2(0x1p54)).Merge(x, subnormal)
		k := numberAVX2(-54).Masked(subnormal)
		bits := scaled.AsInt64x4().Add(bitsAVX2(oneBits<<mantissa - rootHalfBits))
		// In the upper half of each number, so that 2²⁰ and the exponent are one number.
		exponent := bits.AsInt32x8().ShiftAllRight(mantissa - 32).AsInt64x4().And(bitsAVX2(-1 << 32)).Or(numberAVX2(0x1p20).AsInt64x4())
		k = k.Add(exponent.AsFloat64x4().Sub(numberAVX2(0x1p20 + oneBits)))
		fraction := bits.And(bitsAVX2(1<<mantissa - 1)).Add(bitsAVX2(rootHalfBits))
		f := fraction.AsFloat64x4().Sub(numberAVX2(1))
		s := f.Div(numberAVX2(2).Add(f))
		s2 := s.Mul(s)
		s4 := s2.Mul(s2)
		odd := logTermsAVX2.at(6).Mul(s4).Add(logTermsAVX2.at(4))
		odd = odd.Mul(s4).Add(logTermsAVX2.at(2))
		odd = odd.Mul(s4).Add(logTermsAVX2.at(0)).Mul(s2)
		even := logTermsAVX2.at(5).Mul(s4).Add(logTermsAVX2.at(3))
		even = even.Mul(s4).Add(logTermsAVX2.at(1)).Mul(s4)
		square := f.Mul(numberAVX2(0.5)).Mul(f)
		rest := s.Mul(square.Add(odd.Add(even))).Add(k.Mul(numberAVX2(ln2Low)))
		y := k.Mul(numberAVX2(ln2High)).Sub(square.Sub(rest).Sub(f))
		y = x.Merge(y, x.Greater(numberAVX2(math.MaxFloat64)))
		y = numberAVX2(math.Inf(-1)).Merge(y, x.Equal(vectorAVX2{}))
		y = y.Merge(bitsAVX2(notANumber).AsFloat64x4(), x.GreaterEqual(vectorAVX2{}))
		storeAVX2(dst, i, y)
	}
	archsimd.ClearAVXUpperBits()
}

func sinAVX2(dst, a, _, _ *block, n int) {
	if farAVX2(a, n) {
		plain[opSin](dst, a, nil, nil, n)
		return
	}
	quarterAVX2(dst, a, n, 0)
}

func cosAVX2(dst, a, _, _ *block, n int) {
	if farAVX2(a, n) {
		plain[opCos](dst, a, nil, nil, n)
		return
	}
	quarterAVX2(dst, a, n, 1)
}

// farAVX2 reports whether an angle is beyond the range of quarter.
func farAVX2(a *block, n int) bool {
	most := vectorAVX2{}.Equal(vectorAVX2{})
	for i := 0; i < n; i += widthAVX2 {
		most = most.And(sizeAVX2(loadAVX2(a, i)).LessEqual(numberAVX2(angleMost)))
	}
	near := most.ToBits() == 1<<widthAVX2-1
	archsimd.ClearAVXUpperBits()
	return !near
}

func quarterAVX2(dst, a *block, size int, turns int64) {
	for i := 0; i < size; i += widthAVX2 {
		x, magic := loadAVX2(a, i), numberAVX2(rounder)
		n := x.Mul(numberAVX2(perRight)).Add(magic)
		turns := n.AsInt64x4().Add(bitsAVX2(turns))
		n = n.Sub(magic)
		r := x.Sub(n.Mul(numberAVX2(right1))).Sub(n.Mul(numberAVX2(right2))).Sub(n.Mul(numberAVX2(right3)))
		z := r.Mul(r)
		p := sinTermsAVX2.at(5).Mul(z).Add(sinTermsAVX2.at(4))
		p = p.Mul(z).Add(sinTermsAVX2.at(3))
		p = p.Mul(z).Add(sinTermsAVX2.at(2))
		p = p.Mul(z).Add(sinTermsAVX2.at(1))
		p = p.Mul(z).Add(sinTermsAVX2.at(0))
		sine := r.Add(z.Mul(r).Mul(p))
		p = cosTermsAVX2.at(5).Mul(z).Add(cosTermsAVX2.at(4))
		p = p.Mul(z).Add(cosTermsAVX2.at(3))
		p = p.Mul(z).Add(cosTermsAVX2.at(2))
		p = p.Mul(z).Add(cosTermsAVX2.at(1))
		p = p.Mul(z).Add(cosTermsAVX2.at(0))
		half := z.Mul(numberAVX2(0.5))
		w := numberAVX2(1).Sub(half)
		cosine := w.Add(numberAVX2(1).Sub(w).Sub(half).Add(z.Mul(z.Mul(p))))
		even := turns.ShiftAllLeft(63).Equal(archsimd.Int64x4{})
		sign := turns.ShiftAllLeft(62).And(bitsAVX2(math.MinInt64))
		storeAVX2(dst, i, sine.Merge(cosine, even).AsInt64x4().Xor(sign).AsFloat64x4())
	}
	archsimd.ClearAVXUpperBits()
}

func tanhAVX2(dst, a, _, _ *block, n int) {
	for i := 0; i < n; i += widthAVX2 {
		x := loadAVX2(a, i)
		size := sizeAVX2(x)
		s := x.Mul(x)
		p := tanhAboveAVX2.at(0).Mul(s).Add(tanhAboveAVX2.at(1)).Mul(s).Add(tanhAboveAVX2.at(2))
		q := s.Add(tanhBelowAVX2.at(0)).Mul(s).Add(tanhBelowAVX2.at(1)).Mul(s).Add(tanhBelowAVX2.at(2))
		bounded := numberAVX2(tanhMost).Merge(size, size.Greater(numberAVX2(tanhMost)))
		e := exponentialAVX2(bounded.Add(bounded))
		// Both cases are a sum and a quotient, so that one division serves.
		small := size.Less(numberAVX2(tanhSmall))
		sign := x.AsInt64x4().And(bitsAVX2(math.MinInt64))
		first := x.Merge(numberAVX2(1).AsInt64x4().Or(sign).AsFloat64x4(), small)
		above := x.Mul(s).Mul(p).Merge(numberAVX2(-2).AsInt64x4().Xor(sign).AsFloat64x4(), small)
		below := q.Merge(e.Add(numberAVX2(1)), small)
		storeAVX2(dst, i, first.Add(above.Div(below)))
	}
	archsimd.ClearAVXUpperBits()
}
