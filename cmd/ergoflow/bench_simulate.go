package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/data/stopwatch"
)

func benchSimulateCommand() *cobra.Command {
	var bench kernelBench
	var nodes []int
	var functions int
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Time the Euler–Maruyama engines",
		Long: `Times Euler–Maruyama chains of one-dimensional equations whose coefficients are
linear on a grid, functions × chains, on every engine, grid and number of
threads. The rate counts single steps of single chains.`,
		Example: "  ergoflow bench simulate --nodes 64,256 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("nodes", nodes, 2, 1<<16); err != nil {
				return err
			}
			if err := within("functions", []int{functions}, 1, 4096); err != nil {
				return err
			}
			return bench.run(cmd.Context(), nodes, func(ctx context.Context, nodes, rounds int) ([]stopwatch.Measurement, error) {
				return simulate.Benchmark(ctx, nodes, functions, rounds)
			})
		},
	}
	bench.add(cmd)
	cmd.Flags().IntSliceVar(&nodes, "nodes", []int{64, 256}, "nodes of the grids")
	cmd.Flags().IntVar(&functions, "functions", 64, "functions, each with 128 chains")
	return cmd
}
