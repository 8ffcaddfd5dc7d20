package figures

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const evolutionCaption = "Law of the state at increasing physical times τ, from N(0,1) to the invariant law, for the held-out equations at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence, averaged over the times."

func evolutionFigure(rows []evaluate.Evolution) Figure {
	return Figure{"evolution", evolutionCaption,
		func(w io.Writer) error { return drawEvolutions(w, rows) },
		func(w io.Writer) error { return evolutionData(w, rows) }}
}

// evolutionBins of a histogram, fewer than elsewhere: its panels are small.
const evolutionBins = 40

// evolutionPanel is one equation at one time in bins.
type evolutionPanel struct {
	lo, hi           float64
	reference, model []float64 // densities
}

// evolutionPanels has the panels of an equation, all over the same range.
func evolutionPanels(e evaluate.Evolution) ([]evolutionPanel, error) {
	if len(e.Times) == 0 || len(e.Reference) != len(e.Times) || len(e.Model) != len(e.Times) {
		return nil, fmt.Errorf("equation %d has %d and %d sets of samples at %d times", e.Equation, len(e.Reference), len(e.Model), len(e.Times))
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range e.Times {
		if len(e.Reference[i]) == 0 || len(e.Model[i]) == 0 {
			return nil, fmt.Errorf("equation %d has no samples at time %v", e.Equation, e.Times[i])
		}
		from, to := span(evaluate.Percentile{Reference: e.Reference[i], Model: e.Model[i]})
		lo, hi = min(lo, from), max(hi, to)
	}
	panels := make([]evolutionPanel, len(e.Times))
	for i := range panels {
		panels[i] = evolutionPanel{lo, hi, histogram(e.Reference[i], lo, hi, evolutionBins), histogram(e.Model[i], lo, hi, evolutionBins)}
	}
	return panels, nil
}

// drawEvolutions draws one row per equation and one column per time: the histogram of
// the reference, the model's over it, and the density of the invariant law, as PNG.
// All rows must have as many times.
func drawEvolutions(w io.Writer, rows []evaluate.Evolution) error {
	if len(rows) == 0 {
		return errors.New("figure of evolutions: no equations")
	}
	invariant, model := line(black, 0.5, 1.5, 1.5), line(vermilion, 1)
	plots := make([][]*plot.Plot, len(rows))
	for i, e := range rows {
		panels, err := evolutionPanels(e)
		if err != nil {
			return fmt.Errorf("figure of evolutions: %w", err)
		}
		if len(e.Times) != len(rows[0].Times) {
			return fmt.Errorf("figure of evolutions: equation %d has %d times, the first %d", e.Equation, len(e.Times), len(rows[0].Times))
		}
		top := 0.0
		for _, p := range panels {
			top = max(top, slices.Max(p.reference), slices.Max(p.model))
		}
		for j, p := range panels {
			q := newPlot()
			q.Title.Text = fmt.Sprintf("τ = %.2g", e.Times[j])
			q.Title.TextStyle = textStyle(textSize-1, black)
			q.Title.TextStyle.YAlign = text.YTop
			q.X.Min, q.X.Max, q.Y.Min, q.Y.Max = p.lo, p.hi, 0, 1.08*top
			q.X.Tick.Marker, q.Y.Tick.Marker = niceTicks(5), niceTicks(3)
			if i == len(rows)-1 {
				q.X.Label.Text = "x"
			}
			if j > 0 {
				q.Y.Tick.Marker = unlabelled{q.Y.Tick.Marker}
			}
			q.Add(filledHistogram{p.reference, p.lo, p.hi, blue}, curve{e.X, e.PDF, invariant}, outlinedHistogram{p.model, p.lo, p.hi, model})
			plots[i] = append(plots[i], q)
		}
	}
	const labels, foot = vg.Length(62), vg.Length(24)
	columns := len(rows[0].Times)
	c := vgimg.NewWith(vgimg.UseWH(labels+0.95*vg.Inch*vg.Length(columns), 1.25*vg.Inch*vg.Length(len(rows))+foot), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: len(rows), Cols: columns, PadX: 4, PadY: 6}, draw.Crop(whole, labels, -8, foot, -4))
	for i := range plots {
		for j, p := range plots[i] {
			p.Draw(canvases[i][j])
		}
		box := plots[i][0].DataCanvas(canvases[i][0])
		rowLabel(whole, vg.Point{X: 6, Y: box.Center().Y + 15}, rows[i].Percent,
			"equation "+Thousands(rows[i].Equation), fmt.Sprintf("Sinkhorn %.2g", rows[i].Sinkhorn))
	}
	legend{{"simulated", line(tint(blue, 0.55), 6)}, {"model", model}, {"invariant law", invariant}}.draw(whole, 10)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of evolutions: %w", err)
	}
	return nil
}

// evolutionData writes what drawEvolutions draws: the bins of every panel, and with
// τ = ∞ the density of the invariant law.
func evolutionData(w io.Writer, rows []evaluate.Evolution) error {
	return writeCSV(w, []string{"percent", "equation", "time", "low", "high", "simulated", "model", "invariant"}, func(row func(...string) error) error {
		for _, e := range rows {
			panels, err := evolutionPanels(e)
			if err != nil {
				return fmt.Errorf("data of evolutions: %w", err)
			}
			percent, equation := strconv.Itoa(e.Percent), strconv.Itoa(e.Equation)
			for j, p := range panels {
				width := (p.hi - p.lo) / evolutionBins
				for i := range evolutionBins {
					low := p.lo + float64(i)*width
					if err := row(percent, equation, number(e.Times[j]), number(low), number(low+width), number(p.reference[i]), number(p.model[i]), ""); err != nil {
						return err
					}
				}
			}
			for i, x := range e.X {
				if err := row(percent, equation, "inf", number(x), number(x), "", "", number(e.PDF[i])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
