package figures

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const percentilesCaption = "The held-out functions at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence: histograms of the samples with the density of the exact invariant law, and the distribution functions."

func percentilesFigure(rows []evaluate.Percentile) Figure {
	return Figure{"percentiles", percentilesCaption,
		func(w io.Writer) error { return drawPercentiles(w, rows) },
		func(w io.Writer) error { return percentileData(w, rows) }}
}

const bins = 60 // of a histogram, over the range of its row

// exactLawStyle draws the invariant law itself.
var exactLawStyle = line(black, 0.8)

// series is one sample set of a row.
type series struct {
	name    string
	samples []float32
	color   color.RGBA
	style   draw.LineStyle // in the overlay of CDFs
}

func seriesOf(p evaluate.Percentile) []series {
	all := []series{{"reference", p.Reference, blue, line(blue, 2)}}
	if len(p.MCMC) > 0 {
		all = append(all, series{"MCMC", p.MCMC, green, line(green, 1.2, 5, 2)})
	}
	return append(all, series{"model", p.Model, vermilion, line(vermilion, 1.2)})
}

// drawPercentiles draws one row per function: histograms of reference, MCMC and
// model with the exact density, then their distribution functions over each
// other, as PNG. All rows must have the same columns.
func drawPercentiles(w io.Writer, rows []evaluate.Percentile) error {
	if len(rows) == 0 {
		return errors.New("percentile figure: no functions")
	}
	plots := make([][]*plot.Plot, len(rows))
	for i, row := range rows {
		var err error
		if plots[i], err = percentileRow(row, i == 0, i == len(rows)-1); err != nil {
			return fmt.Errorf("percentile figure: function %d: %w", row.Function.Index, err)
		}
		if len(plots[i]) != len(plots[0]) {
			return fmt.Errorf("percentile figure: function %d has %d columns, the first %d", row.Function.Index, len(plots[i]), len(plots[0]))
		}
	}
	const width, rowHeight, margin = 7.2 * vg.Inch, 1.55 * vg.Inch, vg.Length(26)
	height := rowHeight*vg.Length(len(rows)) + 2*margin
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	labels := vg.Length(66)
	canvases := plot.Align(plots, draw.Tiles{
		Rows: len(rows), Cols: len(plots[0]), PadX: 9, PadY: 9,
	}, draw.Crop(whole, labels, -8, margin-6, -4))
	for i := range plots {
		for j := range plots[i] {
			plots[i][j].Draw(canvases[i][j])
		}
		box := plots[i][0].DataCanvas(canvases[i][0])
		f := rows[i].Function
		rowLabel(whole, vg.Point{X: 6, Y: (box.Min.Y+box.Max.Y)/2 + 20}, rows[i].Percent,
			"function "+Thousands(f.Index), fmt.Sprintf("Sinkhorn %.2g", f.Sinkhorn), fmt.Sprintf("W2 %.2g", f.W2))
	}
	var key legend
	if len(rows[0].PDF) > 0 {
		key = append(key, entry{"exact law", exactLawStyle})
	}
	for _, s := range seriesOf(rows[0]) {
		name := s.name
		if name == "MCMC" {
			name = rows[0].MCMCName
		}
		key = append(key, entry{name, s.style})
	}
	key.draw(whole, 11)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("percentile figure: %w", err)
	}
	return nil
}

// rowLabel writes the percentile of a row at its left, with lines about it.
func rowLabel(c draw.Canvas, at vg.Point, percent int, lines ...string) {
	bold, plain := textStyle(textSize+0.5, black), textStyle(textSize-1, grey)
	bold.XAlign, plain.XAlign = text.XLeft, text.XLeft
	for i, l := range append([]string{fmt.Sprintf("%dth", percent), "percentile"}, lines...) {
		style := plain
		if i < 2 {
			style = bold
		}
		c.FillText(style, vg.Point{X: at.X, Y: at.Y - vg.Length(i)*10}, l)
	}
}

func percentileRow(p evaluate.Percentile, first, last bool) ([]*plot.Plot, error) {
	all := seriesOf(p)
	lo, hi := span(p)
	top := 0.0
	histograms := make([][]float64, len(all))
	for j, s := range all {
		if len(s.samples) == 0 {
			return nil, fmt.Errorf("no samples of the %s", s.name)
		}
		histograms[j] = histogram(s.samples, lo, hi, bins)
		top = max(top, slices.Max(histograms[j]))
	}
	// Narrow modes of the exact density may be higher than every bin. The axis cuts
	// them at 1.4 times the highest bin, to keep the histograms readable.
	if len(p.PDF) > 0 {
		top = max(top, min(slices.Max(p.PDF), 1.4*top))
	}
	var plots []*plot.Plot
	for j, s := range all {
		q := newPlot()
		if first {
			q.Title.Text = map[string]string{"reference": "Reference", "MCMC": "MCMC", "model": "Model"}[s.name]
		}
		if j == 0 {
			q.Y.Label.Text = "density"
		}
		q.Add(filledHistogram{histograms[j], lo, hi, s.color}, curve{p.X, p.PDF, exactLawStyle})
		q.Y.Min, q.Y.Max = 0, 1.08*top
		plots = append(plots, q)
	}
	q := newPlot()
	if first {
		q.Title.Text = "Distribution functions"
	}
	q.Y.Min, q.Y.Max = 0, 1.08 // room for the label of 1 keeps the columns level
	for _, s := range all {
		x, y := empirical(s.samples)
		q.Add(curve{x, y, s.style})
	}
	q.Add(curve{p.X, p.CDF, exactLawStyle}) // over the wider line of the reference
	plots = append(plots, q)
	for j, q := range plots {
		q.X.Min, q.X.Max = lo, hi
		q.X.Tick.Marker, q.Y.Tick.Marker = niceTicks(5), niceTicks(4)
		if last {
			q.X.Label.Text = "x"
		}
		if j > 0 && j < len(plots)-1 { // the histograms share one scale
			q.Y.Tick.Marker = unlabelled{niceTicks(4)}
		}
	}
	return plots, nil
}

// span is the range of all but 0.1 % of each sample set and of the exact law, with a
// margin.
func span(p evaluate.Percentile) (lo, hi float64) {
	const tail = 5e-4
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range seriesOf(p) {
		sorted := slices.Clone(s.samples)
		slices.Sort(sorted)
		if n := len(sorted); n > 0 {
			lo = min(lo, float64(sorted[int(tail*float64(n))]))
			hi = max(hi, float64(sorted[n-1-int(tail*float64(n))]))
		}
	}
	for i, u := range p.CDF {
		if u >= tail && u <= 1-tail {
			lo, hi = min(lo, p.X[i]), max(hi, p.X[i])
		}
	}
	margin := 0.04 * max(hi-lo, 1e-6)
	return lo - margin, hi + margin
}
