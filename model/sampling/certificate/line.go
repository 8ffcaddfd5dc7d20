package certificate

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics/bucketsort"
)

// Line is an equation on the line.
type Line struct{ Drift, Diffusion density.Coefficient }

// OfTable is an equation given at the nodes of a grid.
func OfTable(c sde.Coefficients) Line {
	at := func(value func(x float64) float64) density.Coefficient {
		return func(dst, x []float64) {
			for i, v := range x {
				dst[i] = value(v)
			}
		}
	}
	return Line{at(c.DriftAt), at(c.DiffusionAt)}
}

// Dim is 1.
func (Line) Dim() int { return 1 }

// onLine are the functions of the test on the line, with m the mean and h the spread of the
// samples: half the distance from their 16 % to their 84 % quantile.
var onLine = []string{"x", "½(x−m)²", "tanh((x−m)/h)", "sin((x−m)/h)", "cos((x−m)/h)", "sin(2(x−m)/h)", "cos(2(x−m)/h)"}

// test is the generator test, E Lf = 0. With s² the variance of the samples the effect is
//
//	mean(Lf) / (½ mean(σ²)·rms(f′)/s)
//
// The denominator is the rate at which noise forgets f: ½σ²/s² is the rate of a linear drift
// that has the law's variance, and s·rms(f′) is the size of f. So of a linear drift the effect
// of x is an error of the mean in deviations, and that of ½(x−m)² that of the variance: it is
// one minus the virial ratio −E b·(x−m) / ½E σ².
func (l Line) test(x []float32, effective float64) []Check {
	states := make([]float64, len(x))
	for i, v := range x {
		states[i] = float64(v)
	}
	b, sigma := make([]float64, len(x)), make([]float64, len(x))
	l.Drift(b, states)
	l.Diffusion(sigma, states)
	missing, kept := 0, 0
	for i, v := range states { // values that are missing say so by themselves
		if a := b[i] + sigma[i]; a-a != 0 {
			missing++
			continue
		}
		states[kept], b[kept], sigma[kept] = v, b[i], sigma[i]*sigma[i]/2
		kept++
	}
	states, b, half := states[:kept], b[:kept], sigma[:kept] // half is ½σ²
	part := float64(missing) / float64(len(x))
	checks := []Check{}
	if missing > 0 {
		checks = append(checks, check(values, "values", part, 0, fmt.Sprintf("at %s of the samples a drift or a diffusion is not finite", percent(part))))
	}
	if kept == 0 {
		return checks
	}
	n := float64(kept)
	var mean, square, noise float64
	for i, v := range states {
		mean += v / n
		noise += half[i] / n
	}
	for _, v := range states {
		square += (v - mean) * (v - mean) / n
	}
	h := spread(states)
	if !(h > 0) {
		h = math.Sqrt(square)
	}
	if !(h > 0) {
		return append(checks, check(broken, "samples", 1, 0, "all samples are equal"))
	}
	var sums [7]sums
	inverse := 1 / h
	sines, cosines, tangents := make([]float64, kept), make([]float64, kept), make([]float64, kept)
	y := tangents // (x−m)/h
	for i, v := range states {
		y[i] = (v - mean) * inverse
	}
	expression.Sin(sines, y)
	expression.Cos(cosines, y)
	expression.Tanh(tangents, y)
	for i, v := range states {
		bi, ai := b[i], half[i]
		d := v - mean
		t, sin, cos := tangents[i], sines[i], cosines[i]
		sin2, cos2 := 2*sin*cos, cos*cos-sin*sin
		slope := (1 - t*t) * inverse
		sums[0].add(bi, 1)
		sums[1].add(bi*d+ai, d)
		sums[2].add(bi*slope-2*ai*t*slope*inverse, slope)
		sums[3].add(inverse*(bi*cos-ai*inverse*sin), inverse*cos)
		sums[4].add(-inverse*(bi*sin+ai*inverse*cos), inverse*sin)
		sums[5].add(2*inverse*(bi*cos2-2*ai*inverse*sin2), 2*inverse*cos2)
		sums[6].add(-2*inverse*(bi*sin2+2*ai*inverse*cos2), 2*inverse*sin2)
	}
	share := effective * n / float64(len(x))
	for k, name := range onLine {
		scale := noise * math.Sqrt(sums[k].gradient/n) / math.Sqrt(square)
		checks = append(checks, sums[k].check(name, n, share, scale))
	}
	return checks
}

// sums are those of a function f over samples.
type sums struct{ rate, squares, gradient float64 } // of Lf, (Lf)² and |∇f|²

func (s *sums) add(lf, slope float64) {
	s.rate += lf
	s.squares += lf * lf
	s.gradient += slope * slope
}

// check is that of a mean of Lf over n samples, worth effective independent draws.
func (s *sums) check(name string, n, effective, scale float64) Check {
	rate := s.rate / n
	variance := max(s.squares/n-rate*rate, 0)
	z := over(rate, math.Sqrt(variance/effective))
	effect := over(rate, scale)
	return check(generator, name, effect, z, changing(name, rate, effect, z))
}

// spread is half the distance from the 16 % to the 84 % quantile of at most 1,024 of the
// samples: a deviation that exists for every law.
func spread(x []float64) float64 {
	few := make([]float64, min(len(x), 1024))
	for i := range few {
		few[i] = x[i*len(x)/len(few)]
	}
	sorted := make([]float64, len(few))
	new(bucketsort.Sorter).Sort(sorted, few)
	n := float64(len(few) - 1)
	return (sorted[int(math.Round(0.8413*n))] - sorted[int(math.Round(0.1587*n))]) / 2
}
