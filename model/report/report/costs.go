package report

import (
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const (
	costsCaption  = "Mean %s, with its 95 %% interval over functions, against the wall time of drawing all samples of all functions, against the steps that are simulated of a function in all chains together, and against the steps that follow one another on the way to a sample: MCMC at its budgets (circles, named in the first panel) and the model with its set-up (star; it simulates nothing when it samples, and its sequential steps are evaluations of the network, which an adaptive solver does not count)."
	spreadCaption = "How the %s spreads over the held-out functions: histograms up to the 95th percentile of all values, and box plots of all (box: the middle half; line: median; diamond: mean; whiskers: 5th and 95th percentile; values below 1e-5 stand at 1e-5 there%s)."
)

// Costs are the points of MCMC and model rows whose mean distance a logarithmic
// axis shows, in their order.
func Costs(rows []evaluate.Row, d evaluate.Distance) []ParetoPoint {
	var points []ParetoPoint
	for _, r := range rows {
		if r.Kind != evaluate.MCMC && r.Kind != evaluate.Model || !(d.Summary(r.Summary).Mean > 0) {
			continue
		}
		p := ParetoPoint{Series: string(r.Kind), Name: r.Name, Model: r.Kind == evaluate.Model, Seconds: r.SetupSeconds + r.SolveSeconds,
			Simulated: float64(r.SimulatedSteps), Steps: float64(r.SequentialSteps), Error: d.Summary(r.Summary).Mean}
		if i := d.Summary(r.Summary).MeanInterval; i != nil && i[0] <= p.Error && p.Error <= i[1] {
			p.Low, p.High = max(i[0], 0), i[1]
		}
		points = append(points, p)
	}
	return points
}

// DrawCosts draws what rows cost and how far they are off by a distance, as the
// figure NAME.
func DrawCosts(name string, points []ParetoPoint, d evaluate.Distance) (Drawn, error) {
	return costsFigure(name, points, d).make()
}

func costsFigure(name string, points []ParetoPoint, d evaluate.Distance) figure {
	return figure{name, fmt.Sprintf(costsCaption, d.Name),
		func(w io.Writer) error { return drawPareto(w, points, "Mean "+axis(d)) },
		func(w io.Writer) error { return paretoData(w, points) }}
}

// DrawSpread draws how a distance of rows, by the names that they have, spreads over
// functions.
func DrawSpread(rows []evaluate.Row, d evaluate.Distance) (Drawn, error) {
	spread := make([]spreadRow, len(rows))
	for i, r := range rows {
		spread[i] = spreadOf(r, d)
	}
	return spreadFigure(spread, d).make()
}

func spreadFigure(rows []spreadRow, d evaluate.Distance) figure {
	return figure{"spread", fmt.Sprintf(spreadCaption, d.Name, mayBeNegative(d)),
		func(w io.Writer) error { return drawSpread(w, rows, axis(d)) },
		func(w io.Writer) error { return spreadData(w, rows) }}
}

// spreadRows are the rows that come near the reference: N(0,1) and networks that
// know nothing of the function would leave the others no room.
func spreadRows(rows []evaluate.Row, d evaluate.Distance) []spreadRow {
	var shown []spreadRow
	for _, r := range rows {
		if r.Kind == evaluate.Normal || r.Kind == evaluate.Untrained || r.Kind == evaluate.Shuffled {
			continue
		}
		shown = append(shown, spreadOf(r, d))
	}
	return shown
}

func spreadOf(r evaluate.Row, d evaluate.Distance) spreadRow {
	s := spreadRow{Kind: r.Kind, Name: r.Name}
	for _, f := range r.Functions {
		s.Values = append(s.Values, d.Of(f))
	}
	return s
}
