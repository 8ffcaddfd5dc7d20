package figures

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const lossCaption = "Training loss of every step, and its moving mean. A perfect velocity field does not reach zero: its loss is the variance that X₁ − X₀ has given X_t."

func lossFigure(losses []float64) Figure {
	return Figure{"loss", lossCaption,
		func(w io.Writer) error { return drawLoss(w, losses) },
		func(w io.Writer) error { return lossData(w, losses) }}
}

// drawLoss draws the training loss of every step and its moving mean over about a
// hundredth of the run, on a logarithmic axis, as PNG.
func drawLoss(w io.Writer, losses []float64) error {
	if len(losses) < 2 {
		return fmt.Errorf("loss curve: %d steps, want at least 2", len(losses))
	}
	window := smoothingWindow(len(losses))
	raw, smooth := make(plotter.XYs, len(losses)), make(plotter.XYs, len(losses))
	for i, v := range movingMean(losses, window) {
		if !(losses[i] > 0) || math.IsInf(losses[i], 1) {
			return fmt.Errorf("loss curve: loss %v at step %d is not positive and finite", losses[i], i+1)
		}
		raw[i] = plotter.XY{X: float64(i + 1), Y: losses[i]}
		smooth[i] = plotter.XY{X: float64(i + 1), Y: v}
	}
	p := newPlot()
	p.X.Label.Text = "Optimizer step"
	rawLine, err := plotter.NewLine(raw)
	if err != nil {
		return fmt.Errorf("loss curve: %w", err)
	}
	smoothLine, err := plotter.NewLine(smooth)
	if err != nil {
		return fmt.Errorf("loss curve: %w", err)
	}
	rawLine.LineStyle = line(tint(blue, 0.25), 0.35)
	smoothLine.LineStyle = line(blue, 1.3)
	p.Add(horizontalGrid{}, rawLine, smoothLine)
	p.X.Min, p.X.Max = 0, float64(len(losses))
	p.X.Tick.Marker = niceTicks(8)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	p.Y.Min, p.Y.Max = p.Y.Min*0.95, p.Y.Max*1.05

	c := vgimg.NewWith(vgimg.UseWH(5*vg.Inch, 3.1*vg.Inch), vgimg.UseDPI(dpi))
	canvas := draw.Crop(draw.New(c), 22, -14, 6, -22)
	p.Draw(canvas)
	axisName(canvas, p, "Flow-matching loss (units of x²)")
	legend{
		{"every step", line(tint(blue, 0.25), 2)},
		{fmt.Sprintf("mean of %s steps", Thousands(window)), line(blue, 1.3)},
	}.draw(draw.New(c), 3.1*vg.Inch-11)
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("loss curve: %w", err)
	}
	return nil
}

func smoothingWindow(steps int) int { return max(1, steps/100) }

// movingMean is the centred mean over the window, cut off at both ends.
func movingMean(values []float64, window int) []float64 {
	sums := make([]float64, len(values)+1)
	for i, v := range values {
		sums[i+1] = sums[i] + v
	}
	means := make([]float64, len(values))
	for i := range values {
		from, to := max(0, i-window/2), min(len(values), i+window/2+1)
		means[i] = (sums[to] - sums[from]) / float64(to-from)
	}
	return means
}
