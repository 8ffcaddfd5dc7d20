//go:build goexperiment.simd && amd64

package softmin

import "simd/archsimd"

// cosines is cosinesPlain on the widest vectors that the processor has.
func cosines(dst, value []float64, n int) {
	if !hasAVX512 {
		cosinesPlain(dst, value, n)
		return
	}
	cosinesAVX512(dst, value, n)
}

// cosinesAVX512 takes three rows at once.
func cosinesAVX512(dst, value []float64, n int) {
	c, rest := &chebyshevs[n], len(value)/n
	for r := 0; r+gridStep <= rest; r += gridStep {
		for m := 0; m < n; m += lanes {
			var s0, s1, s2 archsimd.Float64x8
			for k := range n {
				w := archsimd.LoadFloat64x8((*[lanes]float64)(c.cosine[k*c.stride+m:]))
				v := (*[gridStep]float64)(value[k*rest+r:])
				s0 = archsimd.BroadcastFloat64x8(v[0]).MulAdd(w, s0)
				s1 = archsimd.BroadcastFloat64x8(v[1]).MulAdd(w, s1)
				s2 = archsimd.BroadcastFloat64x8(v[2]).MulAdd(w, s2)
			}
			for i, s := range [gridStep]archsimd.Float64x8{s0, s1, s2} {
				var row [lanes]float64
				s.Store(&row)
				copy(dst[(r+i)*n+m:(r+i+1)*n], row[:])
			}
		}
	}
	archsimd.ClearAVXUpperBits()
}

// extend is extendPlain on the widest vectors that the processor has.
func (p *polynomials) extend(terms int) {
	if !hasAVX512 {
		p.extendPlain(terms)
		return
	}
	p.extendAVX512(terms)
}

func (p *polynomials) extendAVX512(terms int) {
	const half = gridTargets / 2
	one := archsimd.BroadcastFloat64x8(1)
	for _, lo := range [...]int{0, half} {
		before, now := one, archsimd.LoadFloat64x8((*[half]float64)(p[1][lo:]))
		twice := now.Add(now)
		before.Store((*[half]float64)(p[0][lo:]))
		for m := 2; m < terms; m++ {
			before, now = now, twice.Mul(now).Sub(before)
			now.Store((*[half]float64)(p[m][lo:]))
		}
	}
	archsimd.ClearAVXUpperBits()
}

// evaluate is evaluatePlain on the widest vectors that the processor has.
func (g *grid) evaluate(sums *[gridTargets]float64, terms [gridAxes]int) {
	if !hasAVX512 {
		g.evaluatePlain(sums, terms)
		return
	}
	g.evaluateAVX512(sums, terms)
}

// evaluateAVX512 takes three rows of coefficients at once.
func (g *grid) evaluateAVX512(sums *[gridTargets]float64, terms [gridAxes]int) {
	const half = gridTargets / 2
	var sum0, sum1 archsimd.Float64x8
	for m0 := range terms[0] {
		var plane0, plane1 archsimd.Float64x8
		for m1 := 0; m1 < terms[1]; m1 += gridStep {
			at := (m0*g.nodes[1] + m1) * g.nodes[2]
			row0 := g.value[at:][:terms[2]]
			row1 := g.value[at+g.nodes[2]:][:len(row0)]
			row2 := g.value[at+2*g.nodes[2]:][:len(row0)]
			var s00, s01, s10, s11, s20, s21 archsimd.Float64x8
			polynomial := g.polynomial[2][:len(row0)]
			for m2 := range row0 {
				p := &polynomial[m2]
				p0, p1 := archsimd.LoadFloat64x8((*[half]float64)(p[:])), archsimd.LoadFloat64x8((*[half]float64)(p[half:]))
				c := archsimd.BroadcastFloat64x8(row0[m2])
				s00, s01 = c.MulAdd(p0, s00), c.MulAdd(p1, s01)
				c = archsimd.BroadcastFloat64x8(row1[m2])
				s10, s11 = c.MulAdd(p0, s10), c.MulAdd(p1, s11)
				c = archsimd.BroadcastFloat64x8(row2[m2])
				s20, s21 = c.MulAdd(p0, s20), c.MulAdd(p1, s21)
			}
			q := (*[gridStep][gridTargets]float64)(g.polynomial[1][m1:])
			plane0 = s00.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[0][:])), plane0)
			plane1 = s01.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[0][half:])), plane1)
			plane0 = s10.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[1][:])), plane0)
			plane1 = s11.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[1][half:])), plane1)
			plane0 = s20.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[2][:])), plane0)
			plane1 = s21.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(q[2][half:])), plane1)
		}
		if m0 == 0 {
			sum0, sum1 = plane0, plane1
			continue
		}
		p := &g.polynomial[0][m0]
		sum0 = plane0.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(p[:])), sum0)
		sum1 = plane1.MulAdd(archsimd.LoadFloat64x8((*[half]float64)(p[half:])), sum1)
	}
	sum0.Store((*[half]float64)(sums[:]))
	sum1.Store((*[half]float64)(sums[half:]))
	archsimd.ClearAVXUpperBits()
}
