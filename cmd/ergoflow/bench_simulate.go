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

// simulateBench are the flags of bench simulate.
type simulateBench struct {
	kernelBench
	systems          []string
	nodes, particles []int
	functions        int
	backend          string
	onDevice         *backend.Backend // nil if none is timed
}

// system is a kernel with the flag that gives its sizes.
type system struct {
	name    string
	flag    string
	given   *[]int // the flag's value
	largest int
	kernel
}

// all are the systems with their default sizes.
func (b *simulateBench) all() []system {
	return []system{
		{"line", "nodes", &b.nodes, 1 << 16, kernel{[]int{64, 256}, b.onGrids(b.line)}},
		{"plane", "nodes", &b.nodes, 1 << 8, kernel{[]int{32}, b.onGrids(simulate.BenchmarkPlane)}},
		{"particles", "particles", &b.particles, sde.MaxParticles, kernel{[]int{32}, simulate.BenchmarkParticles}},
	}
}

func benchSimulateCommand() *cobra.Command {
	var b simulateBench
	var names []string
	for _, s := range b.all() {
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
			kernels, err := b.kernels(names, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if b.backend != "" {
				if b.onDevice, err = backend.Open(b.backend); err != nil {
					return err
				}
				defer b.onDevice.Close()
			}
			return b.runAll(cmd.Context(), kernels)
		},
	}
	b.add(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&b.systems, "system", names, "systems to time")
	f.IntSliceVar(&b.nodes, "nodes", nil, "numbers of nodes along each axis (default: 64 and 256 on the line, 32 in the plane)")
	f.StringVar(&b.backend, "backend", "", "compute backend to time too, on the line: xla:cuda, xla:cpu or go")
	f.IntSliceVar(&b.particles, "particles", nil, "numbers of particles in the plane (default: 32)")
	f.IntVar(&b.functions, "functions", 64, "number of functions on grids, each with 128 chains")
	return cmd
}

// kernels are the chosen systems with their sizes. changed reports whether a flag was
// given.
func (b *simulateBench) kernels(names []string, changed func(flag string) bool) ([]kernel, error) {
	if err := within("functions", []int{b.functions}, 1, 4096); err != nil {
		return nil, err
	}
	for _, name := range b.systems {
		if !slices.Contains(names, name) {
			return nil, usagef("--system has %q, want %s", name, strings.Join(names, ", "))
		}
	}
	var kernels []kernel
	for _, s := range b.all() {
		if !slices.Contains(b.systems, s.name) {
			continue
		}
		if changed(s.flag) {
			s.sizes = *s.given
		}
		if err := within(s.flag, s.sizes, 2, s.largest); err != nil {
			return nil, err
		}
		kernels = append(kernels, s.kernel)
	}
	return kernels, nil
}

// line times the engines on the line, and the device if one is open.
func (b *simulateBench) line(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error) {
	found, err := simulate.BenchmarkLine(ctx, nodes, functions, rounds)
	if err != nil || b.onDevice == nil {
		return found, err
	}
	more, err := simulator.Benchmark(ctx, b.onDevice, nodes, functions, rounds)
	return append(found, more...), err
}

// onGrids is a benchmark of --functions functions on grids.
func (b *simulateBench) onGrids(benchmark func(ctx context.Context, nodes, functions, rounds int) ([]stopwatch.Measurement, error)) measure {
	return func(ctx context.Context, nodes, rounds int) ([]stopwatch.Measurement, error) {
		return benchmark(ctx, nodes, b.functions, rounds)
	}
}
