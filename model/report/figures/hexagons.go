package figures

import (
	"cmp"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// hexagonsAcross is the number of hexagons across a panel.
const hexagonsAcross = 40

// cell is the position of a hexagon. Rows are √3/2 widths apart, and odd rows are
// shifted by half a width.
type cell struct{ column, row int }

// hexagonal counts points in hexagons of a width, with a corner at the top. A point
// belongs to the hexagon with the nearest centre.
func hexagonal(points []float32, width float64) map[cell]int {
	counts := map[cell]int{}
	for i := 0; i+1 < len(points); i += 2 {
		x, y := float64(points[i])/width, float64(points[i+1])/width
		var best cell
		nearest := math.Inf(1)
		below := int(math.Floor(y / rowHeight))
		for _, row := range [2]int{below, below + 1} {
			shift := float64(row&1) / 2
			column := math.Round(x - shift)
			dx, dy := x-shift-column, y-float64(row)*rowHeight
			if d := dx*dx + dy*dy; d < nearest {
				best, nearest = cell{int(column), row}, d
			}
		}
		counts[best]++
	}
	return counts
}

// rowHeight is the distance of rows in widths, √3/2.
var rowHeight = math.Sqrt(3) / 2

// hexagons draws densities, in the colour of count/full.
type hexagons struct {
	counts map[cell]int
	width  float64
	full   float64
}

func (h hexagons) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	cells := slices.SortedFunc(maps.Keys(h.counts), func(a, b cell) int { // overlapping edges blend: a fixed order makes the picture reproducible
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.column, b.column))
	})
	for _, at := range cells {
		x := (float64(at.column) + float64(at.row&1)/2) * h.width
		y := float64(at.row) * rowHeight * h.width
		outline := make([]vg.Point, 6)
		for k := range outline {
			sin, cos := math.Sincos((float64(k) + 0.5) * math.Pi / 3)
			r := 1.02 * h.width / math.Sqrt(3) // neighbours overlap a little, to leave no gaps
			outline[k] = vg.Point{X: trX(x + r*cos), Y: trY(y + r*sin)}
		}
		if clipped := c.ClipPolygonXY(outline); len(clipped) > 2 {
			c.FillPolygon(ramp(float64(h.counts[at])/h.full), clipped)
		}
	}
}

// ramp is the colour of a density u in [0, 1]: from nearly white through blue to nearly
// black, with evenly falling lightness. It clips u.
func ramp(u float64) color.RGBA {
	stops := []color.RGBA{{0xee, 0xf5, 0xfb, 0xff}, {0x9c, 0xca, 0xe6, 0xff}, {0x3d, 0x96, 0xcc, 0xff}, {0x0b, 0x5c, 0x9c, 0xff}, {0x08, 0x2a, 0x52, 0xff}}
	at := min(max(u, 0), 1) * float64(len(stops)-1)
	k := min(int(at), len(stops)-2)
	part := func(a, b uint8) uint8 { return uint8(float64(a) + (at-float64(k))*(float64(b)-float64(a))) }
	a, b := stops[k], stops[k+1]
	return color.RGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 0xff}
}
