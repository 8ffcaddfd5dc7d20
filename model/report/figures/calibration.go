package figures

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/calibration"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const calibrationCaption = "Calibration of the model over the held-out functions: the distribution function of the ranks that one draw of each law has among the model's draws, minus that of uniform ranks. Ranks of a right sampler stay in the grey band with probability 95 %, at all points together. A hump first and a dip then: laws too narrow; the other way round: too wide. tarp ranks distances from a random point."

// calibrationFigure is of a row that has calibration.
func calibrationFigure(row evaluate.Row) (f Figure, err error) {
	panels := make([][]calibration.Point, len(row.Calibration))
	for k, c := range row.Calibration {
		if panels[k], err = c.Points(); err != nil {
			return f, err
		}
	}
	return Figure{"calibration", calibrationCaption,
		func(w io.Writer) error { return drawCalibration(w, row.Calibration, panels) },
		func(w io.Writer) error { return calibrationData(w, row.Calibration, panels) }}, nil
}

// band fills the area between two curves.
type band struct{ x, low, high []float64 }

func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	var outline []vg.Point
	for i, x := range b.x {
		outline = append(outline, vg.Point{X: trX(x), Y: trY(b.low[i])})
	}
	for i := len(b.x) - 1; i >= 0; i-- {
		outline = append(outline, vg.Point{X: trX(b.x[i]), Y: trY(b.high[i])})
	}
	c.FillPolygon(faint, c.ClipPolygonXY(outline))
}

// drawCalibration draws one panel for every number that is ranked, as PNG.
func drawCalibration(w io.Writer, of []evaluate.Calibration, panels [][]calibration.Point) error {
	plots := [][]*plot.Plot{make([]*plot.Plot, len(of))}
	for k, points := range panels {
		p := newPlot()
		p.Title.Text = fmt.Sprintf("%s, p = %.2g", of[k].Of, of[k].P)
		p.X.Label.Text = "Rank / draws"
		p.X.Min, p.X.Max = 0, 1
		p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks(5), niceTicks(5)
		area, ranks := band{x: []float64{0}, low: []float64{0}, high: []float64{0}}, curve{[]float64{0}, []float64{0}, line(vermilion, 1)}
		most := 0.0
		add := func(at, value, lo, hi float64) {
			area.x, area.low, area.high = append(area.x, at), append(area.low, lo), append(area.high, hi)
			ranks.x, ranks.y = append(ranks.x, at), append(ranks.y, value)
			most = max(most, value, -value, hi, -lo)
		}
		for _, q := range points {
			add(q.At, q.CDF-q.At, q.Lo-q.At, q.Hi-q.At)
		}
		add(1, 0, 0, 0)
		p.Y.Min, p.Y.Max = -1.1*most, 1.1*most
		p.Add(area, curve{[]float64{0, 1}, []float64{0, 0}, line(grey, hairline)}, ranks)
		plots[0][k] = p
	}
	width := 0.6*vg.Inch + 2.2*vg.Inch*vg.Length(len(of))
	c := vgimg.NewWith(vgimg.UseWH(width, 2.4*vg.Inch), vgimg.UseDPI(dpi))
	canvases := plot.Align(plots, draw.Tiles{Rows: 1, Cols: len(of), PadX: 14}, draw.Crop(draw.New(c), 22, -10, 6, -6))
	for k, p := range plots[0] {
		p.Draw(canvases[0][k])
	}
	axisName(canvases[0][0], plots[0][0], "CDF − uniform")
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of calibration: %w", err)
	}
	return nil
}

// calibrationData writes distribution functions and bands.
func calibrationData(w io.Writer, of []evaluate.Calibration, panels [][]calibration.Point) error {
	return writeCSV(w, []string{"of", "at", "cdf", "low", "high"}, func(row func(...string) error) error {
		for k, points := range panels {
			for _, q := range points {
				if err := row(of[k].Of, number(q.At), number(q.CDF), number(q.Lo), number(q.Hi)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
