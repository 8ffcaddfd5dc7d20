package main

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series of the figure, and how they look.
var series = []struct {
	kind  string
	color color.Color
	shape draw.GlyphDrawer
}{
	{"model", color.RGBA{0xd5, 0x5e, 0x00, 0xff}, draw.PyramidGlyph{}},
	{"model + repair", color.RGBA{0x00, 0x72, 0xb2, 0xff}, draw.CircleGlyph{}},
	{"model + few chains", color.RGBA{0x56, 0xb4, 0xe9, 0xff}, draw.RingGlyph{}},
	{"model + weights", color.RGBA{0xcc, 0x79, 0xa7, 0xff}, draw.BoxGlyph{}},
	{"4,096 chains", color.RGBA{0x00, 0x9e, 0x73, 0xff}, draw.SquareGlyph{}},
	{"64 chains", color.RGBA{0x99, 0x99, 0x99, 0xff}, draw.CrossGlyph{}},
}

// drawFigure writes NAME.svg and NAME.csv: mean W2 against the time of a function, both logarithmic.
func drawFigure(base string, rows []row) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "time of a function, ms", "mean W2 to the exact law"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Left, p.Legend.YOffs = true, vg.Points(18)
	p.Add(plotter.NewGrid())
	for _, s := range series {
		var points plotter.XYs
		for _, r := range rows {
			if r.kind == s.kind {
				points = append(points, plotter.XY{X: 1e3 * r.seconds, Y: r.mean})
			}
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, marks.Color, marks.Shape, marks.Radius = s.color, s.color, s.shape, vg.Points(3.5)
		if s.kind == "model" || s.kind == "model + few chains" || len(points) == 1 { // several budgets, or one
			p.Add(marks)
		} else {
			p.Add(line, marks)
		}
		p.Legend.Add(s.kind, marks)
	}
	floor := rows[len(rows)-1].mean
	best := plotter.NewFunction(func(float64) float64 { return floor })
	best.Dashes, best.Color = []vg.Length{vg.Points(4), vg.Points(3)}, color.Black
	p.Add(best)
	p.Y.Min, p.Y.Max = floor/3, 2.5 // with room for the legend
	p.Legend.Add("independent draws", best)
	if err := p.Save(16*vg.Centimeter, 11*vg.Centimeter, base+".svg"); err != nil {
		return err
	}
	return numbers(base+".csv", rows)
}

func numbers(path string, rows []row) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := csv.NewWriter(f)
	_ = w.Write([]string{"kind", "name", "seconds", "w2_mean", "w2_median"})
	for _, r := range rows {
		_ = w.Write([]string{r.kind, r.name, fmt.Sprintf("%.4g", r.seconds), strconv.FormatFloat(r.mean, 'g', 5, 64), strconv.FormatFloat(r.median, 'g', 5, 64)})
	}
	w.Flush()
	return w.Error()
}
