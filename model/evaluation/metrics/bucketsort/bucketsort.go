// Package bucketsort sorts numbers that are spread over their range, as
// projections and distances are, in time linear in their number. It puts n numbers
// into n equal buckets and sorts each bucket by comparison. Where numbers cluster
// in few buckets it takes the time of an ordinary sort.
package bucketsort

import (
	"math"
	"slices"
)

// Sorter keeps its memory from one sort to the next. The zero value is ready. A
// Sorter is for one goroutine at a time.
type Sorter struct {
	ends []int32
}

// Sort puts the numbers of src, which are finite, into dst in rising order. It
// panics unless the two are equally long; they must not overlap.
func (s *Sorter) Sort(dst, src []float64) {
	if len(dst) != len(src) {
		panic("bucketsort: lengths differ")
	}
	if len(src) == 0 {
		return
	}
	lo, hi := src[0], src[0]
	for _, v := range src {
		if v < lo { // quicker than min and max, which handle NaN and −0
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	last := len(src) - 1
	scale := float64(last) / (hi - lo)
	if !(scale > 0 && scale <= math.MaxFloat64) || len(src) > math.MaxInt32 { // equal, or too close or too far for the quotient
		copy(dst, src)
		slices.Sort(dst)
		return
	}
	s.ends = slices.Grow(s.ends[:0], len(src)+1)[:len(src)+1]
	clear(s.ends)
	bucket := func(v float64) int { return min(int((v-lo)*scale), last) }
	for _, v := range src {
		s.ends[bucket(v)+1]++
	}
	for b := range last {
		s.ends[b+1] += s.ends[b]
	}
	for _, v := range src { // ends hold starts here, which move up to the ends
		b := bucket(v)
		dst[s.ends[b]] = v
		s.ends[b]++
	}
	start := int32(0)
	for _, end := range s.ends[:len(src)] {
		if end-start > 1 {
			sortShort(dst[start:end])
		}
		start = end
	}
}

// sortShort sorts a bucket, mostly of a few numbers: by insertion, which is
// quicker there than a call of slices.Sort.
func sortShort(v []float64) {
	if len(v) > 12 {
		slices.Sort(v)
		return
	}
	for i := 1; i < len(v); i++ {
		x, j := v[i], i
		for ; j > 0 && v[j-1] > x; j-- {
			v[j] = v[j-1]
		}
		v[j] = x
	}
}
