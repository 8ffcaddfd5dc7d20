package figures

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const timesCaption = "Mean Sinkhorn divergence and W2 from the law at physical time τ, over the held-out functions in each interval of τ, with 95 % intervals. Lower is better; the floor is the best possible. N(0,1) is the law at τ = 0, the invariant law is that at τ = ∞. Values below 1e-5 are drawn at 1e-5."

func timesFigure(rows []evaluate.Row) Figure {
	return Figure{"times", timesCaption,
		func(w io.Writer) error { return drawTimes(w, rows) },
		func(w io.Writer) error { return timeData(w, rows) }}
}

// timeRows selects the rows of the figure by physical time.
func timeRows(rows []evaluate.Row) []evaluate.Row {
	var selected []evaluate.Row
	for _, r := range rows {
		switch r.Kind {
		case evaluate.Split, evaluate.Shuffled, evaluate.Untrained:
		default:
			if len(r.Times) > 1 {
				selected = append(selected, r)
			}
		}
	}
	return selected
}

// timeIntervalDistances are the two distances of time intervals.
var timeIntervalDistances = []struct {
	of       evaluate.Distance
	interval func(evaluate.TimeInterval) evaluate.Statistic
}{
	{evaluate.Sinkhorn, func(t evaluate.TimeInterval) evaluate.Statistic { return t.Sinkhorn }},
	{evaluate.W2, func(t evaluate.TimeInterval) evaluate.Statistic { return t.W2 }},
}

// drawTimes draws the means of Sinkhorn divergence and W2 over the functions in each
// interval of physical time, with their 95 % intervals, one line per row, as PNG.
// All axes are logarithmic; values below 1e-5 are drawn at 1e-5.
func drawTimes(w io.Writer, rows []evaluate.Row) error {
	if len(rows) == 0 {
		return errors.New("figure of times: no rows")
	}
	styles := rowStyles(rows)
	plots := [][]*plot.Plot{nil}
	for _, d := range timeIntervalDistances {
		p := newPlot()
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.X.Min, p.X.Max = rows[0].Times[0].From, rows[0].Times[len(rows[0].Times)-1].To
		lo, hi := math.Inf(1), 10*logFloor
		p.Add(horizontalGrid{})
		for i, r := range rows {
			m := means{style: styles[i]}
			for _, t := range r.Times {
				s := d.interval(t)
				low, high := s.Mean, s.Mean
				if s.MeanInterval != nil {
					low, high = s.MeanInterval[0], s.MeanInterval[1]
				}
				m.x = append(m.x, math.Sqrt(t.From*t.To))
				m.y = append(m.y, max(s.Mean, logFloor))
				m.low, m.high = append(m.low, max(low, logFloor)), append(m.high, max(high, logFloor))
			}
			lo, hi = min(lo, slices.Min(m.low)), max(hi, slices.Max(m.high))
			p.Add(m)
		}
		p.Y.Min, p.Y.Max = min(lo, hi/10)/1.2, hi*1.2
		plots[0] = append(plots[0], p)
	}
	key := legends(rows, styles)
	height := 2.7*vg.Inch + legendHeight*vg.Length(len(key))
	c := vgimg.NewWith(vgimg.UseWH(7.2*vg.Inch, height), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: 1, Cols: len(plots[0]), PadX: 30}, draw.Crop(whole, 22, -10, legendHeight*vg.Length(len(key))+22, -6))
	for j, p := range plots[0] {
		p.Draw(canvases[0][j])
		abscissaName(whole, canvases[0][j], p, "Physical time τ")
		axisName(canvases[0][j], p, "Mean "+axis(timeIntervalDistances[j].of))
	}
	for i, l := range key {
		l.draw(whole, legendHeight*vg.Length(len(key)-i)-3)
	}
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of times: %w", err)
	}
	return nil
}

// means draws points with intervals, joined by a line.
type means struct {
	x, y, low, high []float64
	style           draw.LineStyle
}

func (m means) Plot(c draw.Canvas, p *plot.Plot) {
	curve{m.x, m.y, m.style}.Plot(c, p)
	trX, trY := p.Transforms(&c)
	for i := range m.x {
		x, y := trX(m.x[i]), trY(m.y[i])
		c.StrokeLine2(line(m.style.Color, 0.7), x, trY(m.low[i]), x, trY(m.high[i]))
		c.DrawGlyph(draw.GlyphStyle{Color: m.style.Color, Radius: 1.8, Shape: draw.CircleGlyph{}}, vg.Point{X: x, Y: y})
	}
}

// timeData writes means, their intervals and medians by row and interval of time.
func timeData(w io.Writer, rows []evaluate.Row) error {
	header := []string{"row", "from", "to", "functions"}
	for _, name := range []string{"sinkhorn", "w2"} {
		header = append(header, name+"_mean", name+"_low", name+"_high", name+"_median")
	}
	return writeCSV(w, header, func(row func(...string) error) error {
		for _, r := range rows {
			for _, t := range r.Times {
				cells := []string{r.Name, number(t.From), number(t.To), strconv.Itoa(t.Functions)}
				for _, d := range timeIntervalDistances {
					s := d.interval(t)
					low, high := "", ""
					if s.MeanInterval != nil {
						low, high = number(s.MeanInterval[0]), number(s.MeanInterval[1])
					}
					cells = append(cells, number(s.Mean), low, high, number(s.Median))
				}
				if err := row(cells...); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
