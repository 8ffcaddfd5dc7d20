package figures

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Judged is a candidate of the past with what became of it.
type Judged struct {
	Time      time.Time
	Version   int    // 0: it has none
	Decision  string // promote, keep, refuse, as package model/registry/gate names them
	Mean      float64
	Low, High *float64 // of its mean; nil: no interval
}

const (
	promoted = "promote"
	refused  = "refuse"
)

// PromotionsFigure shows the candidates over time in the distance that decides. champion is
// the version that is in use now.
func PromotionsFigure(candidates []Judged, name, unit string, champion int) Figure {
	caption := fmt.Sprintf("Candidates over time: mean %s over the held-out functions, with its confidence interval. Lower is better. The line follows the champion; numbers are versions. Refused candidates beyond the axis are drawn at its end.", name)
	if champion > 0 {
		caption += fmt.Sprintf(" Version %d is the champion now.", champion)
	}
	candidates = slices.Clone(candidates)
	slices.SortStableFunc(candidates, func(a, b Judged) int { return cmp.Or(a.Time.Compare(b.Time), a.Version-b.Version) })
	return Figure{"promotions", caption,
		func(w io.Writer) error { return drawPromotions(w, candidates, name, unit, champion) },
		func(w io.Writer) error { return promotionData(w, candidates) }}
}

func drawPromotions(w io.Writer, candidates []Judged, name, unit string, champion int) error {
	if len(candidates) == 0 {
		return errors.New("figure of promotions: no candidates")
	}
	p := newPlot()
	lo, hi := 0.0, 0.0
	for _, j := range candidates {
		if j.Mean-j.Mean != 0 {
			return fmt.Errorf("figure of promotions: the candidate of %s has the mean %v", j.Time.UTC().Format(time.RFC3339), j.Mean)
		}
		if j.Decision == refused { // may be anywhere
			continue
		}
		lo, hi = min(lo, j.Mean), max(hi, j.Mean)
		if j.Low != nil && j.High != nil {
			lo, hi = min(lo, *j.Low), max(hi, *j.High)
		}
	}
	if lo == hi {
		hi = 1
	}
	if lo < 0 {
		lo -= 0.12 * (hi - lo)
	}
	first, last := candidates[0].Time, candidates[len(candidates)-1].Time
	room := max(last.Sub(first)/16, 30*time.Minute) // for the numbers at the ends
	p.X.Min, p.X.Max = float64(first.Add(-room).Unix()), float64(last.Add(room).Unix())
	p.Y.Min, p.Y.Max = lo, hi+0.06*(hi-lo)
	p.X.Tick.Marker, p.Y.Tick.Marker = dateTicks(6), niceTicks(6)
	p.Add(horizontalGrid{}, history{candidates, champion})
	if unit != "" {
		unit = " (" + unit + ")"
	}
	c := vgimg.NewWith(vgimg.UseWH(7.2*vg.Inch, 3*vg.Inch), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvas := draw.Crop(whole, 22, -12, 22, -24)
	p.Draw(canvas)
	axisName(canvas, p, "Mean "+name+unit)
	abscissaName(whole, canvas, p, "Time of the decision (UTC)")
	legend{{"promoted, and champion since", line(vermilion, 1.5)}, {"champion kept", line(grey, 1.5)}, {"refused by a check", line(purple, 1.5)}}.draw(whole, whole.Max.Y-10)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("figure of promotions: %w", err)
	}
	return nil
}

// labelWidth is the room for the number of a version, in points.
const labelWidth = vg.Length(14)

// history draws the candidates, and the champion as steps. Numbers that would cover the last
// one are left out, except the champion's.
type history struct {
	candidates []Judged
	champion   int
}

func (h history) Plot(c draw.Canvas, p *plot.Plot) {
	trX, transform := p.Transforms(&c)
	trY := func(v float64) vg.Length { return min(max(transform(v), c.Min.Y), c.Max.Y) }
	var path []vg.Point
	for _, j := range h.candidates {
		if j.Decision != promoted {
			continue
		}
		at := vg.Point{X: trX(float64(j.Time.Unix())), Y: trY(j.Mean)}
		if len(path) > 0 {
			path = append(path, vg.Point{X: at.X, Y: path[len(path)-1].Y})
		}
		path = append(path, at)
	}
	if len(path) > 0 {
		path = append(path, vg.Point{X: c.Max.X, Y: path[len(path)-1].Y})
		c.StrokeLines(line(tint(vermilion, 0.5), 1), path)
	}
	labelled := c.Min.X - labelWidth // the last number
	for _, j := range h.candidates {
		colour := grey
		style := draw.GlyphStyle{Radius: 2, Shape: draw.RingGlyph{}}
		switch j.Decision {
		case promoted:
			colour, style.Radius, style.Shape = vermilion, 2.5, draw.CircleGlyph{}
		case refused:
			colour, style.Shape = purple, draw.CrossGlyph{}
		}
		style.Color = colour
		at := vg.Point{X: trX(float64(j.Time.Unix())), Y: trY(j.Mean)}
		bottom := at.Y - 4
		if j.Low != nil && j.High != nil {
			c.StrokeLine2(line(tint(colour, 0.6), 0.7), at.X, trY(*j.Low), at.X, trY(*j.High))
			bottom = min(bottom, trY(*j.Low))
		}
		c.DrawGlyph(style, at)
		now := j.Version > 0 && j.Version == h.champion
		if now {
			c.DrawGlyph(draw.GlyphStyle{Color: black, Radius: 4.5, Shape: draw.RingGlyph{}}, at)
		}
		if j.Version == 0 || j.Decision != promoted || !now && at.X < labelled+labelWidth {
			continue
		}
		labelled = at.X
		label := strconv.Itoa(j.Version)
		if now {
			label += ", champion"
		}
		c.FillText(textStyle(textSize, black), vg.Point{X: at.X, Y: bottom - 6}, label)
	}
}

// dateTicks are at most count labelled multiples of a natural step of time, in UTC. Values are
// seconds since 1970.
type dateTicks int

func (count dateTicks) Ticks(lo, hi float64) []plot.Tick {
	const day = 24 * time.Hour
	from, to := time.Unix(int64(lo), 0).UTC(), time.Unix(int64(hi), 0).UTC()
	var ticks []plot.Tick
	add := func(t time.Time, layout string) {
		if !t.Before(from) && !t.After(to) {
			ticks = append(ticks, plot.Tick{Value: float64(t.Unix()), Label: t.Format(layout)})
		}
	}
	span := to.Sub(from)
	for _, step := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day} {
		if span > step*time.Duration(count) {
			continue
		}
		layout := "2 Jan 15:04"
		if step >= day {
			layout = "2 Jan 2006"
		}
		for t := from.Truncate(step); !t.After(to); t = t.Add(step) {
			add(t, layout)
		}
		return ticks
	}
	for _, months := range []int{1, 3, 6, 12, 60, 120} {
		if span > time.Duration(months*int(count))*31*day && months < 120 {
			continue
		}
		for t := time.Date(from.Year()/10*10, 1, 1, 0, 0, 0, 0, time.UTC); !t.After(to); t = t.AddDate(0, months, 0) {
			add(t, "Jan 2006")
		}
		return ticks
	}
	return ticks
}

// promotionData has one line per candidate.
func promotionData(w io.Writer, candidates []Judged) error {
	return writeCSV(w, []string{"time", "version", "decision", "mean", "low", "high"}, func(row func(...string) error) error {
		for _, j := range candidates {
			version, low, high := "", "", ""
			if j.Version > 0 {
				version = strconv.Itoa(j.Version)
			}
			if j.Low != nil && j.High != nil {
				low, high = number(*j.Low), number(*j.High)
			}
			if err := row(j.Time.UTC().Format(time.RFC3339), version, j.Decision, number(j.Mean), low, high); err != nil {
				return err
			}
		}
		return nil
	})
}
