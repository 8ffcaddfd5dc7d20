package figures

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is a line through points, clipped to the axes.
type curve struct {
	x, y  []float64
	style draw.LineStyle
}

func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	points := make([]vg.Point, len(l.x))
	for i := range l.x {
		points[i] = vg.Point{X: trX(l.x[i]), Y: trY(l.y[i])}
	}
	c.StrokeLines(l.style, c.ClipLinesXY(points)...)
}

// empirical is the empirical distribution function at every sample.
func empirical(samples []float32) (x, y []float64) {
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	x, y = make([]float64, len(sorted)), make([]float64, len(sorted))
	for i, v := range sorted {
		x[i], y[i] = float64(v), (float64(i)+0.5)/float64(len(sorted))
	}
	return x, y
}
