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
)

// CostPoint has the costs of a row and its distance from the reference.
type CostPoint struct {
	Series string // a line joins the circles of one series in their order
	Name   string // within the series
	Model  bool   // a star; others are circles
	// Seconds is the wall time; Simulated the steps of all chains of a function; Steps
	// those that follow one another on the way to a sample: steps of a chain, or
	// evaluations of a network along the flow. A cost of 0 leaves the point out of its
	// panel.
	Seconds, Simulated, Steps float64
	Error                     float64 // above 0
	Low, High                 float64 // its confidence interval; both 0 for none
}

func (p CostPoint) validate() error {
	for _, v := range []float64{p.Seconds, p.Simulated, p.Steps, p.Low, p.High} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%s: %v is negative or not finite", p.Name, v)
		}
	}
	if !(p.Error > 0) || math.IsInf(p.Error, 1) {
		return fmt.Errorf("%s: error %v is not positive and finite", p.Name, p.Error)
	}
	if p.High != 0 && !(p.Low <= p.Error && p.Error <= p.High) {
		return fmt.Errorf("%s: error %v is outside its interval from %v to %v", p.Name, p.Error, p.Low, p.High)
	}
	return nil
}

// drawCosts draws error against wall time, simulated steps and sequential steps, as PNG.
// All axes are logarithmic; lower and further left is better. Among simulated steps, a
// model, which simulates nothing, is a horizontal line. measure names the error.
func drawCosts(w io.Writer, points []CostPoint, measure string) error {
	series := seriesNames(points)
	panels := []costPanel{
		{name: "Wall time for all functions (s)", cost: func(p CostPoint) float64 { return p.Seconds }, series: series},
		{name: "Simulated steps per function", cost: func(p CostPoint) float64 { return p.Simulated }, series: series, free: true},
		{name: "Sequential steps per sample", cost: func(p CostPoint) float64 { return p.Steps }, series: series},
	}
	lo, hi, err := errorRange(points)
	if err != nil {
		return fmt.Errorf("figure of costs: %w", err)
	}
	plots := [][]*plot.Plot{nil}
	var costs []string
	for k := range panels {
		panels[k].choose(points)
		if len(panels[k].points)+len(panels[k].across) < 2 || len(panels[k].points) == 0 {
			continue
		}
		panels[k].named = len(plots[0]) == 0
		p := panels[k].plot()
		p.Y.Min, p.Y.Max = lo/1.8, hi*1.8
		if len(plots[0]) > 0 {
			p.Y.Tick.Marker = unlabelled{logTicks{}}
		}
		plots[0] = append(plots[0], p)
		costs = append(costs, panels[k].name)
	}
	columns := len(plots[0])
	if columns == 0 {
		return errors.New("figure of costs: fewer than two points have a cost")
	}
	width := max(2.7*vg.Length(columns), 3.2)*vg.Inch + 0.6*vg.Inch
	c := vgimg.NewWith(vgimg.UseWH(width, 3.1*vg.Inch), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	inner := draw.Crop(whole, 22, -10, 20, -22)
	var names legend
	for i, s := range series {
		names = append(names, entry{s, line(seriesColor(i), 1.5)})
	}
	names.draw(whole, whole.Max.Y-10)
	canvases := plot.Align(plots, draw.Tiles{Rows: 1, Cols: columns, PadX: 16}, inner)
	for j, p := range plots[0] {
		p.Draw(canvases[0][j])
		abscissaName(whole, canvases[0][j], p, costs[j])
	}
	first := canvases[0][0]
	first.Min.X = inner.Min.X
	axisName(first, plots[0][0], measure)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of costs: %w", err)
	}
	return nil
}

// errorRange is the range of the errors with their intervals.
func errorRange(points []CostPoint) (lo, hi float64, err error) {
	lo = math.Inf(1)
	for _, point := range points {
		if err := point.validate(); err != nil {
			return 0, 0, err
		}
		lo, hi = min(lo, point.Error), max(hi, point.Error, point.High)
		if point.Low > 0 {
			lo = min(lo, point.Low)
		}
	}
	return lo, hi, nil
}

// costPanel has the points that have one kind of cost.
type costPanel struct {
	name   string
	cost   func(CostPoint) float64
	free   bool // draw a model without this cost as a horizontal line
	points []CostPoint
	across []CostPoint
	series []string
	named  bool // name the circles too; in further panels series are too close together
}

// seriesNames are the names of the circles' series in their order.
func seriesNames(points []CostPoint) []string {
	var names []string
	for _, p := range points {
		if !p.Model && !slices.Contains(names, p.Series) {
			names = append(names, p.Series)
		}
	}
	return names
}

func seriesColor(i int) color.RGBA {
	colors := []color.RGBA{green, purple, blue}
	return colors[i%len(colors)]
}

func (m *costPanel) choose(points []CostPoint) {
	for _, p := range points {
		switch {
		case m.cost(p) > 0:
			m.points = append(m.points, p)
		case m.free && p.Model:
			m.across = append(m.across, p)
		}
	}
}

func (m costPanel) plot() *plot.Plot {
	p := newPlot()
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	lo, hi := math.Inf(1), 0.0
	for _, point := range m.points {
		lo, hi = min(lo, m.cost(point)), max(hi, m.cost(point))
	}
	room := math.Pow(hi/lo, 0.12) * 1.6 // for the names at the ends
	p.X.Min, p.X.Max = lo/room, hi*room
	p.Add(horizontalGrid{}, m)
	return p
}

func (m costPanel) Plot(c draw.Canvas, p *plot.Plot) {
	marks, taken := m.marks(&c, p)
	for s, series := range m.series {
		var path []vg.Point
		for i, point := range m.points {
			if !point.Model && point.Series == series {
				path = append(path, marks[i].at)
			}
		}
		c.StrokeLines(line(tint(seriesColor(s), 0.5), 0.8), path)
	}
	m.drawAcross(c, p)
	places := m.placeNames(c, marks, taken)
	for i, point := range m.points {
		m.drawPoint(c, point, marks[i], places[i])
	}
}

// marks are the points on the canvas; taken is the area of each with its interval.
func (m costPanel) marks(c *draw.Canvas, p *plot.Plot) (marks []mark, taken []vg.Rectangle) {
	trX, trY := p.Transforms(c)
	for _, point := range m.points {
		k := mark{at: vg.Point{X: trX(m.cost(point)), Y: trY(point.Error)}, color: vermilion}
		if !point.Model {
			k.color = seriesColor(slices.Index(m.series, point.Series))
		}
		k.low, k.high = k.at.Y-4, k.at.Y+4
		if point.High > 0 {
			k.low, k.high = min(k.low, trY(max(point.Low, p.Y.Min))), max(k.high, trY(point.High))
		}
		marks = append(marks, k)
		taken = append(taken, vg.Rectangle{Min: vg.Point{X: k.at.X - 4, Y: k.low}, Max: vg.Point{X: k.at.X + 4, Y: k.high}})
	}
	return marks, taken
}

// drawAcross draws the models without this cost as horizontal lines.
func (m costPanel) drawAcross(c draw.Canvas, p *plot.Plot) {
	_, trY := p.Transforms(&c)
	for _, point := range m.across {
		y := trY(point.Error)
		c.StrokeLine2(line(vermilion, 1, 4, 3), c.Min.X, y, c.Max.X, y)
		named := textStyle(textSize, vermilion)
		named.XAlign, named.YAlign = text.XLeft, text.YBottom
		c.FillText(named, vg.Point{X: c.Min.X + 4, Y: y + 2}, point.Name+": no simulated steps")
	}
}

// placeNames finds a place for the name of each point that gets one, and draws lines to
// names that are not next to their marks.
func (m costPanel) placeNames(c draw.Canvas, marks []mark, taken []vg.Rectangle) []vg.Rectangle {
	style := textStyle(textSize, black)
	places := make([]vg.Rectangle, len(m.points))
	for i, point := range m.points {
		if !point.Model && !m.named {
			continue
		}
		places[i] = marks[i].place(style.Width(point.Name), c.Rectangle, taken)
		taken = append(taken, places[i])
		marks[i].lead(c, places[i])
	}
	return places
}

// drawPoint draws a point with its interval and, at place, its name.
func (m costPanel) drawPoint(c draw.Canvas, point CostPoint, k mark, place vg.Rectangle) {
	if point.High > 0 {
		whisker := line(tint(k.color, 0.7), 0.9)
		c.StrokeLine2(whisker, k.at.X, k.low, k.at.X, k.high)
		c.StrokeLine2(whisker, k.at.X-2.5, k.high, k.at.X+2.5, k.high)
		if point.Low > 0 { // on a logarithmic axis zero is out of view
			c.StrokeLine2(whisker, k.at.X-2.5, k.low, k.at.X+2.5, k.low)
		}
	}
	if point.Model {
		c.FillPolygon(k.color, star(k.at, 6.5))
	} else {
		c.DrawGlyph(draw.GlyphStyle{Color: k.color, Radius: 3.2, Shape: draw.CircleGlyph{}}, k.at)
	}
	if point.Model || m.named {
		style := textStyle(textSize, black)
		if len(m.series) > 1 { // the colour shows which mark a name belongs to
			style.Color = k.color
		}
		c.FillText(style, vg.Point{X: (place.Min.X + place.Max.X) / 2, Y: (place.Min.Y + place.Max.Y) / 2}, point.Name)
	}
}

// costData writes what drawCosts draws as CSV.
func costData(w io.Writer, points []CostPoint) error {
	return writeCSV(w, []string{"series", "row", "seconds", "simulated_steps", "sequential_steps", "error", "low", "high"}, func(row func(...string) error) error {
		for _, p := range points {
			if err := p.validate(); err != nil {
				return fmt.Errorf("data of costs: %w", err)
			}
			if err := row(p.Series, p.Name, number(p.Seconds), number(p.Simulated), number(p.Steps), number(p.Error), number(p.Low), number(p.High)); err != nil {
				return err
			}
		}
		return nil
	})
}
