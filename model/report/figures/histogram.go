package figures

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// histogram is the density of the samples in n equal bins over [lo, hi). Samples outside
// count in the normalisation alone.
func histogram[T float32 | float64](samples []T, lo, hi float64, n int) []float64 {
	density := make([]float64, n)
	width := (hi - lo) / float64(n)
	for _, v := range samples {
		if i := int(math.Floor((float64(v) - lo) / width)); i >= 0 && i < n {
			density[i] += 1 / (width * float64(len(samples)))
		}
	}
	return density
}

// filledHistogram is a histogram as a pale area with its outline.
type filledHistogram struct {
	density []float64
	lo, hi  float64
	color   color.RGBA
}

func (s filledHistogram) Plot(c draw.Canvas, p *plot.Plot) {
	edge := histogramEdge(&c, p, s.density, s.lo, s.hi)
	c.FillPolygon(tint(s.color, 0.55), c.ClipPolygonXY(edge))
	c.StrokeLines(line(s.color, 0.5), c.ClipLinesXY(edge)...)
}

// outlinedHistogram is a histogram as a line, to draw over a filled one.
type outlinedHistogram struct {
	density []float64
	lo, hi  float64
	style   draw.LineStyle
}

func (o outlinedHistogram) Plot(c draw.Canvas, p *plot.Plot) {
	c.StrokeLines(o.style, c.ClipLinesXY(histogramEdge(&c, p, o.density, o.lo, o.hi))...)
}

// histogramEdge is the upper edge of bars of equal width from lo to hi, down to zero at
// both ends.
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
