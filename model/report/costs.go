package report

import (
	"io"

	"github.com/ergoflow/ergoflow/model/bootstrap"
	"github.com/ergoflow/ergoflow/model/evaluate"
)

const (
	sinkhornName  = "Sinkhorn divergence (units of x²)"
	meanSinkhorn  = "Mean Sinkhorn divergence (units of x²)"
	costsCaption  = "Mean Sinkhorn divergence, with its 95 % interval over functions, against the wall time of drawing all samples of all functions and against the steps that follow one another on the way to a sample: MCMC at its budgets (circles) and the model with its set-up (stars; its steps are evaluations of the network, which an adaptive solver does not count)."
	spreadCaption = "How the Sinkhorn divergence spreads over the held-out functions: histograms up to the 95th percentile of all values, and box plots of all (box: the middle half; line: median; diamond: mean; whiskers: 5th and 95th percentile)."
)

// Costs are the points of MCMC and model rows whose mean divergence a
// logarithmic axis shows, in their order.
func Costs(rows []evaluate.Row) []ParetoPoint {
	var points []ParetoPoint
	for _, r := range rows {
		if r.Kind != evaluate.MCMC && r.Kind != evaluate.Model || !(r.Summary.Sinkhorn.Mean > 0) {
			continue
		}
		p := ParetoPoint{Name: r.Name, Model: r.Kind == evaluate.Model, Seconds: r.SetupSeconds + r.SolveSeconds,
			Steps: float64(r.SequentialSteps), Error: r.Summary.Sinkhorn.Mean}
		values := make([]float64, len(r.Functions))
		for i, f := range r.Functions {
			values[i] = f.Sinkhorn
		}
		// One function has no interval, nor a mean that is off its own.
		if i, err := bootstrap.Mean(values, 0); err == nil && i.Low <= p.Error && p.Error <= i.High {
			p.Low, p.High = max(i.Low, 0), i.High
		}
		points = append(points, p)
	}
	return points
}

// DrawCosts draws what rows cost and how far they are off.
func DrawCosts(points []ParetoPoint) (Drawn, error) { return costsFigure(points).make() }

func costsFigure(points []ParetoPoint) figure {
	return figure{"costs", costsCaption,
		func(w io.Writer) error { return Pareto(w, points, meanSinkhorn) },
		func(w io.Writer) error { return ParetoData(w, points) }}
}

// spreadRows are the rows that come near the reference: N(0,1) and an untrained
// network would leave the others no room.
func spreadRows(rows []evaluate.Row) []SpreadRow {
	var shown []SpreadRow
	for _, r := range rows {
		if r.Kind == evaluate.Normal || r.Kind == evaluate.Untrained {
			continue
		}
		s := SpreadRow{Kind: r.Kind, Name: r.Name}
		for _, f := range r.Functions {
			s.Values = append(s.Values, f.Sinkhorn)
		}
		shown = append(shown, s)
	}
	return shown
}
