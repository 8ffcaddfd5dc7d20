package certificate

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/density"
)

// Law is an exact law on the line, as a table of its distribution function that is linear
// between its points. It is safe for concurrent use.
type Law struct {
	// Mean and Variance are NaN where they do not exist.
	Mean, Variance float64

	fourth float64 // E (X − mean)⁴, of the table where the law has none

	x, cdf []float64 // both increasing
	first  []int32   // the last point at or before each of as many equal parts of [0, 1]
}

const (
	// fewestPoints are those of a table, about: an interval of it has so little mass that the
	// law is linear there.
	fewestPoints = 2048
	// negligible is a probability that no number of samples shows.
	negligible = 1e-12
	// quantiles is how many quantiles at even distances stand for a law, between the tails,
	// where their distances grow by a factor.
	quantiles = 1024
	tail      = 1. / 32
	distances = 256
)

// Integrate is the law of coefficients on the whole line, beginning with the interval from lo to
// hi as density.NewLine does, whose errors it has.
func Integrate(b, sigma density.Coefficient, lo, hi float64) (*density.Line, *Law, error) {
	line, err := density.NewLine(b, sigma, lo, hi)
	if err != nil {
		return nil, nil, err
	}
	return line, ofLine(line), nil
}

// ofLine tabulates the distribution function at the knots of the law and, where they are few, at
// points between them: by the cubic that has its values and the densities at the knots.
func ofLine(l *density.Line) *Law {
	x, cdf, pdf := l.Knots(negligible)
	parts := (fewestPoints + len(x) - 1) / len(x)
	if parts > 1 {
		fine, values := make([]float64, 0, parts*len(x)), make([]float64, 0, parts*len(x))
		for i := range len(x) - 1 {
			h, rise := x[i+1]-x[i], cdf[i+1]-cdf[i]
			left, right := pdf[i]*h-rise, rise-pdf[i+1]*h // deviations from the chord
			for k := range parts {
				t := float64(k) / float64(parts)
				fine, values = append(fine, x[i]+t*h), append(values, cdf[i]+t*rise+t*(1-t)*((1-t)*left+t*right))
			}
		}
		x, cdf = append(fine, x[len(x)-1]), append(values, cdf[len(cdf)-1])
	}
	law := (&Law{Mean: l.Mean(), Variance: l.Variance()}).table(x, cdf)
	if k := l.Kurtosis(); !math.IsNaN(k) {
		law.fourth = k * law.Variance * law.Variance
		return law
	}
	return law.moments()
}

// OfQuantiles is a law whose quantile function is known. Its moments are those of the table:
// they must exist.
func OfQuantiles(quantile func(u float64) float64) *Law {
	var u []float64
	for v := 1e-9; v < tail; v *= 1.19 {
		u = append(u, v)
	}
	tails := len(u)
	for k := range quantiles {
		u = append(u, tail+(1-2*tail)*(float64(k)+0.5)/quantiles)
	}
	for i := tails - 1; i >= 0; i-- {
		u = append(u, 1-u[i])
	}
	x := make([]float64, len(u))
	for i, v := range u {
		x[i] = quantile(v)
	}
	l := (&Law{Mean: math.NaN(), Variance: math.NaN()}).table(x, u)
	l.Mean = l.moment(l.x[0], 1) + l.x[0]
	l.Variance = l.moment(l.Mean, 2)
	return l.moments()
}

// moment is E (X − c)ᵏ of the table, for k up to 5: that of a uniform law on every interval, by
// the rule of Gauss and Legendre of 3 points.
func (l *Law) moment(c float64, k int) (sum float64) {
	for i := 1; i < len(l.x); i++ {
		mass, middle, half := l.cdf[i]-l.cdf[i-1], (l.x[i]+l.x[i-1])/2-c, (l.x[i]-l.x[i-1])/2
		node := half * math.Sqrt(0.6)
		sum += mass * (5*power(middle-node, k) + 8*power(middle, k) + 5*power(middle+node, k)) / 18
	}
	return sum
}

func power(v float64, k int) float64 {
	p := v
	for range k - 1 {
		p *= v
	}
	return p
}

// moments completes the table's own moments.
func (l *Law) moments() *Law {
	l.fourth = l.moment(l.Mean, 4)
	return l
}

// OfDensity is the law of a table of coefficients.
func OfDensity(d *density.Density) *Law {
	l := OfQuantiles(d.Inverse().At)
	l.Mean, l.Variance = d.Moments()
	return l.moments()
}

// table keeps the points at which both coordinates increase.
func (l *Law) table(x, cdf []float64) *Law {
	l.x, l.cdf = make([]float64, 0, len(x)), make([]float64, 0, len(x))
	for i := range x {
		if n := len(l.x); n == 0 || x[i] > l.x[n-1] && cdf[i] > l.cdf[n-1] {
			l.x, l.cdf = append(l.x, x[i]), append(l.cdf, cdf[i])
		}
	}
	l.first = make([]int32, len(l.x))
	k := 0
	for i := range l.first {
		for k+1 < len(l.cdf) && l.cdf[k+1] <= float64(i)/float64(len(l.first)) {
			k++
		}
		l.first[i] = int32(k)
	}
	return l
}

// Quantile is the x with CDF(x) = u, the nearest end of the table where there is none.
func (l *Law) Quantile(u float64) float64 {
	n := len(l.x)
	if u <= l.cdf[0] {
		return l.x[0]
	}
	if u >= l.cdf[n-1] {
		return l.x[n-1]
	}
	k := int(l.first[min(int(u*float64(n)), n-1)])
	for l.cdf[k+1] <= u {
		k++
	}
	return l.x[k] + (l.x[k+1]-l.x[k])*(u-l.cdf[k])/(l.cdf[k+1]-l.cdf[k])
}

// CDF is the probability of (−∞, x].
func (l *Law) CDF(x float64) float64 {
	k, exact := slices.BinarySearch(l.x, x)
	switch {
	case exact:
		return l.cdf[k]
	case k == 0:
		return 0
	case k == len(l.x):
		return 1
	}
	return l.cdf[k-1] + (l.cdf[k]-l.cdf[k-1])*(x-l.x[k-1])/(l.x[k]-l.x[k-1])
}

// Distance is the Kolmogorov–Smirnov distance from another distribution function, at some
// hundred points of the table.
func (l *Law) Distance(cdf func(x float64) float64) (most float64) {
	for i := 0; i < len(l.x); i += max(len(l.x)/distances, 1) {
		most = max(most, math.Abs(l.cdf[i]-cdf(l.x[i])))
	}
	return most
}

// from is the Kolmogorov–Smirnov distance of sorted samples from the law, and the square of
// their W2 distance, (1/n) Σ (xᵢ − Q((i+½)/n))², in one walk through the table.
func (l *Law) from(sorted []float64) (ks, w2 float64) {
	n, last := float64(len(sorted)), len(l.x)-1
	k, q := 0, 0 // the table's intervals of the sample and of the quantile
	for i, v := range sorted {
		for k < last && l.x[k+1] <= v {
			k++
		}
		var f float64
		switch {
		case v < l.x[0]:
		case k == last:
			f = 1
		default:
			f = l.cdf[k] + (l.cdf[k+1]-l.cdf[k])*(v-l.x[k])/(l.x[k+1]-l.x[k])
		}
		ks = max(ks, math.Abs(f-float64(i)/n), math.Abs(float64(i+1)/n-f))
		u := (float64(i) + 0.5) / n
		for q < last && l.cdf[q+1] <= u {
			q++
		}
		at := l.x[q]
		if q < last && u > l.cdf[q] {
			at += (l.x[q+1] - l.x[q]) * (u - l.cdf[q]) / (l.cdf[q+1] - l.cdf[q])
		}
		w2 += (v - at) * (v - at) / n
	}
	return ks, w2
}

const (
	levels   = 256 // of u at which chance takes expectations
	outcomes = 16  // that stand for a standard normal number
)

// normals are midpoints of equal probability of N(0, 1).
var normals = func() (z [outcomes]float64) {
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/outcomes-1)
	}
	return z
}()

// chance is E W2² of n independent draws of the law itself. The u-quantile of n draws is about
// Q(u + √(u(1−u)/n) ξ) with ξ ~ N(0, 1), so
//
//	E W2² ≈ ∫₀¹ E (Q(u + √(u(1−u)/n) ξ) − Q(u))² du.
//
// That holds for laws of several wells, too, where W2 is large by chance: a part δ of the
// draws in the wrong well gives W2² = δ·(distance of the wells)².
func (l *Law) chance(n float64) (square float64) {
	low, high := 0.5/n, 1-0.5/n
	for i := range levels {
		u := (float64(i) + 0.5) / levels
		at, width := l.Quantile(u), math.Sqrt(u*(1-u)/n)
		for _, z := range normals {
			d := l.Quantile(min(max(u+width*z, low), high)) - at
			square += d * d / (levels * outcomes)
		}
	}
	return square
}
