package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics/ondevice"
)

// metricsFlags are the flags of metrics.
type metricsFlags struct {
	options    metrics.Options
	directions int
	seed       uint64
	converged  bool
	chains     bool
	backend    string
}

func metricsCommand() *cobra.Command {
	var flags metricsFlags
	cmd := &cobra.Command{
		Use:   "metrics X Y",
		Short: "Measure the distances between two samples, as JSON",
		Long: `Reads two files of samples, as sample, simulate and exact write them. It prints,
as JSON:
  - the debiased Sinkhorn divergence as GeomLoss computes it (cost ½|x−y|²)
  - sliced W2, the energy distance, and W2 of the law of each coordinate
  - exact W2 in one dimension, and in more for equally many points up to 1,024
  - in one dimension the Kolmogorov–Smirnov statistic with two p-values: for
    independent draws, and for as many as the points are worth by their order

.npy and .npz files do not say whether an array of two dimensions is [n, d], or
chains of samples on the line, [chain, draw]. It is taken as chains beside
samples on the line, or if d is above 64, and else as [n, d]. --chains takes
both as chains.

--converged adds the divergence at its fixed point and the residual where the
iteration ended. --backend computes the Sinkhorn divergence, and it alone, on
that backend: in float32 and term by term, for GPUs, up to 131,072 points a
sample.`,
		Example: "  ergoflow metrics model.npy reference.npy --blur 0.05 --scaling 0.5",
		Args:    exactly(2, "two files of samples"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			x, y, err := flags.read(args[0], args[1])
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
	f.BoolVar(&flags.chains, "chains", false, "arrays of two dimensions are chains, [chain, draw]")
	f.BoolVar(&flags.converged, "converged", false, "also iterate the Sinkhorn divergence to its fixed point")
	f.StringVar(&flags.backend, "backend", "", "compute backend of the Sinkhorn divergence: xla:cuda, xla:cpu or go (default: kernels of the processor)")
	f.IntVar(&flags.directions, "directions", 256, "number of directions of sliced W2 and the energy distance")
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

// measure computes all distances that two samples have, and prints warnings about them.
func (f *metricsFlags) measure(ctx context.Context, x, y metrics.CloudOf[float64]) (metrics.Distances, error) {
	o := metrics.DistancesOptions{Sinkhorn: f.options, Converged: f.converged, Directions: f.directions, Seed: f.seed, Backend: f.backend}
	if f.backend != "" {
		o.Divergence = func(x, y metrics.Cloud, o metrics.Options) (float64, error) {
			return sinkhornOn(ctx, f.backend, x, y, o)
		}
	}
	d, err := metrics.NewDistances(x, y, o)
	warn(d.Warnings)
	return d, err
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

// read reads both samples, and warns where an array may have been taken for the wrong kind.
func (f *metricsFlags) read(first, second string) (x, y metrics.CloudOf[float64], err error) {
	paths := [2]string{first, second}
	var both [2]arrayfile.Samples
	for i, path := range paths {
		if both[i], err = readSamples(path); err != nil {
			return x, y, err
		}
	}
	resolved := [2]arrayfile.Samples{both[0].Beside(both[1], metrics.MaxDimension), both[1].Beside(both[0], metrics.MaxDimension)}
	for i, path := range paths {
		if f.chains {
			resolved[i] = both[i].AsChains()
		} else if doubt := resolved[i].Doubt(); both[i].Unnamed && doubt != "" {
			warn([]string{path + " " + doubt})
		}
	}
	cloud := func(s arrayfile.Samples) metrics.CloudOf[float64] {
		d := len(s.Columns)
		return metrics.CloudOf[float64]{N: len(s.Data) / d, D: d, X: s.Data}
	}
	return cloud(resolved[0]), cloud(resolved[1]), nil
}

// readSamples reads a file of samples.
func readSamples(path string) (arrayfile.Samples, error) {
	s, err := arrayfile.Read(path)
	if err != nil {
		return s, withHint(fmt.Errorf("read samples: %w", err), "give .npy files or others that `ergoflow simulate`, `sample` and `exact` write")
	}
	return s, nil
}
