//go:build goexperiment.simd && amd64

package simulate

import (
	"simd/archsimd"
	"unsafe"
)

// advanceAVX512 is advance for sixteen lanes at once: by permutations of
// registers if the cells fit there, otherwise by loads.
func advanceAVX512(t *table, x *[lanes]float32, active int, z []float32) bool {
	groups := (active + 15) / 16
	if t.columns != nil {
		t.columnsAVX512(x, groups, z)
	} else {
		t.rowsAVX512(x, groups, z)
	}
	limit, minus := archsimd.BroadcastFloat32x16(bound), archsimd.BroadcastFloat32x16(-bound)
	var inside uint16 = 1<<16 - 1
	for g := range groups {
		v := archsimd.LoadFloat32x16((*[16]float32)(x[16*g:]))
		inside &= v.Less(limit).ToBits() & v.Greater(minus).ToBits()
	}
	archsimd.ClearAVXUpperBits()
	return inside == 1<<16-1
}

// columnsAVX512 steps with up to 64 cells.
func (t *table) columnsAVX512(x *[lanes]float32, groups int, z []float32) {
	scale, offset := archsimd.BroadcastFloat32x16(t.scale), archsimd.BroadcastFloat32x16(t.offset)
	top, bottom := archsimd.BroadcastFloat32x16(t.top), archsimd.BroadcastFloat32x16(-0.5)
	shift, half := archsimd.BroadcastFloat32x16(magic), archsimd.BroadcastFloat32x16(magic+32)
	c := t.columns
	for ; len(z) >= lanes; z = z[lanes:] {
		row := (*[lanes]float32)(z)
		for g := range groups {
			at := (*[16]float32)(x[16*g:])
			v := archsimd.LoadFloat32x16(at)
			u := v.Mul(scale).Add(offset).Min(top).Max(bottom)
			m := u.Add(shift)
			d := u.Sub(m.Sub(shift))
			i, upper := m.AsUint32x16(), m.GreaterEqual(half)
			drift := column64(&c.drift, i, upper).Add(d.Mul(column64(&c.driftSlope, i, upper)))
			noise := column64(&c.noise, i, upper).Add(d.Mul(column64(&c.noiseSlope, i, upper)))
			v.Add(drift.Add(noise.Mul(archsimd.LoadFloat32x16((*[16]float32)(row[16*g:]))))).Store(at)
		}
	}
}

// column64 looks sixteen indices modulo 64 up; upper marks those from 32 on.
func column64(c *[maxColumns]float32, i archsimd.Uint32x16, upper archsimd.Mask32x16) archsimd.Float32x16 {
	lo := archsimd.LoadFloat32x16((*[16]float32)(c[0:])).ConcatPermute(archsimd.LoadFloat32x16((*[16]float32)(c[16:])), i)
	hi := archsimd.LoadFloat32x16((*[16]float32)(c[32:])).ConcatPermute(archsimd.LoadFloat32x16((*[16]float32)(c[48:])), i)
	return hi.Merge(lo, upper)
}

// rowsAVX512 steps with any number of cells: the four numbers of a lane's cell
// are one load, and sixteen such rows are transposed within registers.
func (t *table) rowsAVX512(x *[lanes]float32, groups int, z []float32) {
	scale, offset := archsimd.BroadcastFloat32x16(t.scale), archsimd.BroadcastFloat32x16(t.offset)
	top, bottom := archsimd.BroadcastFloat32x16(t.top), archsimd.BroadcastFloat32x16(-0.5)
	shift := archsimd.BroadcastFloat32x16(magic)
	first := archsimd.BroadcastUint32x16(magicBits)
	cells := unsafe.Pointer(unsafe.SliceData(t.cells))
	var offsets [16]uint32
	for ; len(z) >= lanes; z = z[lanes:] {
		row := (*[lanes]float32)(z)
		for g := range groups {
			at := (*[16]float32)(x[16*g:])
			v := archsimd.LoadFloat32x16(at)
			u := v.Mul(scale).Add(offset).Min(top).Max(bottom)
			m := u.Add(shift)
			d := u.Sub(m.Sub(shift))
			m.AsUint32x16().Sub(first).ShiftAllLeft(4).Store(&offsets) // in bytes: a cell has 16
			r0 := rows512(cells, offsets[0], offsets[4], offsets[8], offsets[12])
			r1 := rows512(cells, offsets[1], offsets[5], offsets[9], offsets[13])
			r2 := rows512(cells, offsets[2], offsets[6], offsets[10], offsets[14])
			r3 := rows512(cells, offsets[3], offsets[7], offsets[11], offsets[15])
			a, b := r0.InterleaveLoGrouped(r1).AsUint64x8(), r2.InterleaveLoGrouped(r3).AsUint64x8()
			drift := a.InterleaveLoGrouped(b).AsFloat32x16().Add(d.Mul(a.InterleaveHiGrouped(b).AsFloat32x16()))
			a, b = r0.InterleaveHiGrouped(r1).AsUint64x8(), r2.InterleaveHiGrouped(r3).AsUint64x8()
			noise := a.InterleaveLoGrouped(b).AsFloat32x16().Add(d.Mul(a.InterleaveHiGrouped(b).AsFloat32x16()))
			v.Add(drift.Add(noise.Mul(archsimd.LoadFloat32x16((*[16]float32)(row[16*g:]))))).Store(at)
		}
	}
}

// rows512 loads four cells. Their offsets come from clamped values, so they
// are inside the table whatever the states are.
func rows512(cells unsafe.Pointer, i, j, k, l uint32) archsimd.Uint32x16 {
	var r archsimd.Uint32x16
	return r.SetLo(rows256(cells, i, j)).SetHi(rows256(cells, k, l))
}
