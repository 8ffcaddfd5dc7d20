package figures

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// writeCSV writes a header and rows as CSV.
func writeCSV(w io.Writer, header []string, rows func(row func(cells ...string) error) error) error {
	c := csv.NewWriter(w)
	if err := c.Write(header); err != nil {
		return err
	}
	if err := rows(func(cells ...string) error { return c.Write(cells) }); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

func number[F float32 | float64](v F) string {
	bits := 64
	if _, single := any(v).(float32); single {
		bits = 32
	}
	return strconv.FormatFloat(float64(v), 'g', -1, bits)
}

func lossData(w io.Writer, losses []float64) error {
	means := movingMean(losses, smoothingWindow(len(losses)))
	return writeCSV(w, []string{"step", "loss", "mean"}, func(row func(...string) error) error {
		for i, v := range losses {
			if err := row(strconv.Itoa(i+1), number(v), number(means[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// percentileData has one line per sample, and per point of the exact law.
func percentileData(w io.Writer, rows []evaluate.Percentile) error {
	return writeCSV(w, []string{"percent", "function", "set", "x", "pdf", "cdf"}, func(row func(...string) error) error {
		for _, p := range rows {
			percent, function := strconv.Itoa(p.Percent), strconv.Itoa(p.Function.Index)
			for _, s := range seriesOf(p) {
				for _, v := range s.samples {
					if err := row(percent, function, s.name, number(v), "", ""); err != nil {
						return err
					}
				}
			}
			for i, x := range p.X {
				if err := row(percent, function, "exact", number(x), number(p.PDF[i]), number(p.CDF[i])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func functionData(w io.Writer, r *evaluate.Results) error {
	line, particles := r.Dim <= 1, r.Particles()
	converged := !particles && r.Dim <= evaluate.MaxConvergedDim
	header := []string{"row", "function"}
	var values []func(evaluate.FunctionResult) float64
	for _, column := range []struct {
		name   string
		exists bool
		value  func(evaluate.FunctionResult) float64
	}{
		{"time", len(timeRows(r.Rows)) > 0, func(f evaluate.FunctionResult) float64 { return f.Time }},
		{"sinkhorn", !particles, func(f evaluate.FunctionResult) float64 { return f.Sinkhorn }},
		{"sinkhorn_converged", converged, func(f evaluate.FunctionResult) float64 { return f.SinkhornConverged }},
		{"residual", converged, func(f evaluate.FunctionResult) float64 { return f.Residual }},
		{"w2", line, func(f evaluate.FunctionResult) float64 { return f.W2 }},
		{"sliced_w2", !line, func(f evaluate.FunctionResult) float64 { return f.SlicedW2 }},
		{"energy_distance", !line && !particles, func(f evaluate.FunctionResult) float64 { return f.Energy }},
		{"marginal_w2", !line && !particles, func(f evaluate.FunctionResult) float64 { return f.MarginalW2 }},
		{"worst_marginal_w2", !line && !particles, func(f evaluate.FunctionResult) float64 { return f.WorstMarginalW2 }},
		{"ks", line, func(f evaluate.FunctionResult) float64 { return f.KS }},
		{"ks_p", line, func(f evaluate.FunctionResult) float64 { return f.KSP }},
		{"variance_ratio", true, func(f evaluate.FunctionResult) float64 { return f.VarianceRatio }},
		{"w2_exact", line, func(f evaluate.FunctionResult) float64 { return f.W2Exact }},
		{"feature_w2", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.FeatureW2 }},
		{"radial_error", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.RadialError }},
		{"marginal_kl", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.MarginalKL }},
		{"energy_ks", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.KS }},
		{"energy_mean", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.Model.Mean }},
		{"energy_std", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.Model.Std }},
		{"energy_mean_reference", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.Target.Mean }},
		{"energy_std_reference", particles, func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.Target.Std }},
	} {
		if column.exists {
			header, values = append(header, column.name), append(values, column.value)
		}
	}
	return writeCSV(w, header, func(row func(...string) error) error {
		for _, r := range r.Rows {
			for _, f := range r.Functions {
				cells := []string{r.Name, strconv.Itoa(f.Index)}
				for _, value := range values {
					cells = append(cells, number(value(f)))
				}
				if err := row(cells...); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
