package density

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// interval is a part of a grid cell, on which b and σ are linear.
type interval struct {
	start, width      float64
	drift, driftSlope float64 // at the start, per unit of x
	sigma, sigmaSlope float64
	phi               float64 // φ at the start
}

const (
	order    = 8 // points of the Gauss–Legendre rule, exact to degree 15
	maxPhase = 2 // change of φ over an interval
	// relevant is how far below its maximum log p may be before an interval is
	// negligible: exp(−80) is far below the rounding of the total mass.
	relevant     = 80
	maxDivisions = 1 << 16 // intervals in a cell
	maxIntervals = 1 << 20
)

// phases returns φ and σ at the quadrature nodes of the first t of the interval.
func (in *interval) phases(t float64) (phi, sigma [order]float64) {
	var slope [order]float64 // φ′ = 2b/σ²
	for j, node := range nodes {
		s := t * (1 + node) / 2
		sigma[j] = in.sigma + in.sigmaSlope*s
		slope[j] = 2 * (in.drift + in.driftSlope*s) / (sigma[j] * sigma[j])
	}
	for j := range phi {
		var sum float64
		for k, f := range slope {
			sum += antiderivative[j][k] * f
		}
		phi[j] = in.phi + t/2*sum
	}
	return phi, sigma
}

// phase returns φ and σ at distance t from the start.
func (in *interval) phase(t float64) (phi, sigma float64) {
	var sum float64
	for j, node := range nodes {
		s := t * (1 + node) / 2
		at := in.sigma + in.sigmaSlope*s
		sum += weights[j] * 2 * (in.drift + in.driftSlope*s) / (at * at)
	}
	return in.phi + t/2*sum, in.sigma + in.sigmaSlope*t
}

// divide cuts the grid's cells into intervals over which σ changes by at most half its
// smaller value and, where the density is not negligible, φ by at most maxPhase.
func divide(c sde.Coefficients) ([]interval, error) {
	cells := c.Grid.N - 1
	divisions, step, err := cellSteps(c)
	if err != nil {
		return nil, err
	}
	change := make([]float64, cells) // bound on ∫|φ′|
	peak := make([]float64, cells)   // bound on log p
	phi, top := anchor(c, step)
	for i := range cells {
		change[i] = steepest(c, i)
		least := float64(min(c.Diffusion[i], c.Diffusion[i+1]))
		peak[i] = max(phi[i], phi[i+1]) + change[i] - 2*math.Log(least)
	}
	total := 0
	for i := range cells {
		if peak[i] > top-relevant {
			parts := math.Ceil(change[i] / maxPhase)
			if parts > maxDivisions {
				return nil, tooSteep(c, i)
			}
			divisions[i] = max(divisions[i], int(parts))
		}
		if total += divisions[i]; total > maxIntervals {
			return nil, tooSteep(c, i)
		}
	}
	intervals := make([]interval, 0, total)
	for i := range cells {
		in, at := cell(c, i), phi[i]
		for _, part := range in.split(divisions[i]) {
			part.phi = at
			at, _ = part.phase(part.width)
			intervals = append(intervals, part)
		}
	}
	return intervals, nil
}

// cellSteps integrates φ′ over each of the grid's cells. It divides a cell into parts over
// which σ changes by at most half its smaller value.
func cellSteps(c sde.Coefficients) (divisions []int, step []float64, err error) {
	divisions, step = make([]int, c.Grid.N-1), make([]float64, c.Grid.N-1)
	for i := range step {
		s0, s1 := float64(c.Diffusion[i]), float64(c.Diffusion[i+1])
		steep := 2 * (max(s0, s1)/min(s0, s1) - 1)
		if steep > maxDivisions || math.IsInf(steepest(c, i), 0) {
			return nil, nil, tooSteep(c, i)
		}
		divisions[i] = max(1, int(math.Ceil(steep)))
		in := cell(c, i)
		for k := range divisions[i] {
			part := in.part(k, divisions[i])
			part.phi = step[i]
			step[i], _ = part.phase(part.width)
		}
	}
	return divisions, step, nil
}

// steepest bounds ∫|φ′| over cell i.
func steepest(c sde.Coefficients, i int) float64 {
	least := float64(min(c.Diffusion[i], c.Diffusion[i+1]))
	return (c.Grid.At(i+1) - c.Grid.At(i)) * 2 * max(math.Abs(float64(c.Drift[i])), math.Abs(float64(c.Drift[i+1]))) / (least * least)
}

// anchor sums the steps of φ over the cells, outwards from the node where log p is
// largest. So rounding is small where the mass is, however far φ falls. It returns φ at the
// nodes and the largest log p.
func anchor(c sde.Coefficients, step []float64) (phi []float64, top float64) {
	n := len(step) + 1
	logP := func(i int, phi float64) float64 { return phi - 2*math.Log(float64(c.Diffusion[i])) }
	at, sum := 0, 0.0
	top = logP(0, 0)
	for i, s := range step {
		sum += s
		if v := logP(i+1, sum); v > top {
			at, top = i+1, v
		}
	}
	phi = make([]float64, n)
	for i := at; i < n-1; i++ {
		phi[i+1] = phi[i] + step[i]
	}
	for i := at; i > 0; i-- {
		phi[i-1] = phi[i] - step[i-1]
	}
	return phi, logP(at, 0)
}

func tooSteep(c sde.Coefficients, i int) error {
	return fmt.Errorf("%w between x = %.6g and %.6g: drift %.6g to %.6g, diffusion %.6g to %.6g",
		ErrTooSteep, c.Grid.At(i), c.Grid.At(i+1), c.Drift[i], c.Drift[i+1], c.Diffusion[i], c.Diffusion[i+1])
}

// cell is grid cell i as one interval.
func cell(c sde.Coefficients, i int) interval {
	width := c.Grid.At(i+1) - c.Grid.At(i)
	return interval{
		start: c.Grid.At(i), width: width,
		drift: float64(c.Drift[i]), driftSlope: (float64(c.Drift[i+1]) - float64(c.Drift[i])) / width,
		sigma: float64(c.Diffusion[i]), sigmaSlope: (float64(c.Diffusion[i+1]) - float64(c.Diffusion[i])) / width,
	}
}

// split cuts the interval into n equal parts. The caller sets φ.
func (in interval) split(n int) []interval {
	parts := make([]interval, n)
	for k := range parts {
		parts[k] = in.part(k, n)
	}
	return parts
}

// part is the k-th of n equal parts of the interval. The caller sets φ.
func (in interval) part(k, n int) interval {
	t := in.width * float64(k) / float64(n)
	return interval{
		start: in.start + t, width: in.width*float64(k+1)/float64(n) - t,
		drift: in.drift + in.driftSlope*t, driftSlope: in.driftSlope,
		sigma: in.sigma + in.sigmaSlope*t, sigmaSlope: in.sigmaSlope,
	}
}

// nodes and weights are the Gauss–Legendre rule on [−1, 1];
// antiderivative[j][k] is ∫ from −1 to node j of the Lagrange polynomial of
// node k, so that the rule also integrates up to its own nodes; remainder[j][k] is
// −∫ from node j to 1. legendre gives the last two terms of the Legendre series, of P₆ and P₇.
var (
	nodes, weights            [order]float64
	antiderivative, remainder [order][order]float64
	legendre                  [2][order]float64
)

func init() {
	quad.Legendre{}.FixedLocations(nodes[:], weights[:], -1, 1)
	// ℓₖ = Σₙ (n+½) wₖ Pₙ(xₖ) Pₙ and ∫₋₁ˣ Pₙ = (Pₙ₊₁ − Pₙ₋₁)/(2n+1), P₋₁ = −1.
	var p [order][order + 1]float64
	for j, x := range nodes {
		p[j][0], p[j][1] = 1, x
		for n := 1; n < order; n++ {
			p[j][n+1] = (float64(2*n+1)*x*p[j][n] - float64(n)*p[j][n-1]) / float64(n+1)
		}
	}
	for j := range nodes {
		for k := range nodes {
			sum := weights[k] / 2 * (nodes[j] + 1)
			for n := 1; n < order; n++ {
				sum += weights[k] / 2 * p[k][n] * (p[j][n+1] - p[j][n-1])
			}
			antiderivative[j][k], remainder[j][k] = sum, sum-weights[k]
		}
		for i, n := range []int{order - 2, order - 1} {
			legendre[i][j] = (float64(n) + 0.5) * weights[j] * p[j][n]
		}
	}
}
