package figures

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The palette of Okabe and Ito, which readers with any colour vision can distinguish.
// The luminances differ too, for printing in grey.
var (
	black     = color.RGBA{0x1a, 0x1a, 0x1a, 0xff}
	grey      = color.RGBA{0x8a, 0x8a, 0x8a, 0xff}
	faint     = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	blue      = color.RGBA{0x00, 0x72, 0xb2, 0xff} // reference
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff} // MCMC
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff} // model
	purple    = color.RGBA{0xcc, 0x79, 0xa7, 0xff} // normals
	orange    = color.RGBA{0xe6, 0x9f, 0x00, 0xff} // untrained
)

const (
	dpi      = 200
	textSize = vg.Length(8) // points, as in a paper's figures
	hairline = vg.Length(0.6)
)

func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		Handler: plot.DefaultTextHandler,
		XAlign:  text.XCenter,
		YAlign:  text.YCenter,
	}
}

// newPlot is an empty plot in the report's style: thin axes, small sans-serif
// labels, ticks outside, no frame.
func newPlot() *plot.Plot {
	p := plot.New()
	p.Title.TextStyle = textStyle(textSize+1, black)
	p.Title.TextStyle.YAlign = text.YTop
	p.Title.Padding = 3
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Width, a.Padding = black, hairline, 3
		a.Tick.Color, a.Tick.Width, a.Tick.Length = black, hairline, 3
		align := a.Tick.Label // keep its alignment, which differs between the axes
		a.Tick.Label = textStyle(textSize, black)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = align.XAlign, align.YAlign
		label := a.Label.TextStyle
		a.Label.TextStyle = textStyle(textSize+0.5, black)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = label.XAlign, label.YAlign
		a.Label.TextStyle.Rotation = label.Rotation
		a.Label.Padding = 3
	}
	return p
}

// axisName names the y axis at the left of the canvas, where it needs 16 points. The
// library would place the name of a logarithmic axis as if the axis were linear, and
// leave room for that at the top.
func axisName(c draw.Canvas, p *plot.Plot, name string) {
	box, style := p.DataCanvas(c), textStyle(textSize+0.5, black)
	style.Rotation = math.Pi / 2
	c.FillText(style, vg.Point{X: c.Min.X - 8, Y: (box.Min.Y + box.Max.Y) / 2}, name)
}

// abscissaName names a logarithmic x axis, below its labels, for the same reason.
func abscissaName(whole, c draw.Canvas, p *plot.Plot, name string) {
	box := p.DataCanvas(c)
	whole.FillText(textStyle(textSize+0.5, black), vg.Point{X: box.Center().X, Y: c.Min.Y - 8}, name)
}

func line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// logTicks marks 1 to 9 times every power of ten and labels the powers; over less than
// two decades it also labels 2 and 5.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	labelled := func(digit float64) bool {
		return digit == 1 || hi/lo < 100 && (digit == 2 || digit == 5)
	}
	for exponent := math.Floor(math.Log10(lo)); exponent <= math.Log10(hi); exponent++ {
		for digit := 1.0; digit < 10; digit++ {
			v := digit * math.Pow(10, exponent)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			if labelled(digit) {
				tick.Label = strconv.FormatFloat(v, 'f', -1, 64)
				if digit == 1 && (v < 1e-3 || v >= 1e4) {
					tick.Label = fmt.Sprintf("1e%.0f", exponent) // the font has no superscript minus
				}
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// niceTicks are at most count labelled multiples of 1, 2 or 5 powers of ten.
type niceTicks int

func (count niceTicks) Ticks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(count))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*factor) <= float64(count) {
			step *= factor
			break
		}
	}
	var ticks []plot.Tick
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label(k*step, step)})
	}
	return ticks
}

// unlabelled keeps the marks of a ticker without their labels.
type unlabelled struct{ plot.Ticker }

func (u unlabelled) Ticks(lo, hi float64) []plot.Tick {
	ticks := u.Ticker.Ticks(lo, hi)
	for i := range ticks {
		ticks[i].Label = ""
	}
	return ticks
}

// label writes a multiple of step without rounding errors: 12,000 or −0.4.
func label(v, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < 0 && strings.Trim(s, "0.") != "" {
		s = "−" + s
	}
	if math.Abs(v) >= 1000 {
		return Thousands(int(math.Round(v)))
	}
	return s
}

// Thousands writes a whole number with commas: 32,256.
func Thousands(n int) string {
	if n < 0 {
		return "−" + Thousands(-n)
	}
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}
