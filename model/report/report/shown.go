package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// figures are those of which there is something to show.
func (in Input) figures() []figure {
	r := in.Results
	var all []figure
	if len(in.Losses) > 1 {
		all = append(all, figure{"loss", "Training loss of every step and its moving mean; the loss of a perfect velocity field is not zero but the variance that X₁ − X₀ has given X_t.",
			func(w io.Writer) error { return drawLoss(w, in.Losses) },
			func(w io.Writer) error { return lossData(w, in.Losses) }})
	}
	all = append(all, samples(in.FigureData, r.Dim)...)
	return append(all, ofResults(r)...)
}

// ofResults are the figures that take no more than the numbers.
func ofResults(r *evaluate.Results) []figure {
	distances := r.Distances()
	var all []figure
	if rows := timeRows(r.Rows); len(rows) > 0 {
		all = append(all, figure{"times", "Mean Sinkhorn divergence and W2 from the law at physical time τ, over the held-out functions whose time is in each of the intervals, with 95 % intervals. N(0,1) is the law at time 0, the invariant law that at time ∞. Values below 1e-5 stand at 1e-5.",
			func(w io.Writer) error { return drawTimes(w, rows) },
			func(w io.Writer) error { return timeData(w, rows) }})
	}
	if r.Functions > 1 {
		all = append(all, figure{"functions", functionsCaption(distances),
			func(w io.Writer) error { return drawFunctions(w, r.Rows, distances) },
			func(w io.Writer) error { return functionData(w, r) }})
	}
	if rows := spreadRows(r.Rows, distances[0]); len(rows) > 0 && r.Functions > 1 {
		all = append(all, spreadFigure(rows, distances[0]))
	}
	if points := Costs(r.Rows, distances[0]); len(points) > 2 {
		all = append(all, costsFigure("costs", points, distances[0]))
	}
	return all
}

func functionsCaption(distances [2]evaluate.Distance) string {
	return fmt.Sprintf("How %s and %s spread over the held-out functions: the fraction of functions that a row has below a value. Values below 1e-5 stand at 1e-5%s.",
		distances[0].Name, distances[1].Name, mayBeNegative(distances[:]...))
}

// mayBeNegative says of which distance values are below what a logarithm shows.
func mayBeNegative(distances ...evaluate.Distance) string {
	if slices.ContainsFunc(distances, func(d evaluate.Distance) bool { return d.Name == evaluate.Sinkhorn.Name }) {
		return "; the annealed Sinkhorn divergence may be negative"
	}
	return ""
}

// samples are the figures of the samples themselves.
func samples(shown evaluate.FigureData, dim int) []figure {
	var all []figure
	switch {
	case len(shown.Percentiles) == 0:
	case dim == 2:
		rows := planeRows(shown.Percentiles)
		all = append(all, figure{"samples", "The held-out functions at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence: how the samples of the target and of the other rows lie in the plane, counted in hexagons.",
			func(w io.Writer) error { return drawPlane(w, rows) },
			func(w io.Writer) error { return planeData(w, rows) }})
	case len(shown.Evolutions) > 0: // they show more
	case dim <= 1:
		all = append(all, figure{"percentiles", "The held-out functions at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence: histograms of the samples with the density of the exact invariant law, and their distribution functions.",
			func(w io.Writer) error { return drawPercentiles(w, shown.Percentiles) },
			func(w io.Writer) error { return percentileData(w, shown.Percentiles) }})
	}
	if len(shown.Evolutions) > 0 {
		all = append(all, figure{"evolution", "The held-out equations at the 25th, 50th and 75th percentile of the model's Sinkhorn divergence, averaged over their times: how the law goes from N(0,1) to the invariant one.",
			func(w io.Writer) error { return drawEvolutions(w, shown.Evolutions) },
			func(w io.Writer) error { return evolutionData(w, shown.Evolutions) }})
	}
	if len(shown.Kernels) > 0 {
		radials, energies := radialPanels(shown.Kernels), energyPanels(shown.Kernels)
		all = append(all, figure{"radial", "Radial distribution function g(r) of the target and of the model's samples, pooled over the held-out kernels of each family; 1 is the density of a particle's neighbours if they were thrown evenly into the disc of radius 8 about it.",
			func(w io.Writer) error { return drawRadials(w, radials) },
			func(w io.Writer) error { return radialData(w, radials) }},
			figure{"energy", "Potential energy of the states of the target and of the model's samples, over all held-out kernels and over those of each family. Half a per cent at either end of each set lies outside.",
				func(w io.Writer) error { return drawEnergies(w, energies) },
				func(w io.Writer) error { return energyData(w, energies) }})
	}
	return all
}

func planeRows(shown []evaluate.Percentile) []planeRow {
	var rows []planeRow
	for _, p := range shown {
		row := planeRow{Percent: p.Percent, Function: p.Function.Index, Sinkhorn: p.Function.Sinkhorn,
			Sets: []planeSet{{"target", p.Reference}}}
		if len(p.MCMC) > 0 {
			row.Sets = append(row.Sets, planeSet{p.MCMCName, p.MCMC})
		}
		row.Sets = append(row.Sets, planeSet{"generated", p.Model})
		rows = append(rows, row)
	}
	return rows
}

func radialPanels(kernels []evaluate.KernelKind) []radialPanel {
	var panels []radialPanel
	for _, k := range kernels {
		panels = append(panels, radialPanel{kernelName(k), k.R, k.ReferenceG, k.ModelG})
	}
	return panels
}

// energyPanels are that of all kernels and, where there are several families,
// those of each.
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
