package request

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

const (
	// mostOutside is the mass outside the model's grid without a warning.
	mostOutside = 0.01
	// tableApart and samplesApart are Kolmogorov–Smirnov distances without a warning: of
	// the law of a table, and of the samples, from the law of the formulas. Models of short
	// trainings are up to 0.06 away from most equations.
	tableApart, samplesApart = 0.02, 0.1
	// chance is √n times the distance that n draws of the law itself exceed once in 1,000
	// times.
	chance = 1.95
)

// law is what is known of the invariant law that was asked for.
type law struct {
	grid sde.Grid // of the model; the zero grid if it has none
	// plane is the equation, if it is one in the plane.
	plane *sde.Plane
	// x and cdf are points of the distribution function, on the line; none if it is not
	// known. The moments are NaN where they do not exist.
	x, cdf         []float64
	mean, variance float64
}

// lawOf integrates the invariant law of formulas on the line. It warns where the model
// cannot have this law, whatever it has learned: it reads a table of the formulas, and
// outside the grid keeps the values at its ends.
func lawOf(b, sigma *expression.Expression, table sde.Coefficients) (law, []string) {
	var l law
	grid := fmt.Sprintf("the model's grid, %g…%g", table.Grid.Lo, table.Grid.Hi)
	exact, err := density.NewLine(b.Eval, sigma.Eval, table.Grid.Lo, table.Grid.Hi)
	if errors.Is(err, density.ErrNotNormalisable) {
		return ofTable(table), []string{fmt.Sprintf("the formulas have no invariant law on the whole line (%v): beyond %s, the model keeps the values at the ends, so the samples are of another equation", err, grid)}
	}
	if err != nil { // too steep to integrate
		return ofTable(table), nil
	}
	l.x, l.cdf = exact.Edges()
	l.mean, l.variance = exact.Mean(), exact.Variance()
	var warnings []string
	tabulated, err := density.New(table)
	moments := ""
	if err == nil {
		mean, variance := tabulated.Moments()
		moments = fmt.Sprintf(" (by quadrature %s of the table, %s of the formulas)", inWords(mean, variance), inWords(l.mean, l.variance))
	}
	below, above := exact.CDF(table.Grid.Lo), 1-exact.CDF(table.Grid.Hi)
	switch {
	case below+above > mostOutside:
		warnings = append(warnings, fmt.Sprintf("%s of the invariant law is outside %s: there the model keeps the values at the ends, and `simulate` takes the formulas, so the samples may be wrong%s", percent(below+above), grid, moments))
	case err == nil:
		if apart := l.distance(tabulated.CDF); apart > tableApart {
			warnings = append(warnings, fmt.Sprintf("the model reads the formulas at the nodes of its grid alone, and the law of this table differs from that of the formulas (Kolmogorov–Smirnov distance %.2g)%s", apart, moments))
		}
	}
	k := min(exact.Left.Decay, exact.Right.Decay)
	switch {
	case math.IsNaN(l.mean):
		warnings = append(warnings, fmt.Sprintf("the invariant law has no mean and no variance, since its density falls as |x|^-%.3g: those of the samples say nothing", k))
	case math.IsNaN(l.variance):
		warnings = append(warnings, fmt.Sprintf("the invariant law has no variance, since its density falls as |x|^-%.3g: that of the samples says nothing", k))
	}
	return l, warnings
}

// inWords are moments, NaN where they do not exist. A mean that is zero but for rounding is
// zero.
func inWords(mean, variance float64) string {
	switch {
	case math.IsNaN(mean):
		return "no mean"
	case math.IsNaN(variance):
		return fmt.Sprintf("mean %.4g and no variance", mean)
	case math.Abs(mean) < 1e-6*math.Sqrt(variance):
		mean = 0
	}
	return fmt.Sprintf("mean %.4g and variance %.4g", mean, variance)
}

func percent(part float64) string {
	if part < 0.1 {
		return fmt.Sprintf("%.2g %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// quantiles is how many quantiles stand for a law.
const quantiles = 1024

// ofTable is the invariant law of a table, as far as it is known.
func ofTable(c sde.Coefficients) law {
	tabulated, err := density.New(c)
	if err != nil {
		return law{}
	}
	var l law
	for k := 1; k < quantiles; k++ {
		u := float64(k) / quantiles
		l.x, l.cdf = append(l.x, tabulated.Quantile(u)), append(l.cdf, u)
	}
	l.mean, l.variance = tabulated.Moments()
	return l
}

// of completes what is known by that of a system, where there are no formulas.
func (l *law) of(system sde.System) {
	switch system := system.(type) {
	case sde.Coefficients:
		if len(l.x) == 0 {
			*l = ofTable(system)
		}
	case sde.Plane:
		l.plane = &system
	}
}

// distance is the Kolmogorov–Smirnov distance from another distribution function.
func (l law) distance(cdf func(x float64) float64) (most float64) {
	for i, x := range l.x {
		most = max(most, math.Abs(l.cdf[i]-cdf(x)))
	}
	return most
}

// Judge warns of samples x [n, d] that do not have the law that was asked for: on the line
// by their distance from it, in the plane if the equation does not keep it, and if many are
// outside the model's grid.
func (t Target) Judge(x []float32) (warnings []string) {
	if len(t.law.x) > 0 {
		return t.law.compare(x)
	}
	if t.law.grid.N > 0 {
		warnings = t.law.outside(x, t.Subject.Function.System.Dim())
	}
	if t.law.plane != nil {
		warnings = append(warnings, stationary(*t.law.plane, x)...)
	}
	return warnings
}

// compare compares samples with the exact law.
func (l law) compare(x []float32) []string {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	apart := l.distance(func(v float64) float64 {
		at, _ := slices.BinarySearchFunc(sorted, v, func(s float32, v float64) int {
			if float64(s) <= v {
				return -1
			}
			return 1
		})
		return float64(at) / float64(len(sorted))
	})
	if apart <= max(samplesApart, chance/math.Sqrt(float64(len(x)))) {
		return nil
	}
	return []string{fmt.Sprintf("the samples do not have the invariant law, with %s by quadrature: their distribution function differs by up to %.2g (Kolmogorov–Smirnov distance), so the model has not learned this equation",
		inWords(l.mean, l.variance), apart)}
}

// outside warns of samples in dim dimensions beyond the grid, the same along all axes.
func (l law) outside(x []float32, dim int) []string {
	count, n := 0, len(x)/dim
	for i := range n {
		if slices.ContainsFunc(x[i*dim:(i+1)*dim], func(v float32) bool { return float64(v) < l.grid.Lo || float64(v) > l.grid.Hi }) {
			count++
		}
	}
	if part := float64(count) / float64(n); part > mostOutside && count > 1 {
		return []string{fmt.Sprintf("%s of the samples are outside the model's grid, %g…%g, where it keeps the values at the ends: they may be wrong", percent(part), l.grid.Lo, l.grid.Hi)}
	}
	return nil
}
