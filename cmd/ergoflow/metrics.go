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

// distances is the document of `metrics --json`. A distance that these clouds do not have,
// or that was not asked for, is absent.
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
	KSP               *float64 `json:"ks_p,omitempty"` // if draws are independent
	// EffectivePoints are the independent draws that the points are worth, by their order.
	EffectivePoints *[2]float64 `json:"effective_points,omitempty"`
	KSPEffective    *float64    `json:"ks_p_effective,omitempty"` // of so many draws
	// Warnings say which numbers are not what they seem.
	Warnings []string `json:"warnings,omitempty"`
}

// warn adds a warning, and prints it.
func (d *distances) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
	fmt.Fprintln(os.Stderr, "warning:", d.Warnings[len(d.Warnings)-1])
}

// metricsFlags are the flags of metrics.
type metricsFlags struct {
	options    metrics.Options
	directions int
	seed       uint64
	converged  bool
	backend    string
}

func metricsCommand() *cobra.Command {
	var flags metricsFlags
	cmd := &cobra.Command{
		Use:   "metrics X.npy Y.npy",
		Short: "Measure the distances between two samples, as JSON",
		Long: `Reads two arrays of shape [n] or [n, d] and prints, as JSON:
  - the debiased Sinkhorn divergence as GeomLoss computes it (cost ½|x−y|²)
  - sliced W2
  - exact W2 in one dimension, and in more for equally many points up to 1,024
  - in one dimension the Kolmogorov–Smirnov statistic with two p-values: for
    independent draws, and for as many as the points are worth by their order
--converged adds the divergence at its fixed point and the residual where the
iteration ended. --backend computes the Sinkhorn divergence, and it alone, on
that backend: in float32 and term by term, for GPUs, up to 131,072 points a
sample.`,
		Example: "  ergoflow metrics model.npy reference.npy --blur 0.05 --scaling 0.5",
		Args:    exactly(2, "two .npy files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			x, err := readCloud(args[0])
			if err != nil {
				return err
			}
			y, err := readCloud(args[1])
			if err != nil {
				return err
			}
			d, err := flags.measure(cmd.Context(), x, y)
			if err != nil {
				return err
			}
			return printJSON(d)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&flags.options.Blur, "blur", 0.05, "√ε of the Sinkhorn divergence, in the unit of the data")
	f.Float64Var(&flags.options.Scaling, "scaling", 0.5, "ratio of successive blurs in the annealing, 0.01 to 0.99")
	f.BoolVar(&flags.converged, "converged", false, "also iterate the Sinkhorn divergence to its fixed point")
	f.StringVar(&flags.backend, "backend", "", "compute backend of the Sinkhorn divergence: xla:cuda, xla:cpu or go (default: kernels of the processor)")
	f.IntVar(&flags.directions, "directions", 256, "number of directions of sliced W2")
	f.Uint64Var(&flags.seed, "seed", 0, "seed of the directions")
	f.Bool("json", true, "print JSON, the only format of this command")
	return cmd
}

func (f *metricsFlags) validate() error {
	if !(f.options.Blur > 0) {
		return usagef("--blur is %g, not positive", f.options.Blur)
	}
	if !(f.options.Scaling >= 0.01 && f.options.Scaling <= 0.99) { // as evaluation.scaling
		return usagef("--scaling is %g, not in 0.01…0.99", f.options.Scaling)
	}
	if f.directions < 1 || f.directions > metrics.MaxDirections {
		return usagef("--directions is %d, not in 1…%d", f.directions, metrics.MaxDirections)
	}
	if known := []string{"", backend.XLACUDA, backend.XLACPU, backend.Go}; !slices.Contains(known, f.backend) {
		return usagef("--backend %q is none of %s, %s and %s", f.backend, known[1], known[2], known[3])
	}
	return nil
}

// measure computes all distances that two samples have.
func (f *metricsFlags) measure(ctx context.Context, first, second metrics.CloudOf[float64]) (d distances, err error) {
	x, y, rounding, err := metrics.Centre(first, second)
	if err != nil {
		return d, err
	}
	d = distances{Points: [2]int{x.N, y.N}, Dimension: x.D, Backend: f.backend}
	if err := f.sinkhorn(ctx, &d, x, y); err != nil {
		return d, err
	}
	if x.D == 1 {
		err = d.line(first.X, second.X)
	} else {
		err = d.space(x, y, f.directions, f.seed)
	}
	if err != nil {
		return d, err
	}
	if rounding > 0.01*d.SlicedW2 && !slices.Equal(first.X, second.X) {
		d.warn("rounding to float32 moves the points: it changes sinkhorn, and in more than one dimension W2, as a W2 of up to %.2g does; sliced W2 is %.2g", rounding, d.SlicedW2)
	}
	return d, nil
}

// sinkhorn computes the Sinkhorn divergence, and its fixed point if asked for.
func (f *metricsFlags) sinkhorn(ctx context.Context, d *distances, x, y metrics.Cloud) (err error) {
	reference := metrics.NewReference(y)
	if f.backend != "" {
		d.Sinkhorn, err = sinkhornOn(ctx, f.backend, x, y, f.options)
	} else {
		d.Sinkhorn, err = reference.Sinkhorn(x, f.options)
	}
	if err != nil || !f.converged {
		return err
	}
	c, err := reference.SinkhornConverged(x, metrics.ConvergedOptions{Blur: f.options.Blur})
	if err != nil {
		return err
	}
	d.SinkhornConverged, d.SinkhornResidual, d.SinkhornReached = &c.Value, &c.Residual, &c.Converged
	if !c.Converged {
		resolution := ""
		if f.options.Blur < c.FinestBlur {
			resolution = fmt.Sprintf("; float64 resolves no --blur below %.2g for points this far apart", c.FinestBlur)
		}
		d.warn("sinkhorn_converged has not converged: residual %.2g after %d iterations%s", c.Residual, c.Iterations, resolution)
	}
	return nil
}

// line computes the distances of samples in one dimension, where sliced W2 is W2.
func (d *distances) line(x, y []float64) error {
	w2, err := metrics.W2(x, y)
	if err != nil {
		return err
	}
	ks, p, err := metrics.KS(x, y)
	if err != nil {
		return err
	}
	d.W2, d.SlicedW2, d.KS, d.KSP = &w2, w2, &ks, &p
	worth := [2]float64{metrics.EffectiveSize(x, 1), metrics.EffectiveSize(y, 1)}
	effective := metrics.KSEffectiveP(ks, p, d.Points, worth)
	d.EffectivePoints, d.KSPEffective = &worth, &effective
	if p < 0.05 && (correlated(x, worth[0]) || correlated(y, worth[1])) {
		d.warn("ks_p is of independent draws, but in the order of the files the points are worth %.0f and %.0f: use ks_p_effective", worth[0], worth[1])
	}
	return nil
}

// correlated reports whether points are worth less than half as many independent draws.
func correlated(x []float64, worth float64) bool {
	return worth < 0.5*min(float64(len(x)), metrics.EffectiveSizeBound)
}

// space computes the distances in more dimensions.
func (d *distances) space(x, y metrics.Cloud, directions int, seed uint64) (err error) {
	if d.SlicedW2, err = metrics.SlicedW2(x, y, directions, seed); err != nil {
		return err
	}
	if x.N != y.N || x.N > assignment.MaxPoints {
		return nil
	}
	w2, err := metrics.W2Assignment(x, y)
	if err != nil {
		return err
	}
	d.W2 = &w2
	return nil
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

func readCloud(path string) (c metrics.CloudOf[float64], err error) {
	a, err := npy.Read(path)
	if err != nil {
		return c, withHint(fmt.Errorf("read samples: %w", err), "give two .npy files, such as `ergoflow simulate` and `ergoflow sample` write")
	}
	switch len(a.Shape) {
	case 1:
		return metrics.CloudOf[float64]{N: a.Shape[0], D: 1, X: a.Data}, nil
	case 2:
		return metrics.CloudOf[float64]{N: a.Shape[0], D: a.Shape[1], X: a.Data}, nil
	}
	return c, fmt.Errorf("%s has %d dimensions, not 1 or 2", path, len(a.Shape))
}
