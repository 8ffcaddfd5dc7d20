package request

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

const (
	// mostOutside is the mass outside the model's grid without a warning.
	mostOutside = 0.01
	// tableApart is a Kolmogorov–Smirnov distance, of the law of a table from that of the
	// formulas, without a warning.
	tableApart = 0.02
)

// lawOf integrates the invariant law of formulas on the line, by which samples are judged. It
// warns where the model cannot have this law, whatever it has learned: it reads a table of the
// formulas, and outside the grid keeps the values at its ends. tabulated is the law of the table;
// nil if it is too steep to integrate.
func lawOf(b, sigma *expression.Expression, table sde.Coefficients, tabulated *density.Density) (certificate.Subject, *density.Line, []string) {
	s := certificate.Subject{Equation: certificate.Line{Drift: b.Eval, Diffusion: sigma.Eval}, Unlearned: math.NaN()}
	grid := fmt.Sprintf("the model's grid, %g…%g", table.Grid.Lo, table.Grid.Hi)
	exact, law, err := certificate.Integrate(b.Eval, sigma.Eval, table.Grid.Lo, table.Grid.Hi)
	if errors.Is(err, density.ErrNotNormalisable) {
		s = certificate.ByTable(table)
		s.Doubt = "the formulas have no invariant law on the whole line: the samples are compared with the law of the model's table"
		return s, nil, []string{fmt.Sprintf("the formulas have no invariant law on the whole line (%v): beyond %s, the model keeps the values at the ends, so the samples are of another equation", err, grid)}
	}
	if err != nil { // too steep to integrate
		if tabulated != nil {
			s.Law = certificate.OfDensity(tabulated)
		}
		return s, nil, nil
	}
	s.Law = law
	var warnings []string
	moments := ""
	if tabulated != nil {
		mean, variance := tabulated.Moments()
		moments = fmt.Sprintf(" (by quadrature %s of the table, %s of the formulas)", inWords(mean, variance), inWords(s.Law.Mean, s.Law.Variance))
	}
	below, above := exact.CDF(table.Grid.Lo), 1-exact.CDF(table.Grid.Hi)
	switch {
	case below+above > mostOutside:
		warnings = append(warnings, fmt.Sprintf("%s of the invariant law is outside %s: there the model keeps the values at the ends, and `simulate` takes the formulas, so the samples may be wrong%s", percent(below+above), grid, moments))
	case tabulated != nil:
		if apart := s.Law.Distance(tabulated.CDF); apart > tableApart {
			warnings = append(warnings, fmt.Sprintf("the model reads the formulas at the nodes of its grid alone, and the law of this table differs from that of the formulas (Kolmogorov–Smirnov distance %.2g)%s", apart, moments))
		}
	}
	k := min(exact.Left.Decay, exact.Right.Decay)
	switch {
	case math.IsNaN(s.Law.Mean):
		warnings = append(warnings, fmt.Sprintf("the invariant law has no mean and no variance, since its density falls as |x|^-%.3g: those of the samples say nothing", k))
	case math.IsNaN(s.Law.Variance):
		warnings = append(warnings, fmt.Sprintf("the invariant law has no variance, since its density falls as |x|^-%.3g: that of the samples says nothing", k))
	}
	return s, exact, warnings
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

// Certify judges samples x [n, d] of the target: good, to be used with care, or not at all,
// and why. It takes less than half a millisecond for 4,096 samples on the line. Beyond it, and not of
// particles, chains of the equation run, up to a second in 64 dimensions.
func (t Target) Certify(x []float32) certificate.Certificate {
	return t.subject.Certify(x, t.Subject.Function.System.Dim())
}

// Line is the law of formulas on the line by quadrature; nil where it is not known.
func (t Target) Line() *density.Line { return t.line }

// Exact is the mean and the variance of the law that was asked for; false where they are not
// known. They are NaN where they do not exist.
func (t Target) Exact() (mean, variance float64, ok bool) {
	if t.subject.Law == nil {
		return 0, 0, false
	}
	return t.subject.Law.Mean, t.subject.Law.Variance, true
}
