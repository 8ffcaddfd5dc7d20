package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics/ondevice"
	"github.com/ergoflow/ergoflow/model/training/assignment"
)

// distances is the document of `metrics --json`. What these clouds do not have,
// or was not asked for, is absent.
type distances struct {
	Points            [2]int   `json:"points"`
	Dimension         int      `json:"dimension"`
	Sinkhorn          float64  `json:"sinkhorn"`
	Backend           string   `json:"backend,omitempty"` // of sinkhorn
	SinkhornConverged *float64 `json:"sinkhorn_converged,omitempty"`
	SinkhornResidual  *float64 `json:"sinkhorn_residual,omitempty"`
	SinkhornReached   *bool    `json:"sinkhorn_reached,omitempty"`
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
	var backendName string
	cmd := &cobra.Command{
		Use:   "metrics X.npy Y.npy",
		Short: "Measure how far two samples are apart, as JSON",
		Long: `Reads two arrays of shape [n] or [n, d] and prints, as JSON: the debiased
Sinkhorn divergence as GeomLoss computes it (cost ½|x−y|²); sliced W2; exact W2
in one dimension, and in more for equally many points up to 1,024; in one
dimension the Kolmogorov–Smirnov statistic with its p-value. --converged adds
the divergence at its fixed point and the residual where the iteration ended.
--backend computes the Sinkhorn divergence, and it alone, on that backend: in
float32 and term by term, for GPUs, up to 131,072 points a sample.`,
		Example: "  ergoflow metrics model.npy reference.npy --blur 0.05 --scaling 0.5",
		Args:    exactly(2, "two .npy files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(options.Blur > 0) {
				return usagef("--blur is %g, not positive", options.Blur)
			}
			if !(options.Scaling >= 0.01 && options.Scaling <= 0.99) { // as evaluation.scaling
				return usagef("--scaling is %g, not in 0.01…0.99", options.Scaling)
			}
			if directions < 1 {
				return usagef("--directions is %d, not positive", directions)
			}
			if known := []string{"", backend.XLACUDA, backend.XLACPU, backend.Go}; !slices.Contains(known, backendName) {
				return usagef("--backend %q is none of %s, %s and %s", backendName, known[1], known[2], known[3])
			}
			x, err := readCloud(args[0])
			if err != nil {
				return err
			}
			y, err := readCloud(args[1])
			if err != nil {
				return err
			}
			d := distances{Points: [2]int{x.N, y.N}, Dimension: x.D, Backend: backendName}
			reference := metrics.NewReference(y)
			if backendName != "" {
				d.Sinkhorn, err = sinkhornOn(cmd.Context(), backendName, x, y, options)
			} else {
				d.Sinkhorn, err = reference.Sinkhorn(x, options)
			}
			if err != nil {
				return err
			}
			if d.SlicedW2, err = metrics.SlicedW2(x, y, directions, seed); err != nil {
				return err
			}
			if converged {
				c, err := reference.SinkhornConverged(x, metrics.ConvergedOptions{Blur: options.Blur})
				if err != nil {
					return err
				}
				d.SinkhornConverged, d.SinkhornResidual, d.SinkhornReached = &c.Value, &c.Residual, &c.Converged
				if !c.Converged {
					fmt.Fprintf(os.Stderr, "ergoflow: sinkhorn_converged is not converged: residual %.2g after %d iterations\n", c.Residual, c.Iterations)
				}
			}
			var w2 float64
			switch {
			case x.D == 1:
				if w2, err = metrics.W2(x.X, y.X); err != nil {
					return err
				}
				ks, p, err := metrics.KS(x.X, y.X)
				if err != nil {
					return err
				}
				d.W2, d.KS, d.KSP = &w2, &ks, &p
			case x.N == y.N && x.N <= assignment.MaxPoints:
				if w2, err = metrics.W2Assignment(x, y); err != nil {
					return err
				}
				d.W2 = &w2
			}
			return printJSON(d)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&options.Blur, "blur", 0.05, "√ε of the Sinkhorn divergence, in the unit of the data")
	f.Float64Var(&options.Scaling, "scaling", 0.5, "ratio of successive blurs in its annealing, 0.01 to 0.99")
	f.BoolVar(&converged, "converged", false, "also iterate the Sinkhorn divergence to convergence")
	f.StringVar(&backendName, "backend", "", "compute backend of the Sinkhorn divergence: xla:cuda, xla:cpu or go; none: the processor's kernels")
	f.IntVar(&directions, "directions", 256, "directions of sliced W2")
	f.Uint64Var(&seed, "seed", 0, "seed of the directions")
	f.Bool("json", true, "JSON is all this command prints")
	return cmd
}

// sinkhornOn is metrics.Sinkhorn on the backend of that name.
func sinkhornOn(ctx context.Context, name string, x, y metrics.Cloud, o metrics.Options) (float64, error) {
	b, err := backend.Open(name)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	s := ondevice.NewSinkhorn(b)
	defer s.Close()
	return s.Divergence(ctx, x, y, o)
}

func readCloud(path string) (metrics.Cloud, error) {
	a, err := npy.Read(path)
	if err != nil {
		return metrics.Cloud{}, withHint(fmt.Errorf("read samples: %w", err), "metrics takes .npy files as `ergoflow simulate` and `ergoflow sample` write them")
	}
	switch len(a.Shape) {
	case 1:
		return metrics.Line(a.Data), nil
	case 2:
		return metrics.Cloud{N: a.Shape[0], D: a.Shape[1], X: a.Data}, nil
	}
	return metrics.Cloud{}, fmt.Errorf("%s has %d dimensions, not 1 or 2", path, len(a.Shape))
}
