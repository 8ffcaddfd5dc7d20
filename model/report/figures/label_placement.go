package figures

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mark is a point of a figure with a name, and with the extent of its whiskers.
type mark struct {
	at        vg.Point
	low, high vg.Length
	color     color.RGBA
}

// place finds a rectangle for a name of the width: the one that covers least of what is
// taken and of what is outside. Among equals it prefers the nearest: above or below,
// centred or to a side, then farther away.
func (m mark) place(width vg.Length, inside vg.Rectangle, taken []vg.Rectangle) vg.Rectangle {
	const half, line = textSize * 0.6, textSize * 1.3
	var best vg.Rectangle
	least := vg.Length(math.Inf(1))
	for away := vg.Length(0); away < 6; away++ {
		for _, y := range []vg.Length{m.high + half + 2 + away*line, m.low - half - 2 - away*line} {
			for _, right := range []vg.Length{0, 0.4, -0.4} {
				centre := vg.Point{X: m.at.X + right*width, Y: y}
				place := vg.Rectangle{Min: vg.Point{X: centre.X - width/2, Y: y - half}, Max: vg.Point{X: centre.X + width/2, Y: y + half}}
				covered := width*2*half - overlap(place, inside)
				for _, t := range taken {
					covered += overlap(place, t)
				}
				if covered < least-1e-6 {
					best, least = place, covered
				}
			}
		}
	}
	return best
}

// lead draws a line from the mark to its name, if that is not next to it.
func (m mark) lead(c draw.Canvas, place vg.Rectangle) {
	x := min(max(m.at.X, place.Min.X), place.Max.X)
	switch {
	case place.Min.Y > m.high+6:
		c.StrokeLine2(line(grey, 0.5), m.at.X, m.high, x, place.Min.Y)
	case place.Max.Y < m.low-6:
		c.StrokeLine2(line(grey, 0.5), m.at.X, m.low, x, place.Max.Y)
	}
}

// overlap is the common area of two rectangles.
func overlap(a, b vg.Rectangle) vg.Length {
	width := min(a.Max.X, b.Max.X) - max(a.Min.X, b.Min.X)
	height := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return max(width, 0) * max(height, 0)
}

// star has five points at the radius.
func star(centre vg.Point, radius vg.Length) []vg.Point {
	points := make([]vg.Point, 10)
	for i := range points {
		r := radius
		if i%2 == 1 {
			r *= 0.4
		}
		sin, cos := math.Sincos(float64(i) * math.Pi / 5)
		points[i] = vg.Point{X: centre.X + r*vg.Length(sin), Y: centre.Y + r*vg.Length(cos)}
	}
	return points
}
