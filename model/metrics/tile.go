package metrics

import (
	"math"
	"unsafe"
)

// A tile is eight targets of one box, whose sums are taken together in float32,
// in the coordinates of softmin_space.go and in units of σ = √ε. Sources are
// taken by whole groups. All that cancels is subtracted in float64 before, so the
// exponents that matter are below a hundred and mostly below ten: a sum is right
// to 1e-4 of itself at worst and to 1e-7 mostly, and since errors of targets are
// independent, S is right to about 1e-7 of ε.
const (
	tile    = 8
	lanes32 = 16 // sources are padded to a multiple of it

	tileTargets = 256 // most targets of a box: enough to pay for preparing its sources
	tileReach   = 8.0 // its half diagonal, in units of σ: 2^46 at that distance from y*
	tileLargest = 1 << 60
	tileCut     = 20.0 // what is dropped is less than 2^-20 of a sum
)

// leastExponent bounds those of sources for float32; any below −1000 would do.
const leastExponent = -1e30

// tiles holds the sources as tiles take them, in units of σ and log 2.
type tiles struct {
	a, v   []float32 // v[k*stride+j] along dimension k
	stride int
}

// expSumsPlain adds to the lanes of sums[t] what adds up to
// Σ_j 2^(a_j + Σ_k u_kt v_kj) over the sources j < n, a multiple of lanes32. v_kj
// is v[k*stride+j] and u_kt is u[k*tile+t]. Terms below 2^−126 may count as that;
// beyond float32 a sum becomes infinite or not a number.
//
// Kernels leave float32 after sixteen terms: where ε is large all terms are
// nearly 1, and adding them up further rounds always the same way.
func expSumsPlain(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int) {
	as, vs, us := unsafe.Slice(a, n), unsafe.Slice(v, (d-1)*stride+n), unsafe.Slice(u, d*tile)
	for t := range sums {
		for j, e := range as {
			for k := range d {
				e += us[k*tile+t] * vs[k*stride+j]
			}
			sums[t][j%lanes32] += exp2(min(max(float64(e), -126), 200))
		}
	}
}

// runTiles sums at each of the targets of a box, in tiles. It is false if a sum
// leaves the range where float32 is good: values at some targets are then
// arbitrary.
func (t task) runTiles(s *scratch, b *box) bool {
	d, n, perSigma := t.to.d, t.to.n, 1/math.Sqrt(t.eps)
	var star, displacement [MaxDimension]float64
	var u [MaxDimension * tile]float32
	w := &s.tiles
	kept, top := t.prepareTiles(s, b, star[:d])
	for first := b.lo; first < b.hi; first += tile {
		count := min(tile, b.hi-first)
		for k := range d {
			x := t.to.x[k*n+first : k*n+first+count]
			for i := range tile { // the last target again in place of those that are missing
				u[k*tile+i] = float32((x[min(i, count-1)] - b.centre[k]) * perSigma)
			}
		}
		var sums [tile][lanes32]float64
		expSums(&sums, &w.a[0], &w.v[0], &u[0], w.stride, kept, d)
		for i := range count {
			sum := addLanes(&sums[i])
			if !(sum < tileLargest) {
				return false
			}
			for k := range d {
				displacement[k] = t.to.x[k*n+first+i] - b.centre[k]
			}
			t.dst[first+i] = t.untilt(sum, top, displacement[:d], star[:d], b.centre)
		}
	}
	return true
}

// prepareTiles leaves a_j and v_j = (y_j−y*)/σ of the groups of sources that
// matter, padded, and returns their number and A; it writes y* to star.
func (t task) prepareTiles(s *scratch, b *box, star []float64) (kept int, top float64) {
	w, d, n := &s.tiles, len(star), t.from.n
	w.stride = n + lanes32
	w.a, w.v = resized(w.a, w.stride), resized(w.v, w.stride*d)
	top = t.dominant(s, b, star)
	cut := tileCut + math.Log2(float64(n))
	groups := t.from.groups
	for k := 0; k < len(groups); k++ {
		first := k
		for k < len(groups) && t.matters(s.bounds[k], top, cut, b, &groups[k], star) {
			k++
		}
		if k > first {
			lo, hi := groups[first].lo, groups[k-1].hi
			t.frame(w, kept, lo, hi, top, b.centre, star)
			kept += hi - lo
		}
	}
	return pad(w.a, w.v, w.stride, kept, d, lanes32), top
}

// framePlain sets a_j and v_j of the sources lo ≤ j < hi, from place at on.
func (t task) framePlain(w *tiles, at, lo, hi int, top float64, centre, star []float64) {
	curvature, perSigma := math.Log2E/(2*t.eps), math.Log2E/math.Sqrt(t.eps)
	for j := lo; j < hi; j++ {
		var square float64
		for k, p := range star {
			y := t.from.x[k*t.from.n+j]
			z := y - centre[k]
			square += z * z
			w.v[k*w.stride+at+j-lo] = float32((y - p) * perSigma)
		}
		w.a[at+j-lo] = float32(max(t.exponent[j]-curvature*square-top, leastExponent))
	}
}

// addLanes is the sum of the lanes, in pairs.
func addLanes(x *[lanes32]float64) float64 {
	for width := lanes32 / 2; width > 0; width /= 2 {
		for i := range width {
			x[i] += x[i+width]
		}
	}
	return x[0]
}
