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
	trX, trY := p.Transforms(&c)
	width := (o.hi - o.lo) / float64(len(o.density))
	points := []vg.Point{{X: trX(o.lo), Y: trY(0)}}
	for i, d := range o.density {
		left, right := trX(o.lo+float64(i)*width), trX(o.lo+float64(i+1)*width)
		points = append(points, vg.Point{X: left, Y: trY(d)}, vg.Point{X: right, Y: trY(d)})
	}
	points = append(points, vg.Point{X: trX(o.hi), Y: trY(0)})
	c.StrokeLines(o.style, c.ClipLinesXY(points)...)
}
