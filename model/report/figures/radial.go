package figures

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const radialCaption = "Radial distribution function g(r) of the target (the reference) and of the generated samples (the model's), pooled over the held-out kernels of each kind. g(r) = 1 is the density of neighbours spread uniformly over the disc of radius 8 about a particle. Distances are in deviations of the training samples where states are standardised."

func radialFigure(panels []radialPanel) Figure {
	return Figure{"radial", radialCaption,
		func(w io.Writer) error { return drawRadials(w, panels) },
		func(w io.Writer) error { return radialData(w, panels) }}
}

func radialPanels(kernels []evaluate.KernelKind) []radialPanel {
	var panels []radialPanel
	for _, k := range kernels {
		panels = append(panels, radialPanel{kernelName(k), k.R, k.ReferenceG, k.ModelG})
	}
	return panels
}

// radialPanel has the radial distribution function g(r) of the target and of the model,
// over the kernels of one kind.
type radialPanel struct {
	Family           string
	R, Target, Model []float64 // of equal length; R increases
}

func (p radialPanel) validate() error {
	if len(p.R) < 2 || len(p.Target) != len(p.R) || len(p.Model) != len(p.R) {
		return fmt.Errorf("%s has %d distances, %d values of the target, %d of the model", p.Family, len(p.R), len(p.Target), len(p.Model))
	}
	for i := range p.R {
		if v := p.R[i] + p.Target[i] + p.Model[i]; v-v != 0 {
			return fmt.Errorf("%s is not finite at distance %v", p.Family, p.R[i])
		}
	}
	if !(slices.Max(p.Target) > 0 || slices.Max(p.Model) > 0) {
		return fmt.Errorf("%s has no pairs", p.Family)
	}
	return nil
}

var (
	targetStyle    = line(blue, 2)
	generatedStyle = line(vermilion, 1.2, 4, 2)
)

// drawRadials draws g(r), one panel per kind of kernel, as PNG: bins joined by lines, not
// smoothed. The panels share the axis of distances, which ends where all values have
// fallen below 0.4 % of a panel's highest.
func drawRadials(w io.Writer, panels []radialPanel) error {
	if len(panels) == 0 {
		return errors.New("figure of g(r): no families")
	}
	end := 0.0
	for _, p := range panels {
		if err := p.validate(); err != nil {
			return fmt.Errorf("figure of g(r): %w", err)
		}
		visible := 0.004 * max(slices.Max(p.Target), slices.Max(p.Model))
		for i, r := range p.R {
			if max(p.Target[i], p.Model[i]) > visible {
				end = max(end, r)
			}
		}
	}
	var plots []*plot.Plot
	for _, p := range panels {
		q := newPlot()
		q.Title.Text = p.Family
		q.X.Min, q.X.Max = 0, 1.05*end
		q.Y.Min, q.Y.Max = 0, 1.08*max(slices.Max(p.Target), slices.Max(p.Model))
		q.X.Tick.Marker, q.Y.Tick.Marker = niceTicks(6), niceTicks(5)
		q.Add(horizontalGrid{}, curve{p.R, p.Target, targetStyle}, curve{p.R, p.Model, generatedStyle})
		plots = append(plots, q)
	}
	if err := drawGrid(w, plots, "Distance r", "g(r)", legend{{"target", targetStyle}, {"generated", generatedStyle}}); err != nil {
		return fmt.Errorf("figure of g(r): %w", err)
	}
	return nil
}

// drawGrid draws panels two by two with one legend below. The lowest row names
// the x axis, the left column the y axis.
func drawGrid(w io.Writer, panels []*plot.Plot, x, y string, key legend) error {
	columns := min(len(panels), 2)
	rows := (len(panels) + columns - 1) / columns
	grid := make([][]*plot.Plot, rows)
	for i, p := range panels {
		if i/columns == rows-1 {
			p.X.Label.Text = x
		}
		if i%columns == 0 {
			p.Y.Label.Text = y
		}
		grid[i/columns] = append(grid[i/columns], p)
	}
	for len(grid[rows-1]) < columns {
		grid[rows-1] = append(grid[rows-1], nil)
	}
	width, height := vg.Length(columns)*2.7*vg.Inch+1.1*vg.Inch*vg.Length(2-columns), vg.Length(rows)*2*vg.Inch+22
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	canvases := plot.Align(grid, draw.Tiles{Rows: rows, Cols: columns, PadX: 14, PadY: 10}, draw.Crop(whole, 6, -10, 22, -5))
	for i, p := range panels {
		p.Draw(canvases[i/columns][i%columns])
	}
	key.draw(whole, 10)
	_, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w)
	return err
}

// radialData writes what drawRadials draws as CSV.
func radialData(w io.Writer, panels []radialPanel) error {
	return writeCSV(w, []string{"family", "r", "target", "generated"}, func(row func(...string) error) error {
		for _, p := range panels {
			if err := p.validate(); err != nil {
				return fmt.Errorf("data of g(r): %w", err)
			}
			for i, r := range p.R {
				if err := row(p.Family, number(r), number(p.Target[i]), number(p.Model[i])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
