package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/stopwatch"
	"github.com/ergoflow/ergoflow/model/training/assignment"
)

func benchAssignmentCommand() *cobra.Command {
	var bench kernelBench
	var points []int
	var problems, dimension int
	cmd := &cobra.Command{
		Use:   "assignment",
		Short: "Time the exact assignments of minibatch optimal transport",
		Long: `Times batches of exact assignments between standard normal clouds, squared
distances included, on every instruction set of the processor. In one dimension
an assignment is a sort.`,
		Example: "  ergoflow bench assignment --points 64 --dimension 2 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("points", points, 1, assignment.MaxPoints); err != nil {
				return err
			}
			if err := within("problems", []int{problems}, 1, 1<<12); err != nil {
				return err
			}
			if err := within("dimension", []int{dimension}, 1, 64); err != nil {
				return err
			}
			return bench.run(cmd.Context(), points, func(ctx context.Context, points, rounds int) ([]stopwatch.Measurement, error) {
				return assignment.Benchmark(ctx, problems, points, dimension, rounds)
			})
		},
	}
	bench.add(cmd)
	f := cmd.Flags()
	f.IntSliceVar(&points, "points", []int{32, 64, 128}, "numbers of points in each cloud")
	f.IntVar(&problems, "problems", 256, "number of assignments in a batch")
	f.IntVar(&dimension, "dimension", 2, "dimension of the points")
	return cmd
}
