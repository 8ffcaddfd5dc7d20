//go:build goexperiment.simd && amd64

package simulate

import (
	"simd/archsimd"
	"unsafe"
)

// fillAVX2 is fill for eight lanes at once. A group that meets a tail, one in
// 512, is done again by the plain code.
func fillAVX2(n *normals, active int) {
	for first := 0; first < active; first += 8 {
		if !n.cubicsAVX2(first) {
			n.fillLanes(first, first+8)
		}
	}
	archsimd.ClearAVXUpperBits()
}

// cubicsAVX2 makes the normals of eight lanes as if there were no tails. If
// there was one it says false and leaves the generators as they were.
func (n *normals) cubicsAVX2(first int) bool {
	s0 := archsimd.LoadUint32x8((*[8]uint32)(n.s0[first:]))
	s1 := archsimd.LoadUint32x8((*[8]uint32)(n.s1[first:]))
	s2 := archsimd.LoadUint32x8((*[8]uint32)(n.s2[first:]))
	s3 := archsimd.LoadUint32x8((*[8]uint32)(n.s3[first:]))
	magnitude := archsimd.BroadcastUint32x8(1<<31 - 1)
	tail := archsimd.BroadcastUint32x8(cubicFirst)
	below := archsimd.BroadcastUint32x8(belowHalf)
	one := archsimd.BroadcastUint32x8(0x3f800000)
	centre := archsimd.BroadcastFloat32x8(1.25)
	bytes := archsimd.BroadcastUint32x8(16 * segmentMask)
	furthest := archsimd.BroadcastUint32x8(0) // of v − cubicFirst, which wraps for small v
	var offsets [8]uint32
	for k := first; k < len(n.values); k += lanes {
		r := s0.Add(s3)
		t := s1.ShiftAllLeft(9)
		s2 = s2.Xor(s0)
		s3 = s3.Xor(s1)
		s1 = s1.Xor(s2)
		s0 = s0.Xor(s3)
		s2 = s2.Xor(t)
		s3 = s3.ShiftAllLeft(11).Or(s3.ShiftAllRight(32 - 11))
		v := r.And(magnitude)
		furthest = furthest.Max(v.Sub(tail))
		b := v.AsInt32x8().ConvertToFloat32().AsUint32x8()
		d := b.And(below).Or(one).AsFloat32x8().Sub(centre)
		b.ShiftAllRight(22 - 4).And(bytes).Store(&offsets) // rows of 16 bytes
		rows := unsafe.Pointer(&inverseRows)
		r0 := rows256(rows, offsets[0], offsets[4])
		r1 := rows256(rows, offsets[1], offsets[5])
		r2 := rows256(rows, offsets[2], offsets[6])
		r3 := rows256(rows, offsets[3], offsets[7])
		even, odd := r0.InterleaveHiGrouped(r1).AsUint64x4(), r2.InterleaveHiGrouped(r3).AsUint64x4()
		x := even.InterleaveLoGrouped(odd).AsFloat32x8().Add(d.Mul(even.InterleaveHiGrouped(odd).AsFloat32x8()))
		even, odd = r0.InterleaveLoGrouped(r1).AsUint64x4(), r2.InterleaveLoGrouped(r3).AsUint64x4()
		x = even.InterleaveHiGrouped(odd).AsFloat32x8().Add(d.Mul(x))
		x = even.InterleaveLoGrouped(odd).AsFloat32x8().Add(d.Mul(x))
		x.AsUint32x8().Xor(r.Xor(v)).AsFloat32x8().Store((*[8]float32)(n.values[k:]))
	}
	// Unsigned a ≥ b is max(a, b) = a: AVX2 compares signed numbers only.
	if furthest.Max(archsimd.BroadcastUint32x8(cubicLast-cubicFirst)).Equal(furthest).ToBits() != 0 {
		return false
	}
	s0.Store((*[8]uint32)(n.s0[first:]))
	s1.Store((*[8]uint32)(n.s1[first:]))
	s2.Store((*[8]uint32)(n.s2[first:]))
	s3.Store((*[8]uint32)(n.s3[first:]))
	return true
}

// inverseRows is inverse in the order of inverseColumns.
var inverseRows = func() (rows [segments][4]float32) {
	for i, c := range inverse {
		rows[(i+firstHalf)&segmentMask] = c
	}
	return rows
}()
