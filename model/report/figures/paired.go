package figures

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Paired has a distance of every held-out function, of two models.
type Paired struct {
	Functions           []int
	Candidate, Champion []float64
	Name, Unit          string // of the distance; Unit may be empty
	// Mean is that of candidate − champion, between Low and High; nil: no interval.
	Mean      float64
	Low, High *float64
}

// Colours of functions for which the candidate is closer to the reference, and further.
var closer, further = green, vermilion

// PairedFigure shows the differences of all functions, and both values of each.
func PairedFigure(p Paired) Figure {
	below := 0
	for _, values := range [][]float64{p.Candidate, p.Champion} {
		for _, v := range values {
			if v < logFloor {
				below++
			}
		}
	}
	caption := fmt.Sprintf("Candidate against champion in %s, lower is better. Left: difference of every held-out function, in order; the dashed line is the mean, the band its confidence interval. Right: both values of every function; below the diagonal the candidate is closer to the reference.", p.Name)
	if below > 0 {
		caption += fmt.Sprintf(" %d values below 1e-5 are drawn at 1e-5.", below)
	}
	return Figure{"comparison", caption,
		func(w io.Writer) error { return drawPaired(w, p) },
		func(w io.Writer) error { return pairedData(w, p) }}
}

func (p Paired) validate() error {
	if len(p.Functions) == 0 {
		return errors.New("no functions")
	}
	if len(p.Candidate) != len(p.Functions) || len(p.Champion) != len(p.Functions) {
		return fmt.Errorf("%d functions, %d values of the candidate and %d of the champion", len(p.Functions), len(p.Candidate), len(p.Champion))
	}
	for i := range p.Functions {
		if d := p.Candidate[i] - p.Champion[i]; d-d != 0 {
			return fmt.Errorf("function %d has %v and %v", p.Functions[i], p.Candidate[i], p.Champion[i])
		}
	}
	return nil
}

// order are the positions of functions by increasing difference.
func (p Paired) order() []int {
	order := make([]int, len(p.Functions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(p.Candidate[a]-p.Champion[a], p.Candidate[b]-p.Champion[b])
	})
	return order
}

func drawPaired(w io.Writer, p Paired) error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("figure of paired differences: %w", err)
	}
	unit := ""
	if p.Unit != "" {
		unit = " (" + p.Unit + ")"
	}
	differences, both := p.differencePlot(), p.bothPlot()
	c := vgimg.NewWith(vgimg.UseWH(7.2*vg.Inch, 3.4*vg.Inch), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align([][]*plot.Plot{{differences, both}}, draw.Tiles{Rows: 1, Cols: 2, PadX: 30}, draw.Crop(whole, 22, -12, 22, -22))
	differences.Draw(canvases[0][0])
	both.Draw(canvases[0][1])
	abscissaName(whole, canvases[0][0], differences, "Held-out functions, by difference")
	axisName(canvases[0][0], differences, "Candidate − champion"+unit)
	abscissaName(whole, canvases[0][1], both, "Champion, "+p.Name+unit)
	axisName(canvases[0][1], both, "Candidate, "+p.Name+unit)
	legend{{"candidate closer to the reference", line(closer, 2.5)}, {"candidate further", line(further, 2.5)}}.draw(whole, whole.Max.Y-10)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of paired differences: %w", err)
	}
	return nil
}

// differencePlot has a bar for the difference of every function.
func (p Paired) differencePlot() *plot.Plot {
	out := newPlot()
	var b bars
	lo, hi := min(p.Mean, 0), max(p.Mean, 0)
	for _, i := range p.order() {
		d := p.Candidate[i] - p.Champion[i]
		b.heights = append(b.heights, d)
		lo, hi = min(lo, d), max(hi, d)
	}
	if lo == hi {
		lo, hi = -1, 1
	}
	b.mean, b.low, b.high = p.Mean, p.Low, p.High
	out.X.Min, out.X.Max = 0, float64(len(b.heights))
	out.Y.Min, out.Y.Max = lo-0.05*(hi-lo), hi+0.05*(hi-lo)
	out.X.Tick.Marker, out.Y.Tick.Marker = niceTicks(5), niceTicks(6)
	out.Add(horizontalGrid{}, b)
	return out
}

// bars are sorted differences, their mean and its interval.
type bars struct {
	heights   []float64
	mean      float64
	low, high *float64
}

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	within := func(v float64) vg.Length { return min(max(trY(v), c.Min.Y), c.Max.Y) }
	if b.low != nil && b.high != nil {
		c.FillPolygon(faint, []vg.Point{{X: c.Min.X, Y: within(*b.low)}, {X: c.Max.X, Y: within(*b.low)}, {X: c.Max.X, Y: within(*b.high)}, {X: c.Min.X, Y: within(*b.high)}})
	}
	zero := trY(0)
	for i, h := range b.heights {
		left, right := trX(float64(i)+0.1), trX(float64(i)+0.9)
		c.FillPolygon(sideColour(h), []vg.Point{{X: left, Y: zero}, {X: right, Y: zero}, {X: right, Y: trY(h)}, {X: left, Y: trY(h)}})
	}
	c.StrokeLine2(line(black, hairline), c.Min.X, zero, c.Max.X, zero)
	c.StrokeLine2(line(black, 0.9, 4, 2), c.Min.X, trY(b.mean), c.Max.X, trY(b.mean))
}

// sideColour is that of a difference.
func sideColour(difference float64) color.RGBA {
	switch {
	case difference < 0:
		return closer
	case difference > 0:
		return further
	}
	return grey
}

// bothPlot has a point for both values of every function, on logarithmic axes of one range.
func (p Paired) bothPlot() *plot.Plot {
	out := newPlot()
	lo, hi := math.Inf(1), 10*logFloor
	var s scatter
	for i := range p.Functions {
		x, y := max(p.Champion[i], logFloor), max(p.Candidate[i], logFloor)
		lo, hi = min(lo, x, y), max(hi, x, y)
		s.x, s.y, s.differences = append(s.x, x), append(s.y, y), append(s.differences, p.Candidate[i]-p.Champion[i])
	}
	lo, hi = min(lo, hi/10)/1.25, hi*1.25
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Scale, a.Tick.Marker, a.Min, a.Max = plot.LogScale{}, logTicks{}, lo, hi
	}
	out.Add(horizontalGrid{}, curve{[]float64{lo, hi}, []float64{lo, hi}, line(black, hairline)}, s)
	return out
}

type scatter struct{ x, y, differences []float64 }

func (s scatter) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i := range s.x {
		c.DrawGlyph(draw.GlyphStyle{Color: sideColour(s.differences[i]), Radius: 1.5, Shape: draw.CircleGlyph{}}, vg.Point{X: trX(s.x[i]), Y: trY(s.y[i])})
	}
}

// pairedData has one line per function, by increasing difference.
func pairedData(w io.Writer, p Paired) error {
	return writeCSV(w, []string{"function", "candidate", "champion", "difference"}, func(row func(...string) error) error {
		for _, i := range p.order() {
			if err := row(strconv.Itoa(p.Functions[i]), number(p.Candidate[i]), number(p.Champion[i]), number(p.Candidate[i]-p.Champion[i])); err != nil {
				return err
			}
		}
		return nil
	})
}
