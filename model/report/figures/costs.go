package figures

import (
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const (
	costsCaption  = "Mean %s, with its 95 %% interval over functions, against three costs: wall time to draw all samples of all functions; simulated steps of one function in all its chains together; and sequential steps, those that follow one another on the way to a sample. Circles: MCMC at its budgets, named in the first panel. Star: the model with its set-up; it simulates nothing, and its sequential steps are evaluations of the network, which an adaptive solver does not count. Lower and further left is better."
	spreadCaption = "Distribution of the %s over the held-out functions: histograms up to the 95th percentile of all values, and box plots of all values (box: the middle half; line: median; diamond: mean; whiskers: 5th and 95th percentile). Lower is better; the floor is the best possible. The box plots draw values below 1e-5 at 1e-5%s."
)

// CostPoints are the points of MCMC and model rows in their order. It leaves out rows
// whose mean distance is not positive, which a logarithmic axis cannot show.
func CostPoints(rows []evaluate.Row, d evaluate.Distance) []CostPoint {
	var points []CostPoint
	for _, r := range rows {
		if r.Kind != evaluate.MCMC && r.Kind != evaluate.Model || !(d.Summary(r.Summary).Mean > 0) {
			continue
		}
		p := CostPoint{Series: string(r.Kind), Name: r.Name, Model: r.Kind == evaluate.Model, Seconds: r.SetupSeconds + r.SolveSeconds,
			Simulated: float64(r.SimulatedSteps), Steps: float64(r.SequentialSteps), Error: d.Summary(r.Summary).Mean}
		if i := d.Summary(r.Summary).MeanInterval; i != nil && i[0] <= p.Error && p.Error <= i[1] {
			p.Low, p.High = max(i[0], 0), i[1]
		}
		points = append(points, p)
	}
	return points
}

// DrawCosts draws a distance of rows against their costs, as the figure name.
func DrawCosts(name string, points []CostPoint, d evaluate.Distance) (Drawn, error) {
	return costsFigure(name, points, d).Draw()
}

func costsFigure(name string, points []CostPoint, d evaluate.Distance) Figure {
	return Figure{name, fmt.Sprintf(costsCaption, d.Name),
		func(w io.Writer) error { return drawCosts(w, points, "Mean "+axis(d)) },
		func(w io.Writer) error { return costData(w, points) }}
}

// DrawSpread draws the distribution over functions of a distance of each row.
func DrawSpread(rows []evaluate.Row, d evaluate.Distance) (Drawn, error) {
	spread := make([]spreadRow, len(rows))
	for i, r := range rows {
		spread[i] = spreadOf(r, d)
	}
	return spreadFigure(spread, d).Draw()
}

func spreadFigure(rows []spreadRow, d evaluate.Distance) Figure {
	return Figure{"spread", fmt.Sprintf(spreadCaption, d.Name, negativeNote(d)),
		func(w io.Writer) error { return drawSpread(w, rows, axis(d)) },
		func(w io.Writer) error { return spreadData(w, rows) }}
}

// spreadRows are the rows near the reference. The axes leave out N(0,1), the
// untrained model and shuffled sensors: they are so far off that they would squeeze
// all others together.
func spreadRows(rows []evaluate.Row, d evaluate.Distance) []spreadRow {
	var selected []spreadRow
	for _, r := range rows {
		if r.Kind == evaluate.Normal || r.Kind == evaluate.Untrained || r.Kind == evaluate.Shuffled {
			continue
		}
		selected = append(selected, spreadOf(r, d))
	}
	return selected
}

func spreadOf(r evaluate.Row, d evaluate.Distance) spreadRow {
	s := spreadRow{Kind: r.Kind, Name: r.Name}
	for _, f := range r.Functions {
		s.Values = append(s.Values, d.Of(f))
	}
	return s
}
