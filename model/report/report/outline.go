package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// outline is a histogram as a line, to lie over a filled one.
type outline struct {
	density []float64
	lo, hi  float64
	style   draw.LineStyle
}

func (o outline) Plot(c draw.Canvas, p *plot.Plot) {
	c.StrokeLines(o.style, c.ClipLinesXY(histogramEdge(&c, p, o.density, o.lo, o.hi))...)
}

// histogramEdge goes up, along and down again over bars of equal width from lo to
// hi.
func histogramEdge(c *draw.Canvas, p *plot.Plot, density []float64, lo, hi float64) []vg.Point {
	trX, trY := p.Transforms(c)
	width := (hi - lo) / float64(len(density))
	edge := []vg.Point{{X: trX(lo), Y: trY(0)}}
	for i, d := range density {
		left, right := trX(lo+float64(i)*width), trX(lo+float64(i+1)*width)
		edge = append(edge, vg.Point{X: left, Y: trY(d)}, vg.Point{X: right, Y: trY(d)})
	}
	return append(edge, vg.Point{X: trX(hi), Y: trY(0)})
}
