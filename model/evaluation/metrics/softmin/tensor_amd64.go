//go:build goexperiment.simd && amd64

package softmin

import "simd/archsimd"

// exps is expsPlain on the widest vectors that the processor has.
func exps(dst *panel, a, v *block, u *[gridStep]float64) {
	switch {
	case hasAVX512:
		expsAVX512(dst, a, v, u)
	case hasAVX2:
		expsAVX2(dst, a, v, u)
	default:
		expsPlain(dst, a, v, u)
	}
}

// expsAVX512 has the arithmetic of expSumAVX512.
func expsAVX512(dst *panel, a, v *block, u *[gridStep]float64) {
	c0, c1 := archsimd.BroadcastFloat64x8(floor2c0), archsimd.BroadcastFloat64x8(floor2c1)
	c2, c3 := archsimd.BroadcastFloat64x8(floor2c2), archsimd.BroadcastFloat64x8(floor2c3)
	c4, c5 := archsimd.BroadcastFloat64x8(floor2c4), archsimd.BroadcastFloat64x8(floor2c5)
	c6, c7 := archsimd.BroadcastFloat64x8(floor2c6), archsimd.BroadcastFloat64x8(floor2c7)
	for i, w := range u {
		uw := archsimd.BroadcastFloat64x8(w)
		for j := range dst {
			e := uw.MulAdd(archsimd.LoadFloat64x8((*[lanes]float64)(v[j*lanes:])), archsimd.LoadFloat64x8((*[lanes]float64)(a[j*lanes:])))
			f := e.FloorScaledResidue(0)
			p := c7.MulAdd(f, c6).MulAdd(f, c5).MulAdd(f, c4).MulAdd(f, c3).MulAdd(f, c2).MulAdd(f, c1).MulAdd(f, c0)
			p.Scale(e).Store(&dst[j][i])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// expsAVX2 has the arithmetic of expSumAVX2.
func expsAVX2(dst *panel, a, v *block, u *[gridStep]float64) {
	c0, c1 := archsimd.BroadcastFloat64x4(exp2c0), archsimd.BroadcastFloat64x4(exp2c1)
	c2, c3 := archsimd.BroadcastFloat64x4(exp2c2), archsimd.BroadcastFloat64x4(exp2c3)
	c4, c5 := archsimd.BroadcastFloat64x4(exp2c4), archsimd.BroadcastFloat64x4(exp2c5)
	c6, c7 := archsimd.BroadcastFloat64x4(exp2c6), archsimd.BroadcastFloat64x4(exp2c7)
	magic := archsimd.BroadcastFloat64x4(roundMagic)
	for i, w := range u {
		uw := archsimd.BroadcastFloat64x4(w)
		for j := 0; j < gridSources; j += 4 {
			e := uw.MulAdd(archsimd.LoadFloat64x4Slice(v[j:j+4]), archsimd.LoadFloat64x4Slice(a[j:j+4]))
			shifted := e.Add(magic)
			f := e.Sub(shifted.Sub(magic))
			p := c7.MulAdd(f, c6).MulAdd(f, c5).MulAdd(f, c4).MulAdd(f, c3).MulAdd(f, c2).MulAdd(f, c1).MulAdd(f, c0)
			bits := p.AsInt64x4().Add(shifted.AsInt64x4().ShiftAllLeft(52))
			bits.AsFloat64x4().StoreSlice(dst[j/lanes][i][j%lanes:][:4])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// multiply is multiplyPlain on vectors of four: memory bounds it, so wider ones gain
// nothing.
func multiply(dst, rows, factor *panel, row int) {
	if !hasAVX2 {
		multiplyPlain(dst, rows, factor, row)
		return
	}
	for j := range dst {
		low, high := archsimd.LoadFloat64x4Slice(factor[j][row][:4]), archsimd.LoadFloat64x4Slice(factor[j][row][4:])
		for i := range gridStep {
			archsimd.LoadFloat64x4Slice(rows[j][i][:4]).Mul(low).StoreSlice(dst[j][i][:4])
			archsimd.LoadFloat64x4Slice(rows[j][i][4:]).Mul(high).StoreSlice(dst[j][i][4:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// outer is outerPlain on the widest vectors that the processor has.
func outer(sums [][lanes]float64, columns int, left, right *panel) {
	_ = sums[2*columns+gridStep-1]
	switch {
	case hasAVX512:
		outerAVX512(&sums[0], columns, left, right)
	case hasAVX2:
		outerAVX2(sums, columns, left, right)
	default:
		outerPlain(sums, columns, left, right)
	}
}

// outerAVX512 is in assembly since the compiler moves each sum twice per product.
//
//go:noescape
func outerAVX512(sums *[lanes]float64, columns int, left, right *panel)

// outerAVX2 multiplies a row of left with three of right, with two sums each.
func outerAVX2(sums [][lanes]float64, columns int, left, right *panel) {
	for i := range gridStep {
		row := (*[gridStep][lanes]float64)(sums[i*columns:])
		s00, s01 := archsimd.LoadFloat64x4Slice(row[0][:4]), archsimd.LoadFloat64x4Slice(row[0][4:])
		s10, s11 := archsimd.LoadFloat64x4Slice(row[1][:4]), archsimd.LoadFloat64x4Slice(row[1][4:])
		s20, s21 := archsimd.LoadFloat64x4Slice(row[2][:4]), archsimd.LoadFloat64x4Slice(row[2][4:])
		for j := range left {
			x0, x1 := archsimd.LoadFloat64x4Slice(left[j][i][:4]), archsimd.LoadFloat64x4Slice(left[j][i][4:])
			y := &right[j]
			s00 = x0.MulAdd(archsimd.LoadFloat64x4Slice(y[0][:4]), s00)
			s01 = x1.MulAdd(archsimd.LoadFloat64x4Slice(y[0][4:]), s01)
			s10 = x0.MulAdd(archsimd.LoadFloat64x4Slice(y[1][:4]), s10)
			s11 = x1.MulAdd(archsimd.LoadFloat64x4Slice(y[1][4:]), s11)
			s20 = x0.MulAdd(archsimd.LoadFloat64x4Slice(y[2][:4]), s20)
			s21 = x1.MulAdd(archsimd.LoadFloat64x4Slice(y[2][4:]), s21)
		}
		s00.StoreSlice(row[0][:4])
		s01.StoreSlice(row[0][4:])
		s10.StoreSlice(row[1][:4])
		s11.StoreSlice(row[1][4:])
		s20.StoreSlice(row[2][:4])
		s21.StoreSlice(row[2][4:])
	}
	archsimd.ClearAVXUpperBits()
}
