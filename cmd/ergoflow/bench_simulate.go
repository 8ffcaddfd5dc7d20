package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/simulator"
)

func benchSimulateCommand() *cobra.Command {
	var bench kernelBench
	var chosen []string
	var nodes, particles []int
	var functions int
	var backendName string
	var onDevice *backend.Backend // nil if none is timed
	line := func(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
		found, err := simulate.BenchmarkLine(ctx, nodes, functions, rounds)
		if err != nil || onDevice == nil {
			return found, err
		}
		more, err := simulator.Benchmark(ctx, onDevice, nodes, functions, rounds)
		return append(found, more...), err
	}
	grids := func(benchmark func(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error)) measure {
		return func(ctx context.Context, nodes, rounds int) ([]stopwatch.Measurement, error) {
			return benchmark(ctx, nodes, functions, rounds)
		}
	}
	systems := []struct {
		name    string
		flag    string // what the sizes are
		given   *[]int // its value
		largest int
		kernel
	}{
		{"line", "nodes", &nodes, 1 << 16, kernel{[]int{64, 256}, grids(line)}},
		{"plane", "nodes", &nodes, 1 << 8, kernel{[]int{32}, grids(simulate.BenchmarkPlane)}},
		{"particles", "particles", &particles, sde.MaxParticles, kernel{[]int{32}, simulate.BenchmarkParticles}},
	}
	var names []string
	for _, s := range systems {
		names = append(names, s.name)
	}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Time the Euler–Maruyama engines",
		Long: `Times Euler–Maruyama chains, functions × chains, on every engine, system, size
and number of threads. On the line the coefficients are linear between nodes. In
the plane they are bilinear, with a constant diffusion or a matrix at each node.
The rate counts single steps of single chains; for particles with a pair force
it counts unordered pairs.`,
		Example: "  ergoflow bench simulate --system line --nodes 64,256 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("functions", []int{functions}, 1, 4096); err != nil {
				return err
			}
			for _, name := range chosen {
				if !slices.Contains(names, name) {
					return usagef("--system has %q, want %s", name, strings.Join(names, ", "))
				}
			}
			var kernels []kernel
			for _, s := range systems {
				if !slices.Contains(chosen, s.name) {
					continue
				}
				if cmd.Flags().Changed(s.flag) {
					s.sizes = *s.given
				}
				if err := within(s.flag, s.sizes, 2, s.largest); err != nil {
					return err
				}
				kernels = append(kernels, s.kernel)
			}
			if backendName != "" {
				b, err := backend.Open(backendName)
				if err != nil {
					return err
				}
				defer b.Close()
				onDevice = b
			}
			return bench.runAll(cmd.Context(), kernels)
		},
	}
	bench.add(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&chosen, "system", names, "systems to time")
	f.IntSliceVar(&nodes, "nodes", nil, "numbers of nodes along each axis (default: 64 and 256 on the line, 32 in the plane)")
	f.StringVar(&backendName, "backend", "", "compute backend to time too, on the line: xla:cuda, xla:cpu or go")
	f.IntSliceVar(&particles, "particles", nil, "numbers of particles in the plane (default: 32)")
	f.IntVar(&functions, "functions", 64, "number of functions on grids, each with 128 chains")
	return cmd
}
