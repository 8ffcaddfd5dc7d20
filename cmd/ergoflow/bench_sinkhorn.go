package main

import (
	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

func benchSinkhornCommand() *cobra.Command {
	var bench kernelBench
	var points []int
	cmd := &cobra.Command{
		Use:   "sinkhorn",
		Short: "Time the Sinkhorn divergence",
		Long: `Times the debiased Sinkhorn divergence between two clouds of equally many
points: with GeomLoss's default schedule in one to three dimensions, and to
convergence in one dimension.`,
		Example: "  ergoflow bench sinkhorn --points 4096 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("points", points, 1, 1<<20); err != nil {
				return err
			}
			return bench.run(cmd.Context(), points, metrics.Benchmark)
		},
	}
	bench.add(cmd)
	cmd.Flags().IntSliceVar(&points, "points", []int{4096}, "numbers of points in each cloud")
	return cmd
}
