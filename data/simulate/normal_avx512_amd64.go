//go:build goexperiment.simd && amd64

package simulate

import "simd/archsimd"

// inverseColumns has the coefficients of one power for all segments, as two
// vectors. A permutation takes the index modulo 32, so the columns begin where
// the half-octave's number does: segment i is at (i + firstHalf) mod 32.
var inverseColumns = func() (columns [4][2][16]float32) {
	for i, c := range inverse {
		at := (i + firstHalf) & segmentMask
		for p, v := range c {
			columns[p][at/16][at%16] = v
		}
	}
	return columns
}()

// fillAVX512 is fill for sixteen lanes at once. A group that meets a tail, one
// in 256, is done again by the plain code.
func fillAVX512(n *normals, active int) {
	for first := 0; first < active; first += 16 {
		if !n.cubicsAVX512(first) {
			n.fillLanes(first, first+16)
		}
	}
	archsimd.ClearAVXUpperBits()
}

// cubicsAVX512 makes the normals of sixteen lanes as if there were no tails.
// If there was one it says false and leaves the generators as they were.
func (n *normals) cubicsAVX512(first int) bool {
	s0 := archsimd.LoadUint32x16((*[16]uint32)(n.s0[first:]))
	s1 := archsimd.LoadUint32x16((*[16]uint32)(n.s1[first:]))
	s2 := archsimd.LoadUint32x16((*[16]uint32)(n.s2[first:]))
	s3 := archsimd.LoadUint32x16((*[16]uint32)(n.s3[first:]))
	magnitude := archsimd.BroadcastUint32x16(1<<31 - 1)
	tail := archsimd.BroadcastUint32x16(cubicFirst)
	below := archsimd.BroadcastUint32x16(belowHalf)
	one := archsimd.BroadcastUint32x16(0x3f800000)
	centre := archsimd.BroadcastFloat32x16(1.25)
	furthest := archsimd.BroadcastUint32x16(0) // of v − cubicFirst, which wraps for small v
	for k := first; k < len(n.values); k += lanes {
		r := s0.Add(s3)
		t := s1.ShiftAllLeft(9)
		s2 = s2.Xor(s0)
		s3 = s3.Xor(s1)
		s1 = s1.Xor(s2)
		s0 = s0.Xor(s3)
		s2 = s2.Xor(t)
		s3 = s3.RotateAllLeft(11)
		v := r.And(magnitude)
		furthest = furthest.Max(v.Sub(tail))
		b := v.AsInt32x16().ConvertToFloat32().AsUint32x16()
		d := b.And(below).Or(one).AsFloat32x16().Sub(centre)
		i := b.ShiftAllRight(22)
		x := column512(&inverseColumns[3], i)
		x = column512(&inverseColumns[2], i).Add(d.Mul(x))
		x = column512(&inverseColumns[1], i).Add(d.Mul(x))
		x = column512(&inverseColumns[0], i).Add(d.Mul(x))
		x.AsUint32x16().Xor(r.Xor(v)).AsFloat32x16().Store((*[16]float32)(n.values[k:]))
	}
	if furthest.GreaterEqual(archsimd.BroadcastUint32x16(cubicLast-cubicFirst)).ToBits() != 0 {
		return false
	}
	s0.Store((*[16]uint32)(n.s0[first:]))
	s1.Store((*[16]uint32)(n.s1[first:]))
	s2.Store((*[16]uint32)(n.s2[first:]))
	s3.Store((*[16]uint32)(n.s3[first:]))
	return true
}

// column512 looks sixteen indices modulo 32 up.
func column512(c *[2][16]float32, i archsimd.Uint32x16) archsimd.Float32x16 {
	return archsimd.LoadFloat32x16(&c[0]).ConcatPermute(archsimd.LoadFloat32x16(&c[1]), i)
}
