package figures

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

const energyCaption = "Potential energy of the states of the target (the reference) and of the generated samples (the model's), over all held-out kernels and over those of each kind. Half a per cent of each set at either end is outside the axes."

func energyFigure(panels []energyPanel) Figure {
	return Figure{"energy", energyCaption,
		func(w io.Writer) error { return drawEnergies(w, panels) },
		func(w io.Writer) error { return energyData(w, panels) }}
}

// energyPanels has a panel for all kernels and, where there are several kinds, one for
// each.
func energyPanels(kernels []evaluate.KernelKind) []energyPanel {
	all := energyPanel{Name: "all kernels"}
	panels := []energyPanel{{}}
	for _, k := range kernels {
		all.Target, all.Model = slices.Concat(all.Target, k.ReferenceEnergies), slices.Concat(all.Model, k.ModelEnergies)
		panels = append(panels, energyPanel{kernelName(k), k.ReferenceEnergies, k.ModelEnergies})
	}
	panels[0] = all
	if len(kernels) == 1 {
		return panels[1:]
	}
	return panels
}

// kernelName is "double gaussian, 3 kernels".
func kernelName(k evaluate.KernelKind) string {
	plural := "s"
	if k.Functions == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s, %d kernel%s", strings.ReplaceAll(k.Name, "_", " "), k.Functions, plural)
}

// energyPanel has the energies of states, of all kernels or of one kind.
type energyPanel struct {
	Name          string
	Target, Model []float32
}

// energyBins cover the range between the energyTail and 1 − energyTail quantiles of both
// sets.
const (
	energyBins = 60
	energyTail = 0.005
)

// energyHistogram is a panel in bins.
type energyHistogram struct {
	lo, hi        float64
	target, model []float64 // densities
}

func (p energyPanel) histogram() (h energyHistogram, err error) {
	if len(p.Target) == 0 || len(p.Model) == 0 {
		return h, fmt.Errorf("%s: no energies", p.Name)
	}
	for k, set := range [][]float32{p.Target, p.Model} {
		sorted := slices.Clone(set)
		slices.Sort(sorted)
		if ends := sorted[0] + sorted[len(sorted)-1]; ends-ends != 0 {
			return h, fmt.Errorf("%s: energies are not finite", p.Name)
		}
		tail := int(energyTail * float64(len(sorted)))
		lo, hi := float64(sorted[tail]), float64(sorted[len(sorted)-1-tail])
		if k == 0 {
			h.lo, h.hi = lo, hi
		}
		h.lo, h.hi = min(h.lo, lo), max(h.hi, hi)
	}
	margin := max(0.02*(h.hi-h.lo), 1e-2*max(1, h.hi, -h.lo))
	h.lo, h.hi = h.lo-margin, h.hi+margin
	h.target, h.model = histogram(p.Target, h.lo, h.hi, energyBins), histogram(p.Model, h.lo, h.hi, energyBins)
	return h, nil
}

// drawEnergies draws histograms of the energy over each other, one panel per set of
// states, as PNG. The range leaves out half a per cent at either end of each set, since
// a single outlier would squeeze all others together.
func drawEnergies(w io.Writer, panels []energyPanel) error {
	if len(panels) == 0 {
		return errors.New("figure of energies: no states")
	}
	var plots []*plot.Plot
	for _, p := range panels {
		h, err := p.histogram()
		if err != nil {
			return fmt.Errorf("figure of energies: %w", err)
		}
		q := newPlot()
		q.Title.Text = p.Name
		q.X.Min, q.X.Max = h.lo, h.hi
		q.Y.Min, q.Y.Max = 0, 1.08*max(slices.Max(h.target), slices.Max(h.model))
		q.X.Tick.Marker, q.Y.Tick.Marker = niceTicks(5), niceTicks(5)
		q.Add(filledHistogram{h.target, h.lo, h.hi, blue}, outlinedHistogram{h.model, h.lo, h.hi, line(vermilion, 1.2)})
		plots = append(plots, q)
	}
	if err := drawGrid(w, plots, "Energy", "density", legend{{"target", line(tint(blue, 0.55), 6)}, {"generated", line(vermilion, 1.2)}}); err != nil {
		return fmt.Errorf("figure of energies: %w", err)
	}
	return nil
}

// energyData writes what drawEnergies draws as CSV: the edges and densities of bins.
func energyData(w io.Writer, panels []energyPanel) error {
	return writeCSV(w, []string{"set", "low", "high", "target", "generated"}, func(row func(...string) error) error {
		for _, p := range panels {
			h, err := p.histogram()
			if err != nil {
				return fmt.Errorf("data of energies: %w", err)
			}
			width := (h.hi - h.lo) / energyBins
			for i := range energyBins {
				low := h.lo + float64(i)*width
				if err := row(p.Name, number(low), number(low+width), number(h.target[i]), number(h.model[i])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
