package figures

import (
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// Of lists the figures for which there is data: results, and what evaluate.Run
// returns beside them. Losses are of every step; fewer than two leave the loss
// curve out.
func Of(r *evaluate.Results, data evaluate.FigureData, losses []float64) []Figure {
	var all []Figure
	if len(losses) > 1 {
		all = append(all, lossFigure(losses))
	}
	all = append(all, sampleFigures(data, r.Dim)...)
	return append(all, resultFigures(r)...)
}

// resultFigures are the figures that need the results alone.
func resultFigures(r *evaluate.Results) []Figure {
	distances := r.Distances()
	var all []Figure
	if rows := timeRows(r.Rows); len(rows) > 0 {
		all = append(all, timesFigure(rows))
	}
	if r.Functions > 1 {
		all = append(all, functionsFigure(r, distances))
	}
	if rows := spreadRows(r.Rows, distances[0]); len(rows) > 0 && r.Functions > 1 {
		all = append(all, spreadFigure(rows, distances[0]))
	}
	if model, ok := r.Row(evaluate.Model); ok && len(model.Calibration) > 0 {
		if f, err := calibrationFigure(model); err == nil { // results may come from a damaged file
			all = append(all, f)
		}
	}
	if points := CostPoints(r.Rows, distances[0]); len(points) > 2 {
		all = append(all, costsFigure("costs", points, distances[0]))
	}
	return all
}

// negativeNote explains values below the logarithmic axis, for the distances that
// can have them.
func negativeNote(distances ...evaluate.Distance) string {
	if slices.ContainsFunc(distances, func(d evaluate.Distance) bool { return d.Name == evaluate.Sinkhorn.Name }) {
		return "; the annealed Sinkhorn divergence may be negative"
	}
	return ""
}

// sampleFigures are the figures that show samples. Evolutions contain what the
// percentiles would show, and replace them.
func sampleFigures(data evaluate.FigureData, dim int) []Figure {
	var all []Figure
	switch {
	case len(data.Percentiles) == 0:
	case dim == 2:
		all = append(all, planeFigure(planeRows(data.Percentiles)))
	case len(data.Evolutions) > 0:
	case dim <= 1:
		all = append(all, percentilesFigure(data.Percentiles))
	}
	if len(data.Evolutions) > 0 {
		all = append(all, evolutionFigure(data.Evolutions))
	}
	if len(data.Kernels) > 0 {
		all = append(all, radialFigure(radialPanels(data.Kernels)), energyFigure(energyPanels(data.Kernels)))
	}
	return all
}
