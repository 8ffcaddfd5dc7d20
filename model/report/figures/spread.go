package figures

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// spreadRow has a number of every function, for one row of the table.
type spreadRow struct {
	Kind   evaluate.Kind // decides the colour
	Name   string
	Values []float64
}

// spreadBins is the number of bins of a histogram, up to the spreadClip quantile of all
// values together.
const (
	spreadBins = 40
	spreadClip = 0.95
)

func validateSpread(rows []spreadRow) error {
	if len(rows) == 0 {
		return errors.New("no rows")
	}
	for _, r := range rows {
		if len(r.Values) == 0 {
			return fmt.Errorf("%s has no values", r.Name)
		}
		for i, v := range r.Values {
			if v-v != 0 {
				return fmt.Errorf("%s has the value %v for function %d", r.Name, v, i)
			}
		}
	}
	return nil
}

// drawSpread draws the distribution of a distance over functions, as PNG, one line per
// row of the table: a histogram up to the 95th percentile of all values, and a box plot
// on a logarithmic axis. The box has the middle half and the median, whiskers end at
// the 5th and 95th percentile, points are beyond them, a diamond is the mean. Values
// below 1e-5 are drawn at 1e-5.
func drawSpread(w io.Writer, rows []spreadRow, name string) error {
	if err := validateSpread(rows); err != nil {
		return fmt.Errorf("figure of spreads: %w", err)
	}
	clip, whole := spreadRanges(rows)
	plots := make([][]*plot.Plot, len(rows))
	for i, r := range rows {
		plots[i] = spreadPlots(r, clip, whole, i == len(rows)-1)
	}
	c := layOutSpread(plots, rows, name)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of spreads: %w", err)
	}
	return nil
}

// spreadPlots are the histogram and the box plot of a row. The last row labels its axes.
func spreadPlots(r spreadRow, clip, whole axisRange, last bool) []*plot.Plot {
	h, b := newPlot(), newPlot()
	for _, p := range []*plot.Plot{h, b} {
		p.Y.Tick.Marker = plot.ConstantTicks(nil)
		p.Y.Width = 0
	}
	colour := spreadColour(r.Kind)
	values := make([]float32, len(r.Values))
	for k, v := range r.Values {
		values[k] = float32(v)
	}
	counts := histogram(values, clip.lo, clip.hi, spreadBins)
	h.Add(filledHistogram{counts, clip.lo, clip.hi, colour})
	h.X.Min, h.X.Max = clip.lo, clip.hi
	h.Y.Min, h.Y.Max = 0, 1.05*max(slices.Max(counts), 1e-9)
	b.Add(boxPlot{r.Values, colour})
	b.X.Scale = plot.LogScale{}
	b.X.Min, b.X.Max = whole.lo, whole.hi
	b.Y.Min, b.Y.Max = 0, 1
	h.X.Tick.Marker, b.X.Tick.Marker = niceTicks(4), logTicks{}
	if !last {
		h.X.Tick.Marker, b.X.Tick.Marker = unlabelled{h.X.Tick.Marker}, unlabelled{b.X.Tick.Marker}
	}
	return []*plot.Plot{h, b}
}

// layOutSpread draws the rows below one another, with their names, titles and axes.
func layOutSpread(plots [][]*plot.Plot, rows []spreadRow, name string) *vgimg.Canvas {
	labels := vg.Length(0)
	style := textStyle(textSize, black)
	style.XAlign = text.XRight
	for _, r := range rows {
		labels = max(labels, style.Width(r.Name))
	}
	height := 40*vg.Length(len(rows)) + 58
	c := vgimg.NewWith(vgimg.UseWH(6.2*vg.Inch+labels, height), vgimg.UseDPI(dpi))
	page := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: len(rows), Cols: 2, PadX: 16, PadY: 5}, draw.Crop(page, labels+12, -12, 19, -18))
	for i, r := range rows {
		for j, p := range plots[i] {
			p.Draw(canvases[i][j])
		}
		data := plots[i][0].DataCanvas(canvases[i][0])
		page.FillText(style, vg.Point{X: labels + 8, Y: data.Center().Y}, r.Name)
	}
	for j, p := range plots[len(rows)-1] {
		abscissaName(page, canvases[len(rows)-1][j], p, name)
	}
	for j, title := range []string{"Histogram up to the 95th percentile", "Box plot of all functions"} {
		data := plots[0][j].DataCanvas(canvases[0][j])
		page.FillText(textStyle(textSize+1, black), vg.Point{X: data.Center().X, Y: height - 10}, title)
	}
	return c
}

type axisRange struct{ lo, hi float64 }

// spreadRanges are the ranges of the two axes. clip goes from zero, or the lowest value,
// to the spreadClip quantile; whole covers all values that a logarithmic axis shows,
// with a margin, and is at least a decade.
func spreadRanges(rows []spreadRow) (clip, whole axisRange) {
	var all []float64
	for _, r := range rows {
		all = append(all, r.Values...)
	}
	slices.Sort(all)
	last := all[len(all)-1]
	clip = axisRange{min(0, all[0]), all[int(math.Ceil(spreadClip*float64(len(all))))-1]}
	clip.hi += max(1e-6*(clip.hi-clip.lo), logFloor-(clip.hi-clip.lo)) // so that the last bin includes the quantile itself
	least, most := max(all[0], logFloor), max(last, 10*logFloor)
	return clip, axisRange{min(least, most/10) * 0.8, most * 1.25}
}

// spreadColour is the colour of a kind in the other figures.
func spreadColour(k evaluate.Kind) color.RGBA {
	return rowStyles([]evaluate.Row{{Kind: k}})[0].Color.(color.RGBA)
}

// spreadData writes the values that drawSpread draws as CSV.
func spreadData(w io.Writer, rows []spreadRow) error {
	if err := validateSpread(rows); err != nil {
		return fmt.Errorf("data of spreads: %w", err)
	}
	return writeCSV(w, []string{"row", "value"}, func(row func(...string) error) error {
		for _, r := range rows {
			for _, v := range r.Values {
				if err := row(r.Name, number(v)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
