package certificate

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Plane is an equation in the plane: At writes, at the points (x, y), the drift [n, 2] and the
// diffusion [n, 4], row after row.
type Plane struct {
	At func(drift, diffusion, x, y []float64)
}

// Dim is 2.
func (Plane) Dim() int { return 2 }

// Space is the same equation with a box, the square of a grid.
func (p Plane) Space(grid sde.Grid) sde.Space {
	side := sde.Interval{Lo: grid.Lo, Hi: grid.Hi}
	return sde.InPlane(p.At, side, side)
}

// OfPlane is an equation given at the nodes of a grid.
func OfPlane(p sde.Plane) Plane {
	return Plane{p.Coefficients}
}

// OfFormulas is an equation of two formulas of the drift in x and y, and one, two or four of
// the diffusion: σ of σ·I, a diagonal, or a matrix row after row.
func OfFormulas(drift, diffusion []*expression.Expression) Plane {
	places := map[int][]int{1: {0}, 2: {0, 3}, 4: {0, 1, 2, 3}}[len(diffusion)]
	return Plane{func(b, s, x, y []float64) {
		values := make([]float64, len(x))
		put := func(e *expression.Expression, to []float64, width, at int) {
			e.EvalIn(values, x, y)
			for i, v := range values {
				to[width*i+at] = v
			}
		}
		for c, e := range drift {
			put(e, b, 2, c)
		}
		clear(s)
		for k, e := range diffusion {
			put(e, s, 4, places[k])
			if len(diffusion) == 1 {
				put(e, s, 4, 3)
			}
		}
	}}
}

// inPlane are the functions of the test in the plane, with u = (x − mean)/s and v the same of y.
var inPlane = []string{"x", "y", "½x²", "xy", "½y²", "tanh u", "tanh v", "sin u", "sin v", "sin(u+v)", "sin(u−v)", "cos(u+v)", "cos(u−v)"}

// test is the generator test. The natural rate of f is
//
//	Σ_c ½E(σσᵀ)_cc · rms(∂_c f) / s_c
//
// over the axes c, s_c being the deviation of the samples: that of Line, along each axis.
// Where noise does not act along an axis, as on positions of underdamped Langevin dynamics,
// its rate ½E(σσᵀ)_cc/s_c² is the mean of both.
func (p Plane) test(x []float32, effective float64) (checks []Check) {
	n := len(x) / 2
	px, py := make([]float64, n), make([]float64, n)
	for i := range n {
		px[i], py[i] = float64(x[2*i]), float64(x[2*i+1])
	}
	b, s := make([]float64, 2*n), make([]float64, 4*n)
	p.At(b, s, px, py)
	count := 0.
	finite := func(i int) bool {
		a := b[2*i] + b[2*i+1] + s[4*i] + s[4*i+1] + s[4*i+2] + s[4*i+3]
		return a-a == 0
	}
	var mean, square, half [2]float64 // half is ½E(σσᵀ)_cc
	for i := range n {
		if !finite(i) {
			continue
		}
		count++
		mean[0] += px[i]
		mean[1] += py[i]
		half[0] += (s[4*i]*s[4*i] + s[4*i+1]*s[4*i+1]) / 2
		half[1] += (s[4*i+2]*s[4*i+2] + s[4*i+3]*s[4*i+3]) / 2
	}
	if missing := 1 - count/float64(n); missing > 0 {
		checks = append(checks, check(values, "values", missing, 0, fmt.Sprintf("at %s of the samples a drift or a diffusion is not finite", percent(missing))))
	}
	if count == 0 {
		return checks
	}
	for c := range 2 {
		mean[c] /= count
		half[c] /= count
	}
	for i := range n {
		if finite(i) {
			square[0] += (px[i] - mean[0]) * (px[i] - mean[0]) / count
			square[1] += (py[i] - mean[1]) * (py[i] - mean[1]) / count
		}
	}
	if !(square[0] > 0 && square[1] > 0) {
		return append(checks, check(broken, "samples", 1, 0, "all samples are equal along an axis"))
	}
	rates := naturalRates(half[:], square[:])
	s0, s1 := math.Sqrt(square[0]), math.Sqrt(square[1])
	var sums [13]planeSums
	for i := range n {
		if !finite(i) {
			continue
		}
		b0, b1 := b[2*i], b[2*i+1]
		m := s[4*i:][:4]
		axx, axy, ayy := (m[0]*m[0]+m[1]*m[1])/2, (m[0]*m[2]+m[1]*m[3])/2, (m[2]*m[2]+m[3]*m[3])/2
		d, e := px[i]-mean[0], py[i]-mean[1]
		u, v := d/s0, e/s1
		sums[0].add(b0, 1, 0)
		sums[1].add(b1, 0, 1)
		sums[2].add(b0*d+axx, d, 0)
		sums[3].add(b0*e+b1*d+2*axy, e, d)
		sums[4].add(b1*e+ayy, 0, e)
		t := math.Tanh(u)
		slope := (1 - t*t) / s0
		sums[5].add(b0*slope-2*axx*t*slope/s0, slope, 0)
		t = math.Tanh(v)
		slope = (1 - t*t) / s1
		sums[6].add(b1*slope-2*ayy*t*slope/s1, 0, slope)
		sinU, cosU := math.Sincos(u)
		sinV, cosV := math.Sincos(v)
		// f = g(k·z): Lf = g′ b·k + g″ kᵀ(½σσᵀ)k.
		wave := func(at int, kx, ky, sin, cos float64) {
			drift, noise := b0*kx+b1*ky, axx*kx*kx+2*axy*kx*ky+ayy*ky*ky
			sums[at].add(drift*cos-noise*sin, kx*cos, ky*cos)
			if at >= 9 {
				sums[at+2].add(-drift*sin-noise*cos, kx*sin, ky*sin)
			}
		}
		wave(7, 1/s0, 0, sinU, cosU)
		wave(8, 0, 1/s1, sinV, cosV)
		wave(9, 1/s0, 1/s1, sinU*cosV+cosU*sinV, cosU*cosV-sinU*sinV)
		wave(10, 1/s0, -1/s1, sinU*cosV-cosU*sinV, cosU*cosV+sinU*sinV)
	}
	share := effective * count / float64(n)
	for k, name := range inPlane {
		scale := rates[0]*s0*math.Sqrt(sums[k].gradient/count) + rates[1]*s1*math.Sqrt(sums[k].along/count)
		checks = append(checks, sums[k].check(name, count, share, scale))
	}
	return checks
}

// planeSums are sums whose gradient is that along x; along is that along y.
type planeSums struct {
	sums
	along float64
}

func (s *planeSums) add(lf, dx, dy float64) {
	s.sums.add(lf, dx)
	s.along += dy * dy
}

// idle is the part of the fastest rate below which noise does not act along an axis.
const idle = 1e-3

// naturalRates are ½E(σσᵀ)_cc/s_c², and the mean of all where that is next to nothing.
func naturalRates(half, square []float64) []float64 {
	rates := make([]float64, len(half))
	var mean, most float64
	for c := range half {
		rates[c] = half[c] / square[c]
		mean += rates[c] / float64(len(half))
		most = max(most, rates[c])
	}
	for c, r := range rates {
		if r < idle*most {
			rates[c] = mean
		}
	}
	return rates
}
