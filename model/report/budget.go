package report

import (
	"errors"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluate"
)

// Budget draws mean Sinkhorn divergence against wall time, as PNG: a circle for
// every MCMC row, a star for the model. Both axes are logarithmic.
func Budget(w io.Writer, rows []evaluate.Row) error {
	shown := budgetRows(rows)
	if len(shown) < 2 {
		return errors.New("figure of budgets: fewer than two rows")
	}
	p := newPlot()
	p.X.Label.Text = "Wall time for all functions (s)"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	p.X.Min, p.Y.Min = math.Inf(1), math.Inf(1)
	p.X.Max, p.Y.Max = 0, 0
	for _, r := range shown {
		x, y := wallTime(r), r.Summary.Sinkhorn.Mean
		p.X.Min, p.X.Max = min(p.X.Min, x), max(p.X.Max, x)
		p.Y.Min, p.Y.Max = min(p.Y.Min, y), max(p.Y.Max, y)
	}
	p.X.Min, p.X.Max = p.X.Min/3, p.X.Max*3 // room for the names
	p.Y.Min, p.Y.Max = p.Y.Min/1.6, p.Y.Max*1.6
	p.Add(horizontalGrid{}, marks(shown))

	const width, height = 5 * vg.Inch, 3 * vg.Inch
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	canvas := draw.Crop(draw.New(c), 22, -8, 6, -8)
	p.Draw(canvas)
	axisName(canvas, p, "Mean Sinkhorn divergence (units of x²)")
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of budgets: %w", err)
	}
	return nil
}

// budgetRows are the rows that a wall time and a positive divergence place on
// the axes.
func budgetRows(rows []evaluate.Row) []evaluate.Row {
	var shown []evaluate.Row
	for _, r := range rows {
		if (r.Kind == evaluate.MCMC || r.Kind == evaluate.Model) && wallTime(r) > 0 && r.Summary.Sinkhorn.Mean > 0 {
			shown = append(shown, r)
		}
	}
	return shown
}

func wallTime(r evaluate.Row) float64 { return r.SetupSeconds + r.SolveSeconds }

type marks []evaluate.Row

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	above, below := textStyle(textSize, black), textStyle(textSize, black)
	above.YAlign, below.YAlign = text.YBottom, text.YTop
	var path []vg.Point
	for _, r := range m {
		if r.Kind == evaluate.MCMC {
			path = append(path, vg.Point{X: trX(wallTime(r)), Y: trY(r.Summary.Sinkhorn.Mean)})
		}
	}
	c.StrokeLines(line(mixed(green, 0.5), 0.8), path)
	for i, r := range m {
		at := vg.Point{X: trX(wallTime(r)), Y: trY(r.Summary.Sinkhorn.Mean)}
		if r.Kind == evaluate.Model {
			c.FillPolygon(vermilion, star(at, 6.5))
		} else {
			c.DrawGlyph(draw.GlyphStyle{Color: green, Radius: 3.2, Shape: draw.CircleGlyph{}}, at)
		}
		if i%2 == 0 { // in turns, so that neighbours' names do not touch
			c.FillText(above, vg.Point{X: at.X, Y: at.Y + 6}, r.Name)
		} else {
			c.FillText(below, vg.Point{X: at.X, Y: at.Y - 6}, r.Name)
		}
	}
}

// star has five points at the radius.
func star(centre vg.Point, radius vg.Length) []vg.Point {
	points := make([]vg.Point, 10)
	for i := range points {
		r := radius
		if i%2 == 1 {
			r *= 0.4
		}
		sin, cos := math.Sincos(float64(i) * math.Pi / 5)
		points[i] = vg.Point{X: centre.X + r*vg.Length(sin), Y: centre.Y + r*vg.Length(cos)}
	}
	return points
}
