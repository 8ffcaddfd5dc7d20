package report

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

const bins = 60 // of a histogram, over the range of its row

// exact draws the invariant law itself.
var exact = line(black, 0.8)

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
			"function "+thousands(f.Index), fmt.Sprintf("Sinkhorn %.2g", f.Sinkhorn), fmt.Sprintf("W2 %.2g", f.W2))
	}
	var key legend
	if len(rows[0].PDF) > 0 {
		key = append(key, entry{"exact law", exact})
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

// rowLabel names what a row shows, at its left: a percentile and lines about it.
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
	// Narrow modes of the exact density may stand above every bin; they are shown
	// up to a point, so that the histograms stay readable.
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
		q.Add(steps{histograms[j], lo, hi, s.color}, curve{p.X, p.PDF, exact})
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
	q.Add(curve{p.X, p.CDF, exact}) // over the wider line of the reference
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

// span is where all but 0.1 % of each sample set and of the exact law lies,
// with a margin.
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

// histogram is the density of the samples in n equal bins over [lo, hi]; what
// lies outside counts in the total only.
func histogram(samples []float32, lo, hi float64, n int) []float64 {
	density := make([]float64, n)
	width := (hi - lo) / float64(n)
	for _, v := range samples {
		if i := int(math.Floor((float64(v) - lo) / width)); i >= 0 && i < n {
			density[i] += 1 / (width * float64(len(samples)))
		}
	}
	return density
}

// empirical is the empirical distribution function at every sample.
func empirical(samples []float32) (x, y []float64) {
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	x, y = make([]float64, len(sorted)), make([]float64, len(sorted))
	for i, v := range sorted {
		x[i], y[i] = float64(v), (float64(i)+0.5)/float64(len(sorted))
	}
	return x, y
}

// steps is a histogram as a pale area with its outline.
type steps struct {
	density []float64
	lo, hi  float64
	color   color.RGBA
}

func (s steps) Plot(c draw.Canvas, p *plot.Plot) {
	edge := histogramEdge(&c, p, s.density, s.lo, s.hi)
	c.FillPolygon(mixed(s.color, 0.55), c.ClipPolygonXY(edge))
	c.StrokeLines(line(s.color, 0.5), c.ClipLinesXY(edge)...)
}

// curve is a line through points, clipped to the axes.
type curve struct {
	x, y  []float64
	style draw.LineStyle
}

func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	points := make([]vg.Point, len(l.x))
	for i := range l.x {
		points[i] = vg.Point{X: trX(l.x[i]), Y: trY(l.y[i])}
	}
	c.StrokeLines(l.style, c.ClipLinesXY(points)...)
}

// unlabelled keeps a ticker's marks and drops its words.
type unlabelled struct{ plot.Ticker }

func (u unlabelled) Ticks(lo, hi float64) []plot.Tick {
	ticks := u.Ticker.Ticks(lo, hi)
	for i := range ticks {
		ticks[i].Label = ""
	}
	return ticks
}
