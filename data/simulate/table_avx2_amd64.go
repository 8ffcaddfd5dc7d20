//go:build goexperiment.simd && amd64

package simulate

import (
	"simd/archsimd"
	"unsafe"
)

// advanceAVX2 is advance for eight lanes at once.
func advanceAVX2(t *table, x *[lanes]float32, active int, z []float32) bool {
	groups := (active + 7) / 8
	t.rowsAVX2(x, groups, z)
	limit, minus := archsimd.BroadcastFloat32x8(bound), archsimd.BroadcastFloat32x8(-bound)
	var inside uint8 = 1<<8 - 1
	for g := range groups {
		v := archsimd.LoadFloat32x8((*[8]float32)(x[8*g:]))
		inside &= v.Less(limit).ToBits() & v.Greater(minus).ToBits()
	}
	archsimd.ClearAVXUpperBits()
	return inside == 1<<8-1
}

// rowsAVX2 steps with any number of cells: the four numbers of a lane's cell
// are one load, and eight such rows are transposed within registers.
func (t *table) rowsAVX2(x *[lanes]float32, groups int, z []float32) {
	scale, offset := archsimd.BroadcastFloat32x8(t.scale), archsimd.BroadcastFloat32x8(t.offset)
	top, bottom := archsimd.BroadcastFloat32x8(t.top), archsimd.BroadcastFloat32x8(-0.5)
	shift := archsimd.BroadcastFloat32x8(magic)
	first := archsimd.BroadcastUint32x8(magicBits)
	cells := unsafe.Pointer(unsafe.SliceData(t.cells))
	var offsets [8]uint32
	for ; len(z) >= lanes; z = z[lanes:] {
		row := (*[lanes]float32)(z)
		for g := range groups {
			at := (*[8]float32)(x[8*g:])
			v := archsimd.LoadFloat32x8(at)
			u := v.Mul(scale).Add(offset).Min(top).Max(bottom)
			m := u.Add(shift)
			d := u.Sub(m.Sub(shift))
			m.AsUint32x8().Sub(first).ShiftAllLeft(4).Store(&offsets) // in bytes: a cell has 16
			r0 := rows256(cells, offsets[0], offsets[4])
			r1 := rows256(cells, offsets[1], offsets[5])
			r2 := rows256(cells, offsets[2], offsets[6])
			r3 := rows256(cells, offsets[3], offsets[7])
			a, b := r0.InterleaveLoGrouped(r1).AsUint64x4(), r2.InterleaveLoGrouped(r3).AsUint64x4()
			drift := a.InterleaveLoGrouped(b).AsFloat32x8().Add(d.Mul(a.InterleaveHiGrouped(b).AsFloat32x8()))
			a, b = r0.InterleaveHiGrouped(r1).AsUint64x4(), r2.InterleaveHiGrouped(r3).AsUint64x4()
			noise := a.InterleaveLoGrouped(b).AsFloat32x8().Add(d.Mul(a.InterleaveHiGrouped(b).AsFloat32x8()))
			v.Add(drift.Add(noise.Mul(archsimd.LoadFloat32x8((*[8]float32)(row[8*g:]))))).Store(at)
		}
	}
}

// rows256 loads two rows of four numbers, offsets in bytes. The offsets that
// kernels compute come from clamped values, so they are inside the table
// whatever the states are.
func rows256(table unsafe.Pointer, i, j uint32) archsimd.Uint32x8 {
	var r archsimd.Uint32x8
	return r.SetLo(archsimd.LoadUint32x4((*[4]uint32)(unsafe.Add(table, uintptr(i))))).
		SetHi(archsimd.LoadUint32x4((*[4]uint32)(unsafe.Add(table, uintptr(j)))))
}
