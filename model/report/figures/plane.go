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

const planeCaption = "Samples in the plane as densities over hexagons, for the held-out functions at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence. Target: the reference; generated: the model. The more a panel looks like the target, the better."

func planeFigure(rows []planeRow) Figure {
	return Figure{"samples", planeCaption,
		func(w io.Writer) error { return drawPlane(w, rows) },
		func(w io.Writer) error { return planeData(w, rows) }}
}

func planeRows(percentiles []evaluate.Percentile) []planeRow {
	var rows []planeRow
	for _, p := range percentiles {
		row := planeRow{Percent: p.Percent, Function: p.Function.Index, Sinkhorn: p.Function.Sinkhorn,
			Sets: []planeSet{{"target", p.Reference}}}
		if len(p.MCMC) > 0 {
			row.Sets = append(row.Sets, planeSet{p.MCMCName, p.MCMC})
		}
		row.Sets = append(row.Sets, planeSet{"generated", p.Model})
		rows = append(rows, row)
	}
	return rows
}

// planeRow is one function in the plane with the sets of samples to compare, the target
// first.
type planeRow struct {
	Percent  int // its percentile of the model's Sinkhorn divergence
	Function int
	Sinkhorn float64
	Sets     []planeSet
}

// planeSet is samples [N, 2] of a law.
type planeSet struct {
	Name   string
	Points []float32
}

// drawPlane draws densities of samples in the plane side by side, one row per
// function, as PNG: counts in hexagons, in one colour scale and one frame per
// row. All rows must have the same columns.
func drawPlane(w io.Writer, rows []planeRow) error {
	if err := validatePlane(rows); err != nil {
		return fmt.Errorf("figure of the plane: %w", err)
	}
	columns := len(rows[0].Sets)
	plots := make([][]*plot.Plot, len(rows))
	for i, row := range rows {
		plots[i] = planePlots(row, i == len(rows)-1)
	}
	const side, labels, bottom = 1.75 * vg.Inch, vg.Length(66), vg.Length(30)
	width := labels + side*vg.Length(columns) + 24
	c := vgimg.NewWith(vgimg.UseWH(width, side*vg.Length(len(rows))+bottom+26), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: len(rows), Cols: columns, PadX: 9, PadY: 9}, draw.Crop(whole, labels, -10, bottom, -20))
	for i, row := range rows {
		for j, p := range plots[i] {
			// Equal scales in both directions: the wider one shows a longer range.
			box := p.DataCanvas(canvases[i][j]).Size()
			middle, half := (p.X.Min+p.X.Max)/2, (p.X.Max-p.X.Min)/2*float64(box.X/box.Y)
			p.X.Min, p.X.Max = middle-half, middle+half
			p.Draw(canvases[i][j])
			if i == 0 { // the library's titles are not level where only one panel names its axis
				data := p.DataCanvas(canvases[i][j])
				whole.FillText(textStyle(textSize+1, black), vg.Point{X: data.Center().X, Y: data.Max.Y + 10}, row.Sets[j].Name)
			}
		}
		box := plots[i][0].DataCanvas(canvases[i][0])
		rowLabel(whole, vg.Point{X: 6, Y: (box.Min.Y+box.Max.Y)/2 + 15}, row.Percent,
			"function "+Thousands(row.Function), fmt.Sprintf("Sinkhorn %.2g", row.Sinkhorn))
	}
	scale(whole, vg.Point{X: whole.Center().X, Y: 13}, "the row's highest")
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of the plane: %w", err)
	}
	return nil
}

func validatePlane(rows []planeRow) error {
	if len(rows) == 0 || len(rows[0].Sets) == 0 {
		return errors.New("no functions")
	}
	for _, row := range rows {
		if len(row.Sets) != len(rows[0].Sets) {
			return fmt.Errorf("function %d has %d columns, the first %d", row.Function, len(row.Sets), len(rows[0].Sets))
		}
		for _, s := range row.Sets {
			if len(s.Points) == 0 || len(s.Points)%2 != 0 {
				return fmt.Errorf("function %d: %s has %d coordinates", row.Function, s.Name, len(s.Points))
			}
			for i, v := range s.Points {
				if v-v != 0 {
					return fmt.Errorf("function %d: sample %d of the %s is not finite", row.Function, i/2, s.Name)
				}
			}
		}
	}
	return nil
}

func planePlots(row planeRow, last bool) []*plot.Plot {
	x, y, side := frame(row)
	width := side / hexagonsAcross
	var counts []map[cell]int
	var parts []float64 // of the samples, in each hexagon with any, all sets
	for _, s := range row.Sets {
		c := hexagonal(s.Points, width)
		for _, n := range c {
			parts = append(parts, float64(n)/float64(len(s.Points)/2))
		}
		counts = append(counts, c)
	}
	slices.Sort(parts)
	full := parts[int(0.995*float64(len(parts)-1))] // a few crowded hexagons would make all others pale
	var plots []*plot.Plot
	for j, s := range row.Sets {
		p := newPlot()
		p.X.Min, p.X.Max = x-side/2, x+side/2
		p.Y.Min, p.Y.Max = y-side/2, y+side/2
		p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks(5), niceTicks(5)
		p.X.Padding, p.Y.Padding = 0, 0
		if last {
			p.X.Label.Text = "x"
		}
		if j == 0 {
			p.Y.Label.Text = "y"
		} else {
			p.Y.Tick.Marker = unlabelled{niceTicks(5)}
		}
		p.Add(hexagons{counts[j], width, full * float64(len(s.Points)/2)})
		plots = append(plots, p)
	}
	return plots
}

// frame is the square around each set without the outer thousandth of its coordinates at
// either end.
func frame(row planeRow) (x, y, side float64) {
	var centre [2]float64
	for axis := range 2 {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range row.Sets {
			along := make([]float64, len(s.Points)/2)
			for i := range along {
				along[i] = float64(s.Points[2*i+axis])
			}
			slices.Sort(along)
			tail := len(along) / 1000
			lo, hi = min(lo, along[tail]), max(hi, along[len(along)-1-tail])
		}
		centre[axis], side = (lo+hi)/2, max(side, hi-lo)
	}
	return centre[0], centre[1], 1.06*side + 1e-2*max(1, math.Abs(centre[0]), math.Abs(centre[1]))
}

// scale draws the colour scale, with the name of its upper end.
func scale(c draw.Canvas, centre vg.Point, highest string) {
	const width, height, parts = vg.Length(90), vg.Length(6), 90
	for k := range parts {
		x := centre.X - width/2 + vg.Length(k)*width/parts
		c.FillPolygon(ramp(float64(k)/(parts-1)), []vg.Point{{X: x, Y: centre.Y - height/2}, {X: x + 1.1*width/parts, Y: centre.Y - height/2},
			{X: x + 1.1*width/parts, Y: centre.Y + height/2}, {X: x, Y: centre.Y + height/2}})
	}
	style := textStyle(textSize, black)
	style.XAlign, style.YAlign = text.XRight, -0.35
	c.FillText(style, vg.Point{X: centre.X - width/2 - 5, Y: centre.Y}, "density: none")
	style.XAlign = text.XLeft
	c.FillText(style, vg.Point{X: centre.X + width/2 + 5, Y: centre.Y}, highest)
}

// planeData writes the samples that drawPlane draws as CSV.
func planeData(w io.Writer, rows []planeRow) error {
	if err := validatePlane(rows); err != nil {
		return fmt.Errorf("data of the plane: %w", err)
	}
	return writeCSV(w, []string{"percent", "function", "set", "x", "y"}, func(row func(...string) error) error {
		for _, r := range rows {
			percent, function := strconv.Itoa(r.Percent), strconv.Itoa(r.Function)
			for _, s := range r.Sets {
				for i := 0; i < len(s.Points); i += 2 {
					if err := row(percent, function, s.Name, number(s.Points[i]), number(s.Points[i+1])); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}
