package figures

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// boxPlot is a horizontal box plot in the middle of its panel, on a logarithmic axis.
type boxPlot struct {
	values []float64
	color  color.RGBA
}

func (b boxPlot) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	at := func(v float64) vg.Length { return trX(max(v, logFloor)) }
	sorted := slices.Sorted(slices.Values(b.values))
	var mean float64
	for _, v := range sorted {
		mean += v / float64(len(sorted))
	}
	const half = vg.Length(7)
	y := c.Center().Y
	thin, thick := line(b.color, 1), line(b.color, 2)
	low, high := quantile(sorted, 0.05), quantile(sorted, 0.95)
	left, right := at(quantile(sorted, 0.25)), at(quantile(sorted, 0.75))
	for _, v := range sorted {
		if v < low || v > high {
			c.DrawGlyph(draw.GlyphStyle{Color: tint(b.color, 0.7), Radius: 1.1, Shape: draw.CircleGlyph{}}, vg.Point{X: at(v), Y: y})
		}
	}
	c.StrokeLine2(thin, at(low), y, left, y)
	c.StrokeLine2(thin, right, y, at(high), y)
	for _, end := range []vg.Length{at(low), at(high)} {
		c.StrokeLine2(thin, end, y-half/2, end, y+half/2)
	}
	corners := []vg.Point{{X: left, Y: y - half}, {X: right, Y: y - half}, {X: right, Y: y + half}, {X: left, Y: y + half}, {X: left, Y: y - half}}
	c.FillPolygon(tint(b.color, 0.35), corners)
	c.StrokeLines(thin, corners)
	median := at(quantile(sorted, 0.5))
	c.StrokeLine2(thick, median, y-half, median, y+half)
	centre := vg.Point{X: at(mean), Y: y}
	diamond := []vg.Point{{X: centre.X - 3.4, Y: y}, {X: centre.X, Y: y + 3.4}, {X: centre.X + 3.4, Y: y}, {X: centre.X, Y: y - 3.4}, {X: centre.X - 3.4, Y: y}}
	c.FillPolygon(color.White, diamond)
	c.StrokeLines(line(black, 0.9), diamond)
}

// quantile interpolates linearly between sorted values: u = 0 is the first, u = 1 the
// last.
func quantile(sorted []float64, u float64) float64 {
	at := u * float64(len(sorted)-1)
	k := int(at)
	if k+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
}
