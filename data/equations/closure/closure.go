// Package closure approximates the mean and the covariance of an equation's invariant law without
// simulation, and gives the equation coordinates in which that law is near N(0, I).
//
// For any law, d/dt m = E b and d/dt C = E(b·δᵀ) + E(δ·bᵀ) + E SSᵀ with δ = x − m. The Gaussian
// closure takes these means over N(m, C) instead (for example Särkkä and Solin 2019, Applied
// Stochastic Differential Equations, 9.1). It is exact for linear equations. Elsewhere, and where
// it has not come to rest, it is merely a better place to begin than the same law for all
// equations: any invertible map does.
package closure

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// Full is the largest dimension with coordinates along oblique axes: networks read the diffusion
// in these, d² numbers.
const Full = 16

const (
	mostSteps = 200
	// part is how far a step goes, in the time in which the fastest direction relaxes.
	part = 0.5
	rest = 1e-3 // change in that time at which it has come to rest, in deviations
	// floor keeps the covariance positive, relative to that of the start.
	floor = 1e-6
	// The box says where the law is expected: the search ends where the mean would leave it, or a
	// deviation pass a third of its width.
	widest = 2 // of a deviation, in those of the start
	// boxDeviations is how many deviations of the start a box is wide.
	boxDeviations = 6
)

// Base is an affine map x = Mean + Factor·z, where x are the coordinates of package lift: those of
// the states, where the domain has no ends.
type Base struct {
	Mean   []float64
	Factor []float64  // [d, d], lower triangular, with a positive diagonal
	Domain sde.Domain // of the states
}

// Of is the base of an equation: the mean and a root of the covariance of its Gaussian closure, in
// more than Full dimensions the deviations alone. It is the same on every machine with the same
// kind of processor.
//
// Of a coordinate on a circle it is the middle of that and the deviation of the uniform law, for all
// equations: a normal law says nothing of a circle, and probes then are everywhere on it. The same
// holds between two reflecting ends, there and back. Beside one such end the mean is the end, since
// the equation behind it is the mirror image.
func Of(s sde.Space) Base {
	c := newSearch(lift.Of(s), mirrors(s.Domain))
	for range mostSteps {
		if done := c.step(); done {
			break
		}
	}
	b := c.base()
	b.Domain = s.Domain
	return b
}

// mirrors are the reflecting ends beside which coordinates live, NaN for others.
func mirrors(d sde.Domain) []float64 {
	ends := make([]float64, len(d))
	for k, r := range d {
		switch ends[k] = math.NaN(); {
		case r.Ends != sde.Reflecting:
		case math.IsInf(r.Hi, 0):
			ends[k] = r.Lo
		case math.IsInf(r.Lo, 0):
			ends[k] = r.Hi
		}
	}
	return ends
}

// search is the closure on its way from N(middle of the box, widths/6).
type search struct {
	d, n   int
	points []float64 // [n, d], standard normal: mean 0 and covariance I, exactly
	mean   []float64
	cov    *mat.SymDense
	factor mat.Cholesky
	first  []float64 // deviations of the start
	centre []float64
	// still has the coordinates whose mean does not move and that are correlated with none, round
	// those whose deviation does not either.
	still, round []bool

	x                []*[sde.Lanes]float64
	evaluate         func(n int)
	drift, diffusion []*[sde.Lanes]float64
}

// newSearch begins for an equation without ends, with the mirrors of coordinates.
func newSearch(s sde.Space, mirrors []float64) *search {
	d := s.Dim()
	c := &search{d: d, still: make([]bool, d), round: make([]bool, d), n: max(2*sde.Lanes, 4*d), mean: make([]float64, d), cov: mat.NewSymDense(d, nil), x: s.Blocks()}
	c.evaluate, c.drift, c.diffusion = s.Bind("", c.x)
	c.points = standardPoints(c.n, d)
	for k, b := range s.Box {
		c.mean[k] = (b.Lo + b.Hi) / 2
		c.first = append(c.first, (b.Hi-b.Lo)/boxDeviations)
		c.round[k] = s.Domain.At(k).Ends == sde.Joined
		if c.round[k] {
			c.first[k] = (b.Hi - b.Lo) / math.Sqrt(12)
		}
		c.still[k] = c.round[k]
		if k < len(mirrors) && !math.IsNaN(mirrors[k]) {
			c.still[k], c.mean[k] = true, mirrors[k]
		}
		c.cov.SetSym(k, k, c.first[k]*c.first[k])
	}
	c.centre = append(c.centre, c.mean...)
	c.factor.Factorize(c.cov)
	return c
}

// standardPoints are pairs ±ξ of normal points, transformed so that their covariance is I.
func standardPoints(n, d int) []float64 {
	rng, half := random.New(1, "closure", uint64(d)), mat.NewDense(n/2, d, nil)
	half.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, half)
	var gram mat.Dense
	gram.Mul(half.T(), half)
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			cov.SetSym(i, j, 2*gram.At(i, j)/float64(n))
		}
	}
	var root mat.Cholesky
	if !root.Factorize(cov) {
		panic("closure: fewer points than dimensions")
	}
	var lower mat.TriDense
	root.LTo(&lower)
	points := make([]float64, n*d)
	for i := range n / 2 {
		z := solve(&lower, half.RawRowView(i))
		for k, v := range z {
			points[2*i*d+k], points[(2*i+1)*d+k] = v, -v
		}
	}
	return points
}

// solve is L⁻¹v.
func solve(lower *mat.TriDense, v []float64) []float64 {
	z := make([]float64, len(v))
	for i := range v {
		sum := v[i]
		for j := range i {
			sum -= lower.At(i, j) * z[j]
		}
		z[i] = sum / lower.At(i, i)
	}
	return z
}

// step moves mean and covariance along the closure, and reports whether they rest or have to stop.
func (c *search) step() (done bool) {
	d := c.d
	var lower mat.TriDense
	c.factor.LTo(&lower)
	push, slope, noise := c.means(&lower)
	var inverse mat.TriDense
	if inverse.InverseTri(&lower) != nil {
		return true
	}
	var k mat.Dense // E b·ξᵀ·L⁻¹, the mean slope of the drift
	k.Mul(mat.NewDense(d, d, slope), &inverse)
	fastest := mat.Norm(&k, math.Inf(1))
	if !(fastest > 0) || math.IsInf(fastest, 0) {
		return true
	}
	// A linear equation with that slope, for the time h: δ ← exp(hK)δ, with the noise of the time by
	// Simpson's rule.
	h := part / fastest
	var half, move, next mat.Dense
	k.Scale(h/2, &k)
	half.Exp(&k)
	move.Mul(&half, &half)
	spread := mat.NewDense(d, d, noise)
	spread.Scale(h/6, spread)
	next.Add(spread, c.cov)
	next = *carried(&move, &next)
	next.Add(&next, spread)
	spread.Scale(4, spread)
	next.Add(&next, carried(&half, spread))
	cov, mean, change := mat.NewSymDense(d, nil), make([]float64, d), 0.
	for r := range d {
		mean[r] = c.mean[r] + h*push[r]
		for q := range d { // h·(1 + hK/2)·E b
			mean[r] += h * k.At(r, q) * push[q]
		}
		if c.still[r] {
			mean[r] = c.mean[r]
		}
		deviation := math.Sqrt(c.cov.At(r, r))
		change = max(change, math.Abs(mean[r]-c.mean[r])/deviation)
		for q := range r + 1 {
			v := (next.At(r, q) + next.At(q, r)) / 2
			switch {
			case r != q && (c.still[r] || c.still[q]):
				v = 0
			case r == q && c.round[r]:
				v = c.cov.At(r, r)
			case r == q:
				v += floor * c.first[r] * c.first[r]
				change = max(change, math.Abs(math.Sqrt(v)-deviation)/deviation)
			}
			cov.SetSym(r, q, v)
		}
		half, most := boxDeviations/2*c.first[r], widest*c.first[r]
		if !(math.Abs(mean[r]-c.centre[r]) < half) || !(cov.At(r, r) < most*most) {
			return true
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(cov) {
		return true
	}
	c.mean, c.cov, c.factor = mean, cov, factor
	return change < rest*part
}

// carried is M·C·Mᵀ.
func carried(m, c *mat.Dense) *mat.Dense {
	var left, all mat.Dense
	left.Mul(m, c)
	all.Mul(&left, m.T())
	return &all
}

// means are E b, E b·ξᵀ and E SSᵀ over N(m, LLᵀ).
func (c *search) means(lower *mat.TriDense) (push, slope, noise []float64) {
	d := c.d
	push, slope, noise = make([]float64, d), make([]float64, d*d), make([]float64, d*d)
	factor := make([]float64, d*d)
	for r := range d {
		for k := range r + 1 {
			factor[r*d+k] = lower.At(r, k)
		}
	}
	terms, weight := make([]float64, len(c.diffusion)), 1/float64(c.n)
	for first := 0; first < c.n; first += sde.Lanes {
		count := min(sde.Lanes, c.n-first)
		points := c.points[first*d:][:count*d]
		for l := range count {
			for r := range d {
				x := c.mean[r]
				for k, f := range factor[r*d:][:r+1] {
					x += float64(f * points[l*d+k])
				}
				c.x[r][l] = x
			}
		}
		c.evaluate(count)
		for l := range count {
			for r := range d {
				b := weight * c.drift[r][l]
				push[r] += b
				for k, v := range points[l*d:][:d] {
					slope[r*d+k] += float64(b * v)
				}
			}
			for k, block := range c.diffusion {
				terms[k] = block[l]
			}
			addSpread(noise, terms, d, weight)
		}
	}
	return push, slope, noise
}

// addSpread adds SSᵀ with a weight.
func addSpread(noise, terms []float64, d int, weight float64) {
	if len(terms) == d*d && d > 1 {
		for k, v := range sde.Spread(terms, d) {
			noise[k] += float64(weight * v)
		}
		return
	}
	for r := range d {
		s := terms[min(r, len(terms)-1)]
		noise[r*d+r] += float64(weight * float64(s*s))
	}
}

func (c *search) base() Base {
	b := Base{Mean: c.mean, Factor: make([]float64, c.d*c.d)}
	b.setFactor(c.cov, &c.factor)
	return b
}

// setFactor sets the root of a covariance, in more than Full dimensions the deviations alone.
func (b Base) setFactor(cov *mat.SymDense, factor *mat.Cholesky) {
	var lower mat.TriDense
	factor.LTo(&lower)
	d := len(b.Mean)
	for r := range d {
		if d > Full {
			b.Factor[r*d+r] = math.Sqrt(cov.At(r, r))
			continue
		}
		for k := range r + 1 {
			b.Factor[r*d+k] = lower.At(r, k)
		}
	}
}
