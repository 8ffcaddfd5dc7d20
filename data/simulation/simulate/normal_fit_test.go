package simulate

import (
	"math"
	"testing"
)

// exactNormal is Φ⁻¹(1−(v+½)/2³²), the value that normal approximates.
func exactNormal(v float64) float64 {
	return math.Sqrt2 * math.Erfinv(1-2*(v+0.5)/(1<<32))
}

// fitInverse interpolates exactNormal on every half-octave of v at the four
// Chebyshev points, as a cubic in v.
func fitInverse() (table [segments][4]float64) {
	for i := range table {
		octave := float64(cubicFirst) * math.Exp2(float64(i/2))
		var nodes, values [4]float64
		for k := range nodes {
			nodes[k] = 1.25 + 0.5*float64(i%2) + 0.25*math.Cos(math.Pi*(float64(k)+0.5)/4)
			values[k] = exactNormal(octave * nodes[k])
		}
		table[i] = interpolateCubic(nodes, values)
		for p := range table[i] {
			table[i][p] /= math.Pow(octave, float64(p))
		}
	}
	return table
}

// interpolateCubic returns monomial coefficients by Newton's divided differences.
func interpolateCubic(x, y [4]float64) (c [4]float64) {
	for j := 1; j < 4; j++ {
		for k := 3; k >= j; k-- {
			y[k] = (y[k] - y[k-1]) / (x[k] - x[k-j])
		}
	}
	for k := 3; k >= 0; k-- { // c ← c·(d−x[k]) + y[k]
		var next [4]float64
		for p := 3; p >= 0; p-- {
			next[p] = -x[k] * c[p]
			if p > 0 {
				next[p] += c[p-1]
			}
		}
		next[0] += y[k]
		c = next
	}
	return c
}

func TestNormalTable(t *testing.T) {
	for i, want := range fitInverse() {
		for p, v := range want {
			if got := float64(inverse[i][p]); !(math.Abs(got-v) <= 2e-7*math.Abs(v)) {
				t.Errorf("segment %d: coefficient %d is %v, the fit gives %v", i, p, got, v)
			}
		}
	}
}

// The documented error, on a dense set of v in every half-octave, its ends
// included, and in the tail; the sign bit only flips the sign.
func TestNormalError(t *testing.T) {
	n := new(normals)
	normal := func(r uint32) float32 { // the generator's first output is s0 + s3
		n.s0[0], n.s1[0], n.s2[0], n.s3[0] = r, 1, 1, 0
		n.fill(1)
		return n.values[0]
	}
	check := func(v uint32, tolerance float64) {
		got, want := float64(normal(v)), exactNormal(float64(v))
		if !(math.Abs(got-want) <= tolerance) {
			t.Fatalf("v = %d: %v, want %v ± %.2g", v, got, want, tolerance)
		}
		if mirrored := float64(normal(v | 1<<31)); mirrored != -got {
			t.Fatalf("v = %d: %v becomes %v with the sign bit", v, got, mirrored)
		}
	}
	for i := range segments {
		lo := uint32(cubicFirst<<(i/2)) / 2 * uint32(2+i%2)
		width := uint32(cubicFirst << (i / 2) / 2)
		for k := range uint32(2000) {
			check(lo+uint32(uint64(k)*uint64(width)/2000), 2.6e-5)
		}
		check(lo+width-1, 2.6e-5)
	}
	for v := range uint32(cubicFirst) {
		check(v, 1e-6)
	}
	check(1<<31-1, 2.6e-5)
}

// What the error of the inverse does to the law: χ² per normal in cells of Φ(ξ)
// is Σ(pᵢ−p)²/p. Cubics meet with a jump, which narrow cells show.
func TestInverseInCells(t *testing.T) {
	longStatistics(t)
	const stride = 61
	fine := make([]int, 1<<16)
	count := 0
	for v := uint32(cubicFirst); v < 1<<31; v += stride {
		c, f := segment(v)
		fine[rank(cubic(c, f, v))]++
		count++
	}
	for cells, limit := range map[int]float64{1 << 8: 2.4e-7, 1 << 12: 1.2e-6, 1 << 16: 1.8e-5} {
		p := 2 / float64(cells) // in the upper half, where all these normals are
		var sum float64
		for _, n := range coarser(fine, cells)[cells/2 : cells-2] { // without the tail of q < 2⁻¹⁷
			sum += (float64(n)/float64(count) - p) * (float64(n)/float64(count) - p) / p
		}
		t.Logf("%d cells: %.3g", cells, sum)
		if !(sum <= limit) {
			t.Errorf("χ² in %d cells grows by %.3g per normal, want at most %.3g", cells, sum, limit)
		}
	}
}
