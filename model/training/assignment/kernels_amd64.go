//go:build goexperiment.simd && amd64

package assignment

import (
	"math"
	"simd/archsimd"
)

// widest is the widest instruction set of this processor.
func widest() instructions {
	switch {
	case archsimd.X86.AVX512():
		return avx512
	case archsimd.X86.AVX2():
		return avx2
	}
	return plain
}

// squaredDistances has the result of squaredDistancesPlain, bit for bit.
func squaredDistances(set instructions, row []float32, x, y []float64) {
	switch set {
	case avx512:
		squaredDistancesAVX512(row, x, y)
	case avx2:
		squaredDistancesAVX2(row, x, y)
	default:
		squaredDistancesPlain(row, x, y)
	}
}

// relax has the result of relaxPlain, bit for bit.
func relax(set instructions, distance []float64, from []int64, row []float32, v []float64, shift float64, i int) (least float64, at int) {
	switch set {
	case avx512:
		return relaxAVX512(distance, from, row, v, shift, i)
	case avx2:
		return relaxAVX2(distance, from, row, v, shift, i)
	}
	return relaxPlain(distance, from, row, v, shift, i)
}

// twoLeast has the result of twoLeastPlain, bit for bit.
func twoLeast(set instructions, row []float32, v []float64) (least float64, at int, second float64) {
	switch set {
	case avx512:
		return twoLeastAVX512(row, v)
	case avx2:
		return twoLeastAVX2(row, v)
	}
	return twoLeastPlain(row, v)
}

// first holds the columns of the first vector. Kernels count columns in float64, so
// that the same masks merge columns and distances.
var first = [lanes]float64{0, 1, 2, 3, 4, 5, 6, 7}

func squaredDistancesAVX512(row []float32, x, y []float64) {
	for j := 0; j+8 <= len(row); j += 8 {
		var sum archsimd.Float64x8
		at := j
		for _, v := range x {
			difference := archsimd.BroadcastFloat64x8(v).Sub(archsimd.LoadFloat64x8Slice(y[at : at+8]))
			sum = sum.Add(difference.Mul(difference))
			at += len(row)
		}
		sum.ConvertToFloat32().StoreSlice(row[j : j+8])
	}
	archsimd.ClearAVXUpperBits()
}

func squaredDistancesAVX2(row []float32, x, y []float64) {
	for j := 0; j+4 <= len(row); j += 4 {
		var sum archsimd.Float64x4
		at := j
		for _, v := range x {
			difference := archsimd.BroadcastFloat64x4(v).Sub(archsimd.LoadFloat64x4Slice(y[at : at+4]))
			sum = sum.Add(difference.Mul(difference))
			at += len(row)
		}
		sum.ConvertToFloat32().StoreSlice(row[j : j+4])
	}
	archsimd.ClearAVXUpperBits()
}

// relaxAVX512 keeps the least distance so far and its column in every lane.
func relaxAVX512(distance []float64, from []int64, row []float32, v []float64, shift float64, i int) (float64, int) {
	from, row, v = from[:len(distance)], row[:len(distance)], v[:len(distance)]
	shifts, rows := archsimd.BroadcastFloat64x8(shift), archsimd.BroadcastInt64x8(int64(i))
	least := archsimd.BroadcastFloat64x8(math.Inf(1))
	column, step := archsimd.LoadFloat64x8(&first), archsimd.BroadcastFloat64x8(8)
	at := column
	for j := 0; j+8 <= len(distance); j += 8 {
		old := archsimd.LoadFloat64x8Slice(distance[j : j+8])
		through := archsimd.LoadFloat32x8Slice(row[j : j+8]).ConvertToFloat64().
			Sub(archsimd.LoadFloat64x8Slice(v[j : j+8])).Sub(shifts)
		shorter := through.Less(old)
		now := through.Min(old)
		now.StoreSlice(distance[j : j+8])
		rows.StoreMasked((*[8]int64)(from[j:j+8]), shorter)
		better := now.Less(least)
		least = now.Min(least)
		at = column.Merge(at, better)
		column = column.Add(step)
	}
	value := least8(least)
	nearest := least8(at.Merge(archsimd.BroadcastFloat64x8(math.Inf(1)), least.Equal(value.Broadcast1To8())))
	var ends [2][2]float64
	value.Store(&ends[0])
	nearest.Store(&ends[1])
	archsimd.ClearAVXUpperBits()
	return ends[0][0], int(ends[1][0])
}

func relaxAVX2(distance []float64, from []int64, row []float32, v []float64, shift float64, i int) (float64, int) {
	from, row, v = from[:len(distance)], row[:len(distance)], v[:len(distance)]
	shifts, rows := archsimd.BroadcastFloat64x4(shift), archsimd.BroadcastInt64x4(int64(i))
	least := archsimd.BroadcastFloat64x4(math.Inf(1))
	column, step := archsimd.LoadFloat64x4((*[4]float64)(first[:4])), archsimd.BroadcastFloat64x4(4)
	at := column
	for j := 0; j+4 <= len(distance); j += 4 {
		old := archsimd.LoadFloat64x4Slice(distance[j : j+4])
		through := archsimd.LoadFloat32x4Slice(row[j : j+4]).ConvertToFloat64().
			Sub(archsimd.LoadFloat64x4Slice(v[j : j+4])).Sub(shifts)
		shorter := through.Less(old)
		now := through.Min(old)
		now.StoreSlice(distance[j : j+4])
		rows.StoreMasked((*[4]int64)(from[j:j+4]), shorter)
		better := now.Less(least)
		least = now.Min(least)
		at = column.Merge(at, better)
		column = column.Add(step)
	}
	value := least4(least)
	nearest := least4(at.Merge(archsimd.BroadcastFloat64x4(math.Inf(1)), least.Equal(value.Broadcast1To4())))
	var ends [2][2]float64
	value.Store(&ends[0])
	nearest.Store(&ends[1])
	archsimd.ClearAVXUpperBits()
	return ends[0][0], int(ends[1][0])
}

// least8 has the least of eight lanes in both of its lanes. It is no number, since Go 1.26 moves numbers
// into vectors by instructions of SSE, which on some processors take hundreds of cycles while the upper
// halves of registers are in use (docs/decisions/formula-kernels.md).
func least8(x archsimd.Float64x8) archsimd.Float64x2 { return least4(x.GetLo().Min(x.GetHi())) }

// least4 has the least of four lanes in both of its lanes.
func least4(x archsimd.Float64x4) archsimd.Float64x2 {
	pair := x.GetLo().Min(x.GetHi())
	return pair.Min(pair.SelectFromPair(1, 0, pair))
}

// twoLeastAVX512 keeps the two least values and the column of the first in every lane.
func twoLeastAVX512(row []float32, v []float64) (float64, int, float64) {
	v = v[:len(row)]
	least := archsimd.BroadcastFloat64x8(math.Inf(1))
	second := least
	column, step := archsimd.LoadFloat64x8(&first), archsimd.BroadcastFloat64x8(8)
	at := column
	for j := 0; j+8 <= len(row); j += 8 {
		reduced := archsimd.LoadFloat32x8Slice(row[j : j+8]).ConvertToFloat64().Sub(archsimd.LoadFloat64x8Slice(v[j : j+8]))
		better := reduced.Less(least)
		second = second.Min(least.Max(reduced))
		least = reduced.Min(least)
		at = column.Merge(at, better)
		column = column.Add(step)
	}
	value := least8(least)
	nearest := least8(at.Merge(archsimd.BroadcastFloat64x8(math.Inf(1)), least.Equal(value.Broadcast1To8())))
	// The second least is the second of the lane that has the least, or the first of
	// another lane.
	next := least8(second.Merge(least, at.Equal(nearest.Broadcast1To8())))
	var ends [3][2]float64
	value.Store(&ends[0])
	nearest.Store(&ends[1])
	next.Store(&ends[2])
	archsimd.ClearAVXUpperBits()
	return ends[0][0], int(ends[1][0]), ends[2][0]
}

func twoLeastAVX2(row []float32, v []float64) (float64, int, float64) {
	v = v[:len(row)]
	least := archsimd.BroadcastFloat64x4(math.Inf(1))
	second := least
	column, step := archsimd.LoadFloat64x4((*[4]float64)(first[:4])), archsimd.BroadcastFloat64x4(4)
	at := column
	for j := 0; j+4 <= len(row); j += 4 {
		reduced := archsimd.LoadFloat32x4Slice(row[j : j+4]).ConvertToFloat64().Sub(archsimd.LoadFloat64x4Slice(v[j : j+4]))
		better := reduced.Less(least)
		second = second.Min(least.Max(reduced))
		least = reduced.Min(least)
		at = column.Merge(at, better)
		column = column.Add(step)
	}
	value := least4(least)
	nearest := least4(at.Merge(archsimd.BroadcastFloat64x4(math.Inf(1)), least.Equal(value.Broadcast1To4())))
	// The second least is the second of the lane that has the least, or the first of
	// another lane.
	next := least4(second.Merge(least, at.Equal(nearest.Broadcast1To4())))
	var ends [3][2]float64
	value.Store(&ends[0])
	nearest.Store(&ends[1])
	next.Store(&ends[2])
	archsimd.ClearAVXUpperBits()
	return ends[0][0], int(ends[1][0]), ends[2][0]
}
