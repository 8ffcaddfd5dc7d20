package gibbs

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Coefficients write, at points (x, y), the drift [n, 2] and the diffusion σ [n, 4], row after
// row.
type Coefficients func(drift, diffusion, x, y []float64)

// Plane is the law of an equation in the plane.
type Plane struct {
	at      Coefficients
	sigma   [4]float64
	a       [4]float64 // A = σσᵀ
	inverse [4]float64 // A⁻¹
	centre  [2]float64 // where log π is 0
}

const (
	// looked bounds the states at which an equation is tried, at even distances.
	looked = 1 << 10
	// mostCurl is the curl that passes for none, in parts of the root mean square derivative of
	// the field. Differences have errors of 1e-7 of it.
	mostCurl = 1e-3
	// apart is the step of a difference, in deviations of the states. Where the curl is not 0 it is
	// taken again so far beside, since a difference across a kink is none.
	apart, beside = 1e-6, 1e-3
	// mostApart is how far log π by two paths may differ, where it is near its maximum, and per
	// unit below.
	mostApart = 0.02
)

// NewPlane recognises the law at the states x [n, 2], where it will be needed. An ErrNone says in
// words why the equation has none: the diffusion is not constant or not invertible, the drift is
// no gradient, or too rough for the quadrature.
func NewPlane(at Coefficients, x []float64) (*Plane, error) {
	p := &Plane{at: at}
	stride := max(1, len(x)/2/looked)
	var px, py []float64
	for i := 0; i < len(x); i += 2 * stride {
		px, py = append(px, x[i]), append(py, x[i+1])
	}
	n := len(px)
	b, s := make([]float64, 2*n), make([]float64, 4*n)
	at(b, s, px, py)
	copy(p.sigma[:], s)
	for i := range n {
		for _, v := range [...]float64{b[2*i], b[2*i+1], s[4*i], s[4*i+1], s[4*i+2], s[4*i+3]} {
			if v-v != 0 {
				return nil, because("a drift or a diffusion is not finite at (%.3g, %.3g)", px[i], py[i])
			}
		}
		for k, v := range s[4*i : 4*i+4] {
			if math.Abs(v-p.sigma[k]) > 1e-9*math.Abs(p.sigma[k])+1e-12 {
				return nil, because("the diffusion is not constant: it is %.3g at (%.3g, %.3g) and %.3g at (%.3g, %.3g)", p.sigma[k], px[0], py[0], v, px[i], py[i])
			}
		}
	}
	m := p.sigma
	p.a = [4]float64{m[0]*m[0] + m[1]*m[1], m[0]*m[2] + m[1]*m[3], m[0]*m[2] + m[1]*m[3], m[2]*m[2] + m[3]*m[3]}
	det := p.a[0]*p.a[3] - p.a[1]*p.a[2]
	if !(det > 1e-12*(p.a[0]+p.a[3])*(p.a[0]+p.a[3])) {
		return nil, because("the noise does not act in all directions")
	}
	p.inverse = [4]float64{p.a[3] / det, -p.a[1] / det, -p.a[2] / det, p.a[0] / det}
	spread := 0.0
	for i := range n {
		p.centre[0] += px[i] / float64(n)
		p.centre[1] += py[i] / float64(n)
	}
	for i := range n {
		spread += (math.Pow(px[i]-p.centre[0], 2) + math.Pow(py[i]-p.centre[1], 2)) / float64(2*n)
	}
	if err := p.curl(px, py, math.Max(math.Sqrt(spread), 1e-6)); err != nil {
		return nil, err
	}
	return p, p.paths(px, py)
}

// curl fails where 2A⁻¹b is no gradient.
func (p *Plane) curl(x, y []float64, spread float64) error {
	curls, square := p.curls(x, y, apart*spread, 0)
	again, _ := p.curls(x, y, apart*spread, beside*spread)
	most, worst := 0.0, 0
	for i, c := range curls {
		if math.Abs(again[i]) < math.Abs(c) {
			c = again[i]
		}
		if math.Abs(c) > math.Abs(most) || math.IsNaN(c) {
			most, worst = c, i
		}
	}
	if math.Abs(most) <= mostCurl*math.Sqrt(square) {
		return nil
	}
	if scalar := p.a[0] == p.a[3] && p.a[1] == 0; scalar {
		return because("the drift is not a gradient: its curl is %.2g at (%.3g, %.3g)", most*p.a[0]/2, x[worst], y[worst])
	}
	return because("the drift is not that of a potential under this diffusion: the curl of 2(σσᵀ)⁻¹b is %.2g at (%.3g, %.3g)", most, x[worst], y[worst])
}

// curls are those of 2A⁻¹b beside the points, and the mean square of its derivatives, by
// differences of step h.
func (p *Plane) curls(x, y []float64, h, beside float64) (curls []float64, square float64) {
	moved := func(dx, dy float64) []float64 {
		at := make([]float64, 2*len(x))
		for i := range x {
			at[2*i], at[2*i+1] = x[i]+beside+dx, y[i]+beside+dy
		}
		return p.gradient(at)
	}
	east, west, north, south := moved(h, 0), moved(-h, 0), moved(0, h), moved(0, -h)
	for i := range x {
		var d [4]float64 // ∂x and ∂y of both coordinates
		for k := range 2 {
			d[k], d[2+k] = (east[2*i+k]-west[2*i+k])/(2*h), (north[2*i+k]-south[2*i+k])/(2*h)
			square += (d[k]*d[k] + d[2+k]*d[2+k]) / float64(len(x))
		}
		curls = append(curls, d[1]-d[2])
	}
	return curls, square
}

// paths fails where log π depends on the path: along a ray from the centre, or along the axes.
func (p *Plane) paths(x, y []float64) error {
	n := len(x)
	ends, corner := make([]float64, 2*n), make([]float64, 2*n)
	for i := range x {
		ends[2*i], ends[2*i+1] = x[i], y[i]
		corner[2*i], corner[2*i+1] = x[i], p.centre[1]
	}
	centre := make([]float64, 2*n)
	for i := range n {
		centre[2*i], centre[2*i+1] = p.centre[0], p.centre[1]
	}
	ray, first, second := p.along(centre, ends, rayPanels), p.along(centre, corner, rayPanels), p.along(corner, ends, rayPanels)
	top := math.Inf(-1)
	for _, v := range ray {
		top = math.Max(top, v)
	}
	for i, v := range ray {
		if d := math.Abs(first[i] + second[i] - v); !(d <= mostApart*(1+top-v)) {
			return because("the drift has no potential, or is too rough for one: two paths to (%.3g, %.3g) give densities that differ by a factor of %.2g", x[i], y[i], math.Exp(d))
		}
	}
	return nil
}

// rayPanels are those of the quadrature along a ray.
const rayPanels = 8

// rule is that of Gauss and Legendre of 8 points on [0, 1].
var rule = func() (r struct{ nodes, weights [8]float64 }) {
	quad.Legendre{}.FixedLocations(r.nodes[:], r.weights[:], 0, 1)
	return r
}()

// gradient is ∇ log π = 2A⁻¹b at states x [n, 2].
func (p *Plane) gradient(x []float64) []float64 {
	n := len(x) / 2
	px, py := make([]float64, n), make([]float64, n)
	for i := range n {
		px[i], py[i] = x[2*i], x[2*i+1]
	}
	g, s := make([]float64, 2*n), make([]float64, 4*n)
	p.at(g, s, px, py)
	for i := 0; i < len(g); i += 2 {
		u, v := 2*g[i], 2*g[i+1]
		g[i], g[i+1] = p.inverse[0]*u+p.inverse[1]*v, p.inverse[2]*u+p.inverse[3]*v
	}
	return g
}

// along is ∫ ∇ log π · dx on the segments from states to states, by that many panels.
func (p *Plane) along(from, to []float64, panels int) []float64 {
	n := len(from) / 2
	sums, at := make([]float64, n), make([]float64, len(from))
	for k := range panels {
		for j, node := range rule.nodes {
			u := (float64(k) + node) / float64(panels)
			for i, v := range from {
				at[i] = v + u*(to[i]-v)
			}
			g := p.gradient(at)
			for i := range sums {
				along := g[2*i]*(to[2*i]-from[2*i]) + g[2*i+1]*(to[2*i+1]-from[2*i+1])
				sums[i] += rule.weights[j] / float64(panels) * along
			}
		}
	}
	return sums
}

// Dim is 2.
func (*Plane) Dim() int { return 2 }

// At integrates log π along rays from the centre, by the rule of 8 points on 8 panels.
func (p *Plane) At(x []float64) Points {
	centre := make([]float64, len(x))
	for i := range centre {
		centre[i] = p.centre[i%2]
	}
	return Points{X: x, Log: p.along(centre, x, rayPanels), Gradient: p.gradient(x)}
}

// The rule of Lobatto of five points on [0, 1]: its ends are given, and its error is of the
// eighth order in the length of the segment.
var (
	inner   = [...]float64{0.5 - math.Sqrt(3./7)/2, 0.5, 0.5 + math.Sqrt(3./7)/2}
	weights = [...]float64{49. / 180, 32. / 90, 49. / 180}
)

const endWeight = 1. / 20

// Next integrates along the segments between the states.
func (p *Plane) Next(from Points, x []float64) Points {
	to := Points{X: x, Log: make([]float64, len(x)/2), Gradient: p.gradient(x)}
	at := make([]float64, len(x))
	add := func(g []float64, weight float64) {
		for i := range to.Log {
			to.Log[i] += weight * (g[2*i]*(x[2*i]-from.X[2*i]) + g[2*i+1]*(x[2*i+1]-from.X[2*i+1]))
		}
	}
	add(from.Gradient, endWeight)
	add(to.Gradient, endWeight)
	for k, u := range inner {
		for i, v := range from.X {
			at[i] = v + u*(x[i]-v)
		}
		add(p.gradient(at), weights[k])
	}
	for i, v := range from.Log {
		to.Log[i] += v
	}
	return to
}

// Noise multiplies by σ.
func (p *Plane) Noise(z []float64) { multiply(z, z, p.sigma) }

// Drift is ½A of the gradient.
func (p *Plane) Drift(drift, gradient []float64) {
	a := p.a
	for k := range a {
		a[k] /= 2
	}
	multiply(drift, gradient, a)
}

// multiply writes Mv for every row of v [n, 2].
func multiply(dst, v []float64, m [4]float64) {
	for i := 0; i < len(v); i += 2 {
		x, y := v[i], v[i+1]
		dst[i], dst[i+1] = m[0]*x+m[1]*y, m[2]*x+m[3]*y
	}
}

// Quadratic is uᵀA⁻¹u.
func (p *Plane) Quadratic(u []float64) float64 {
	return p.inverse[0]*u[0]*u[0] + 2*p.inverse[1]*u[0]*u[1] + p.inverse[3]*u[1]*u[1]
}
