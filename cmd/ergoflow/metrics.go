package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/npy"
	"github.com/ergoflow/ergoflow/model/metrics"
)

// distances is the document of `metrics --json`. What exists only in one
// dimension is absent in others.
type distances struct {
	Points            [2]int   `json:"points"`
	Dimension         int      `json:"dimension"`
	Sinkhorn          float64  `json:"sinkhorn"`
	SinkhornConverged *float64 `json:"sinkhorn_converged,omitempty"`
	SinkhornResidual  *float64 `json:"sinkhorn_residual,omitempty"`
	W2                *float64 `json:"w2,omitempty"`
	SlicedW2          float64  `json:"sliced_w2"`
	KS                *float64 `json:"ks,omitempty"`
	KSP               *float64 `json:"ks_p,omitempty"`
}

func metricsCommand() *cobra.Command {
	var options metrics.Options
	var directions int
	var seed uint64
	var converged bool
	cmd := &cobra.Command{
		Use:   "metrics X.npy Y.npy",
		Short: "Measure how far two samples are apart, as JSON",
		Long: `Reads two arrays of shape [n] or [n, d] and prints, as JSON: the debiased
Sinkhorn divergence as GeomLoss computes it (cost ½|x−y|²), sliced W2, and in
one dimension W2 and the Kolmogorov–Smirnov statistic with its p-value.`,
		Example: "  ergoflow metrics model.npy reference.npy --blur 0.05 --scaling 0.5",
		Args:    exactly(2, "two .npy files"),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := readCloud(args[0])
			if err != nil {
				return err
			}
			y, err := readCloud(args[1])
			if err != nil {
				return err
			}
			d := distances{Points: [2]int{x.N, y.N}, Dimension: x.D}
			if d.Sinkhorn, err = metrics.Sinkhorn(x, y, options); err != nil {
				return err
			}
			if d.SlicedW2, err = metrics.SlicedW2(x, y, directions, seed); err != nil {
				return err
			}
			if converged {
				c, err := metrics.SinkhornConverged(x, y, metrics.ConvergedOptions{Blur: options.Blur})
				if err != nil {
					return err
				}
				d.SinkhornConverged, d.SinkhornResidual = &c.Value, &c.Residual
			}
			if x.D == 1 {
				w2, err := metrics.W2(x.X, y.X)
				if err != nil {
					return err
				}
				ks, p, err := metrics.KS(x.X, y.X)
				if err != nil {
					return err
				}
				d.W2, d.KS, d.KSP = &w2, &ks, &p
			}
			return printJSON(d)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&options.Blur, "blur", 0.05, "√ε of the Sinkhorn divergence, in the unit of the data")
	f.Float64Var(&options.Scaling, "scaling", 0.5, "ratio of successive blurs in its annealing, in (0, 1)")
	f.BoolVar(&converged, "converged", false, "also iterate the Sinkhorn divergence to convergence")
	f.IntVar(&directions, "directions", 256, "directions of sliced W2")
	f.Uint64Var(&seed, "seed", 0, "seed of the directions")
	f.Bool("json", true, "JSON is all this command prints")
	return cmd
}

func readCloud(path string) (metrics.Cloud, error) {
	a, err := npy.Read(path)
	if err != nil {
		return metrics.Cloud{}, err
	}
	switch len(a.Shape) {
	case 1:
		return metrics.Line(a.Data), nil
	case 2:
		return metrics.Cloud{N: a.Shape[0], D: a.Shape[1], X: a.Data}, nil
	}
	return metrics.Cloud{}, fmt.Errorf("%s has %d dimensions, not 1 or 2", path, len(a.Shape))
}
