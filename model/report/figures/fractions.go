package figures

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const functionsCaption = "Distribution of %s and %s over the held-out functions: the fraction of functions below the value on the horizontal axis, one curve per row of the table. Further left is better; the floor is the best possible. Values below 1e-5 are drawn at 1e-5%s."

func functionsFigure(r *evaluate.Results, distances [2]evaluate.Distance) Figure {
	caption := fmt.Sprintf(functionsCaption, distances[0].Name, distances[1].Name, negativeNote(distances[:]...))
	return Figure{"functions", caption,
		func(w io.Writer) error { return drawFunctions(w, r.Rows, distances) },
		func(w io.Writer) error { return functionData(w, r) }}
}

// rowStyles distinguishes rows by colour and dash; further MCMC rows get other dashes.
func rowStyles(rows []evaluate.Row) []draw.LineStyle {
	mcmcDashes := [][]vg.Length{{6, 2}, {3, 2}, {1.5, 1.5}, {8, 2, 1.5, 2}}
	styles := make([]draw.LineStyle, len(rows))
	mcmc := 0
	for i, r := range rows {
		switch r.Kind {
		case evaluate.Floor:
			styles[i] = line(blue, 1.2)
		case evaluate.Split:
			styles[i] = line(blue, 1.2, 3, 2)
		case evaluate.MCMC:
			styles[i] = line(green, 1.2, mcmcDashes[mcmc%len(mcmcDashes)]...)
			mcmc++
		case evaluate.Model:
			styles[i] = line(vermilion, 2)
		case evaluate.Shuffled:
			styles[i] = line(vermilion, 1.2, 3, 2)
		case evaluate.Longest:
			styles[i] = line(vermilion, 1.2, 1.5, 1.5)
		case evaluate.Invariant:
			styles[i] = line(black, 1.2)
		case evaluate.Untrained:
			styles[i] = line(orange, 1.2)
		case evaluate.Moments:
			styles[i] = line(purple, 1.2)
		case evaluate.Pooled:
			styles[i] = line(purple, 1.2, 3, 2)
		default:
			styles[i] = line(grey, 1.2)
		}
	}
	return styles
}

// drawFunctions draws the distribution of two distances over functions, as PNG: for
// every row the fraction of functions below a value, on a logarithmic axis.
func drawFunctions(w io.Writer, rows []evaluate.Row, distances [2]evaluate.Distance) error {
	if len(rows) == 0 {
		return errors.New("figure of functions: no rows")
	}
	styles := rowStyles(rows)
	plots := [][]*plot.Plot{nil}
	for _, d := range distances {
		plots[0] = append(plots[0], fractions(rows, styles, axis(d), d.Of))
	}
	plots[0][0].Y.Label.Text = "Fraction of functions"
	plots[0][1].Y.Tick.Marker = unlabelled{plots[0][1].Y.Tick.Marker}

	const width, height = 7.2 * vg.Inch, 2.9 * vg.Inch
	key := legends(rows, styles)
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: 1, Cols: 2, PadX: 14}, draw.Crop(whole, 6, -10, legendHeight*vg.Length(len(key))+8, -6))
	for j, p := range plots[0] {
		p.Draw(canvases[0][j])
	}
	for i, l := range key {
		l.draw(whole, legendHeight*vg.Length(len(key)-i)-3)
	}
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of functions: %w", err)
	}
	return nil
}

// legendHeight is the height of a line of the key.
const legendHeight = vg.Length(13)

// legends is the key of rows, in lines of at most four entries.
func legends(rows []evaluate.Row, styles []draw.LineStyle) []legend {
	var key []legend
	for i, r := range rows {
		if i%4 == 0 {
			key = append(key, nil)
		}
		key[len(key)-1] = append(key[len(key)-1], entry{r.Name, styles[i]})
	}
	return key
}

// axis names a distance with its unit.
func axis(d evaluate.Distance) string { return fmt.Sprintf("%s (%s)", d.Name, d.Unit) }

// logFloor is where logarithmic axes draw all smaller values. The annealed Sinkhorn
// divergence may even be negative.
const logFloor = 1e-5

func fractions(rows []evaluate.Row, styles []draw.LineStyle, name string, value func(evaluate.FunctionResult) float64) *plot.Plot {
	p := newPlot()
	p.X.Label.Text = name
	p.Y.Min, p.Y.Max = 0, 1
	lo, hi := math.Inf(1), logFloor*10
	for i, r := range rows {
		values := make([]float64, len(r.Functions))
		for j, f := range r.Functions {
			values[j] = max(value(f), logFloor)
		}
		slices.Sort(values)
		if len(values) == 0 {
			continue
		}
		lo, hi = min(lo, values[0]), max(hi, values[len(values)-1])
		var x, y []float64 // a staircase
		for j, v := range values {
			x = append(x, v, v)
			y = append(y, float64(j)/float64(len(values)), float64(j+1)/float64(len(values)))
		}
		p.Add(curve{x, y, styles[i]})
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	p.X.Min, p.X.Max = min(lo, hi/10)*0.9, hi*1.1
	p.Y.Tick.Marker = niceTicks(5)
	return p
}
