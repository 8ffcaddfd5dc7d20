package figures

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SampleSet is samples to draw, of Dim 1 or 2 coordinates.
type SampleSet struct {
	Name string
	X    []float64 // [n, Dim]
	Dim  int
}

// Curve is a density to draw over samples on the line.
type Curve struct {
	Name   string
	X, PDF []float64
}

// PictureFormats are the suffixes of the files that DrawSamples can write.
var PictureFormats = []string{".png", ".svg"}

// setColors are the colours of sets in their order.
var setColors = []color.RGBA{vermilion, blue, green, purple, orange, grey}

// MostSets bounds the sets of one picture.
const MostSets = 6

// ErrSets means that sets of samples cannot be in one picture.
var ErrSets = errors.New("these samples cannot be drawn")

// DrawSamples draws samples as PNG or SVG: on the line as densities over bins of equal width in
// one frame, the first one filled, and law as a curve over them if it is not nil; in the plane
// as densities over hexagons side by side.
func DrawSamples(w io.Writer, suffix string, sets []SampleSet, law *Curve) error {
	if err := validateSets(sets, law); err != nil {
		return err
	}
	if sets[0].Dim == 2 {
		return drawPlaneSets(w, suffix, sets)
	}
	return drawLineSets(w, suffix, sets, law)
}

func validateSets(sets []SampleSet, law *Curve) error {
	if len(sets) == 0 || len(sets) > MostSets {
		return fmt.Errorf("%w: %d sets, must be 1 to %d", ErrSets, len(sets), MostSets)
	}
	for _, s := range sets {
		switch {
		case s.Dim != 1 && s.Dim != 2:
			return fmt.Errorf("%w: %s has %d columns, must have one or two", ErrSets, s.Name, s.Dim)
		case s.Dim != sets[0].Dim:
			return fmt.Errorf("%w: %s has %d columns, %s %d", ErrSets, sets[0].Name, sets[0].Dim, s.Name, s.Dim)
		case len(s.X) < s.Dim:
			return fmt.Errorf("%w: %s has no samples", ErrSets, s.Name)
		}
	}
	if law != nil && sets[0].Dim != 1 {
		return fmt.Errorf("%w: the law is on the line, and %s in the plane", ErrSets, sets[0].Name)
	}
	return nil
}

// lineFrame is the frame of all sets, and the number of bins in it: from the least to the
// greatest sample, but no farther from the inner 98 % of a set than half their range.
func lineFrame(sets []SampleSet) (lo, hi float64, bins int) {
	lo, hi = math.Inf(1), math.Inf(-1)
	finest := math.Inf(1)
	for _, s := range sets {
		x := slices.Clone(s.X)
		slices.Sort(x)
		n := len(x)
		tail := n / 100
		from, to := x[tail], x[n-1-tail]
		lo, hi = min(lo, max(x[0], from-(to-from)/2)), max(hi, min(x[n-1], to+(to-from)/2))
		// Freedman and Diaconis: twice the interquartile range over the cube root of n.
		if width := 2 * (x[3*n/4] - x[n/4]) / math.Cbrt(float64(n)); width > 0 {
			finest = min(finest, width)
		}
	}
	if !(hi > lo) {
		half := max(1, math.Abs(lo)) / 2
		lo, hi = lo-half, hi+half
	}
	return lo, hi, int(min(max((hi-lo)/finest, 20), 120))
}

// densities are the histograms of all sets in one frame, with the highest value of any.
func densities(sets []SampleSet, lo, hi float64, bins int) (all [][]float64, top float64) {
	for _, s := range sets {
		h := histogram(s.X, lo, math.Nextafter(hi, math.Inf(1)), bins)
		all, top = append(all, h), max(top, slices.Max(h))
	}
	return all, top
}

func drawLineSets(w io.Writer, suffix string, sets []SampleSet, law *Curve) error {
	lo, hi, bins := lineFrame(sets)
	histograms, top := densities(sets, lo, hi, bins)
	p := newPlot()
	p.X.Label.Text = "x"
	p.X.Min, p.X.Max, p.Y.Min = lo, hi, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks(8), niceTicks(6)
	p.X.Padding, p.Y.Padding = 0, 0
	var entries legend
	p.Add(horizontalGrid{})
	for i, h := range histograms {
		c := setColors[i]
		entries = append(entries, entry{sets[i].Name, line(c, 1.2)})
		if i == 0 {
			p.Add(filledHistogram{h, lo, hi, c})
		} else {
			p.Add(outlinedHistogram{h, lo, hi, line(c, 1)})
		}
	}
	if law != nil {
		style := line(black, 1.1, 4, 2)
		p.Add(curve{law.X, law.PDF, style})
		entries = append(entries, entry{law.Name, style})
		for i, v := range law.PDF {
			// Of a density with a pole, the samples give the scale.
			if law.X[i] >= lo && law.X[i] <= hi {
				top = max(top, min(v, 1.5*top))
			}
		}
	}
	p.Y.Max = 1.06 * top
	c, out, err := picture(suffix, 5*vg.Inch, 3.2*vg.Inch)
	if err != nil {
		return err
	}
	whole := draw.New(c)
	inner := draw.Crop(whole, 20, -12, 4, -22)
	p.Draw(inner)
	axisName(inner, p, "density")
	entries.draw(whole, whole.Max.Y-11)
	_, err = out.WriteTo(w)
	return err
}

// rowOf are the sets in the plane, side by side.
func rowOf(sets []SampleSet) (row planeRow) {
	for _, s := range sets {
		points := make([]float32, len(s.X))
		for i, v := range s.X {
			points[i] = float32(v)
		}
		row.Sets = append(row.Sets, planeSet{s.Name, points})
	}
	return row
}

func drawPlaneSets(w io.Writer, suffix string, sets []SampleSet) error {
	row := rowOf(sets)
	if err := validatePlane([]planeRow{row}); err != nil {
		return fmt.Errorf("%w: %w", ErrSets, err)
	}
	side := 1.9 * vg.Inch
	if len(sets) == 1 {
		side = 3.2 * vg.Inch
	}
	c, out, err := picture(suffix, side*vg.Length(len(sets))+52, side+56)
	if err != nil {
		return err
	}
	plots := [][]*plot.Plot{planePlots(row, true)}
	whole := draw.New(c)
	canvases := plot.Align(plots, draw.Tiles{Rows: 1, Cols: len(sets), PadX: 9}, draw.Crop(whole, 16, -10, 24, -20))
	for j, p := range plots[0] {
		box := p.DataCanvas(canvases[0][j]).Size()
		middle, half := (p.X.Min+p.X.Max)/2, (p.X.Max-p.X.Min)/2*float64(box.X/box.Y)
		p.X.Min, p.X.Max = middle-half, middle+half
		p.Draw(canvases[0][j])
		data := p.DataCanvas(canvases[0][j])
		whole.FillText(textStyle(textSize+1, black), vg.Point{X: data.Center().X, Y: data.Max.Y + 10}, sets[j].Name)
	}
	scale(whole, vg.Point{X: whole.Center().X, Y: 11}, "the highest")
	_, err = out.WriteTo(w)
	return err
}

// picture is an empty canvas of that size, and what writes it in the format of the suffix.
func picture(suffix string, width, height vg.Length) (vg.CanvasSizer, io.WriterTo, error) {
	switch suffix {
	case ".png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		return c, vgimg.PngCanvas{Canvas: c}, nil
	case ".svg":
		c := vgsvg.New(width, height)
		return c, c, nil
	}
	return nil, nil, fmt.Errorf("no pictures of the format %q, only %v", suffix, PictureFormats)
}
