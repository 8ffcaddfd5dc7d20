// Package exact tells the invariant law of an equation on the line, given as formulas: moments,
// quantiles, tails and the kinds of its ends, by quadrature of the density of the speed measure
// (package density). No number of it is from samples.
package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/ergoflow/ergoflow/data/equations/density"
)

// Law is an invariant law.
type Law struct {
	Summary
	line *density.Line
}

// Summary is the law in numbers. Moments that do not exist are nil.
type Summary struct {
	Mean     *float64 `json:"mean"`
	Variance *float64 `json:"variance"`
	Skewness *float64 `json:"skewness"`
	Kurtosis *float64 `json:"kurtosis"` // 3 for a normal law
	// Quantiles by their probabilities, such as 0.025.
	Quantiles map[string]float64 `json:"quantiles"`
	Lo        End                `json:"lo"`
	Hi        End                `json:"hi"`
	// Accuracy is by how much two integrations with other panels differ: in the distribution
	// function, in the mean relative to the deviation, in the variance relative to itself.
	Accuracy float64  `json:"accuracy"`
	Warnings []string `json:"warnings"`
}

// End is one end of the interval on which X lives.
type End struct {
	At *float64 `json:"at"` // nil where it is infinite
	// Boundary is Feller's kind, or undecided.
	Boundary string `json:"boundary"`
	// Power is k if the density falls as |x|⁻ᵏ towards an infinite end.
	Power *float64 `json:"power"`
	// Exponent is γ if its logarithm falls as −|x|^γ. Both are nil where it falls faster still or
	// in between, and at finite ends.
	Exponent *float64 `json:"exponent"`

	steepens bool
}

// Probabilities are those of the quantiles.
var Probabilities = []float64{0.01, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.99}

// Of integrates the invariant law on the open interval (lo, hi), which may be the whole line.
// It fails as density.Find does.
func Of(b, sigma density.Coefficient, lo, hi float64) (*Law, error) {
	line, apart, err := density.Find(b, sigma, lo, hi)
	if err != nil {
		return nil, err
	}
	l := &Law{line: line}
	l.Mean, l.Variance = exists(line.Mean()), exists(line.Variance())
	l.Skewness, l.Kurtosis = exists(line.Skewness()), exists(line.Kurtosis())
	l.Quantiles = map[string]float64{}
	for _, p := range Probabilities {
		l.Quantiles[Key(p)] = line.Quantile(p)
	}
	l.Accuracy, l.Warnings = apart, []string{}
	median := line.Quantile(0.5)
	for _, side := range []struct {
		end density.End
		to  *End
	}{{line.Left, &l.Lo}, {line.Right, &l.Hi}} {
		*side.to = endOf(side.end)
		if side.end.Steepens && l.Kurtosis == nil {
			l.Warnings = append(l.Warnings, "the density falls faster than any power of x, but so slowly that moments which are not given may exist")
		}
		kind, err := density.BoundaryAt(b, sigma, side.end.At, median)
		if err != nil {
			kind = "undecided"
		}
		side.to.Boundary = string(kind)
		if kind == density.Regular && side.to.At != nil {
			l.Warnings = append(l.Warnings, fmt.Sprintf("%g is a regular boundary: X reaches it, and the formulas do not say what X does there; the law is that of X reflected there", side.end.At))
		}
	}
	return l, nil
}

// Key is how a probability is written in Quantiles.
func Key(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

func exists(moment float64) *float64 {
	if math.IsNaN(moment) {
		return nil
	}
	return &moment
}

func endOf(e density.End) (end End) {
	switch {
	case !math.IsInf(e.At, 0):
		at := e.At
		end.At = &at
	case e.Steepens:
		end.steepens = true
	case e.Exponent == 0:
		end.Power = &e.Decay
	case !math.IsInf(e.Exponent, 0):
		end.Exponent = &e.Exponent
	}
	return end
}

// Tail says how the density falls towards the end; empty at a finite end.
func (e End) Tail() string {
	switch {
	case e.At != nil:
		return ""
	case e.Power != nil:
		return fmt.Sprintf("falls as |x|^-%.3g", *e.Power)
	case e.Exponent != nil:
		return fmt.Sprintf("falls as exp(-c|x|^%.3g)", *e.Exponent)
	case e.steepens:
		return "falls faster than any power of x, but more slowly than exp(-c|x|^0.05)"
	}
	return "falls faster than exp of any power of x"
}

// CDF is the probability of (−∞, x].
func (l *Law) CDF(x float64) float64 { return l.line.CDF(x) }

// PDF is the density at x.
func (l *Law) PDF(x float64) float64 { return l.line.PDF(x) }

// Quantile is the x with CDF(x) = u.
func (l *Law) Quantile(u float64) float64 { return l.line.Quantile(u) }

// Draws are n independent draws.
func (l *Law) Draws(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	l.line.Sample(x, rng)
	return x
}

// outside is the probability beyond either end of a curve.
const outside = 1e-4

// Curve are about n points with the density and the distribution function there: half of them
// at equal steps between the quantiles of 0.0001 and 0.9999, half at equal steps of
// probability, so that narrow peaks have points.
func (l *Law) Curve(n int) (x, pdf, cdf []float64) {
	lo, hi := l.Quantile(outside), l.Quantile(1-outside)
	for k := range n / 2 {
		t := float64(k) / float64(n/2-1)
		x = append(x, lo+t*(hi-lo), l.Quantile(outside+t*(1-2*outside)))
	}
	slices.Sort(x)
	x = slices.Compact(x)
	for _, v := range x {
		pdf, cdf = append(pdf, l.PDF(v)), append(cdf, l.CDF(v))
	}
	return x, pdf, cdf
}
