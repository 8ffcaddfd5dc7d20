package figures

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend is one line of entries outside the axes, where it covers no data.
type legend []entry

type entry struct {
	name  string
	style draw.LineStyle
}

// draw centres the legend at height y of the canvas.
func (l legend) draw(c draw.Canvas, y vg.Length) {
	const swatch, gap, space = vg.Length(18), vg.Length(4), vg.Length(16)
	style := textStyle(textSize, black)
	style.XAlign = text.XLeft
	style.YAlign = -0.35 // optically in the middle of lowercase letters
	width := -space
	for _, e := range l {
		width += swatch + gap + style.Width(e.name) + space
	}
	x := c.Center().X - width/2
	for _, e := range l {
		c.StrokeLine2(e.style, x, y, x+swatch, y)
		x += swatch + gap
		c.FillText(style, vg.Point{X: x, Y: y}, e.name)
		x += style.Width(e.name) + space
	}
}

// horizontalGrid draws a faint line at every labelled tick of the y axis. Add it first,
// under the data.
type horizontalGrid struct{}

func (horizontalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	_, trY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" {
			c.StrokeLine2(line(faint, 0.4), c.Min.X, trY(t.Value), c.Max.X, trY(t.Value))
		}
	}
}

// tint mixes a colour with white: amount 1 is the colour, 0 is white. It is opaque.
func tint(c color.RGBA, amount float64) color.RGBA {
	part := func(v uint8) uint8 { return uint8(255 - amount*(255-float64(v))) }
	return color.RGBA{part(c.R), part(c.G), part(c.B), 0xff}
}
