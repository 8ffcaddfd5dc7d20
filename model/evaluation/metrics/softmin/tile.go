package softmin

import (
	"math"
	"unsafe"
)

// A tile is eight targets of one box, whose sums are taken together in float32,
// in the coordinates of space.go and in units of σ = √ε: the frame of the box. What
// cancels is subtracted in float64 beforehand. The exponents that matter are below
// ten for targets near the centre; for a target at tileReach they are differences of
// numbers of some hundreds, rounded to float32. So the relative error of a sum is
// 1e-4 at worst and mostly 1e-7. Errors of targets are independent, so S is right to
// about 1e-7 of ε.
const (
	tile    = 8
	lanes32 = 16 // sources are padded to a multiple of it

	tileTargets = 256      // most targets of a box: enough to pay for preparing its sources
	tileReach   = 12.0     // largest half diagonal of a box, in units of σ
	tileLargest = 1 << 110 // larger sums are near the largest float32
	tileLeast   = 0.5      // y* alone adds 1 to a sum; less comes from rounding exponents beyond 1e15
	tileCut     = 20.0     // sources that are dropped add less than 2^-20 of a sum
)

// leastExponent keeps sources' exponents within float32; any below −1000 would do.
const leastExponent = -1e30

// tiles holds the sources in a frame, in units of σ and log 2.
type tiles struct {
	a, v   []float32 // v[k*stride+j] along dimension k
	stride int
}

// expSumsPlain adds Σ_j 2^(a_j + Σ_k u_kt v_kj) over the sources j < n, a multiple
// of lanes32, to sums[t], spread over its lanes. v_kj is v[k*stride+j] and u_kt is
// u[k*tile+t]. Terms below 2^−126 may count as that; beyond float32 a sum becomes
// infinite or NaN.
//
// Kernels add sixteen terms in float32 and those sums in float64: where ε is large
// all terms are nearly 1, and longer sums in float32 would round in one direction.
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

// sumTiles sums at each target of a box, in tiles. It is false if a sum leaves the
// range of tileLeast to tileLargest; values at some targets are then arbitrary.
func (t task) sumTiles(s *scratch, from *sources, b *box, top float64, star []float64) bool {
	d, n, perSigma := t.To.d, t.To.n, 1/math.Sqrt(t.eps)
	var displacement [MaxDimension]float64
	var u [MaxDimension * tile]float32
	w := &s.tiles
	w.stride = from.n + lanes32
	w.a, w.v = resized(w.a, w.stride), resized(w.v, w.stride*d)
	t.frame(w, from, top, b.centre, star)
	kept := pad(w.a, w.v, w.stride, from.n, d, lanes32)
	for first := b.lo; first < b.hi; first += tile {
		count := min(tile, b.hi-first)
		for k := range d {
			x := t.To.x[k*n+first : k*n+first+count]
			for i := range tile { // repeats the last target in a tile of fewer than eight
				u[k*tile+i] = float32((x[min(i, count-1)] - b.centre[k]) * perSigma)
			}
		}
		var sums [tile][lanes32]float64
		expSums(&sums, &w.a[0], &w.v[0], &u[0], w.stride, kept, d)
		for i := range count {
			sum := addLanes(&sums[i])
			if !(sum > tileLeast && sum < tileLargest) {
				return false
			}
			for k := range d {
				displacement[k] = t.To.x[k*n+first+i] - b.centre[k]
			}
			t.Dst[first+i] = t.untilt(sum, top, displacement[:d], star, b.centre)
		}
	}
	return true
}

// framePlain sets a_j and v_j of the sources j ≥ first.
func (t task) framePlain(w *tiles, from *sources, first int, top float64, centre, star []float64) {
	curvature, perSigma := math.Log2E/(2*t.eps), math.Log2E/math.Sqrt(t.eps)
	for j := first; j < from.n; j++ {
		var square float64
		for k, p := range star {
			y := from.x[k*from.stride+j]
			z := y - centre[k]
			square += z * z
			w.v[k*w.stride+j] = float32((y - p) * perSigma)
		}
		w.a[j] = float32(max(from.exponent[j]-curvature*square-top, leastExponent))
	}
}

// addLanes is the sum of the lanes, added in pairs.
func addLanes(x *[lanes32]float64) float64 {
	for width := lanes32 / 2; width > 0; width /= 2 {
		for i := range width {
			x[i] += x[i+width]
		}
	}
	return x[0]
}
