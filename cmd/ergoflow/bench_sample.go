package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

func benchSampleCommand() *cobra.Command {
	var checkpoint, solver string
	var options engine.Options
	var equations, n, compare, rounds int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sample --checkpoint C",
		Short: "Time the sampling of a trained model",
		Long: `Times requests for the samples of held-out functions: all functions in one
request, and one function alone. The network on a backend computes the first
functions, too, from the same noise. The errors are the differences between the
two, in standard deviations of each coordinate of each function's law.`,
		Example: "  ergoflow bench sample --checkpoint ergoflow-runs/vn1d-demo --equations 128 -n 4096 --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("compare") {
				compare = min(compare, equations)
			}
			for _, flag := range []struct {
				name                  string
				value, least, largest int
			}{
				{"equations", equations, 1, 1 << 16}, {"samples", n, 1, sampler.MaxNumbers},
				{"compare", compare, 0, equations}, {"rounds", rounds, 1, 1000},
			} {
				if err := within(flag.name, []int{flag.value}, flag.least, flag.largest); err != nil {
					return err
				}
			}
			e, f, st, err := readTrained(cmd.Context(), checkpoint)
			if err != nil {
				return err
			}
			method, err := e.Solver(solver)
			if err != nil {
				return usage(err)
			}
			options.Tables = tablesBeside(checkpoint)
			s, err := engine.Benchmark(cmd.Context(), options, e, f, st, method, equations, n, compare, rounds)
			if err != nil {
				return engineError(err)
			}
			if asJSON {
				return printJSON(s)
			}
			fmt.Fprintf(stdout, "%s, %s: ready in %s; %d equations × %d samples in %s each; one equation alone in %s\n",
				s.Engine, s.Solver, short(s.SetupS), s.Equations, s.Samples, short(s.SecondsPerEquation), short(s.SecondsOne))
			if s.Compared > 0 {
				fmt.Fprintf(stdout, "network on a backend: %s an equation; the samples of %d equations differ by at most %.2g standard deviations, root mean square %.2g\n",
					short(s.SecondsDirect), s.Compared, s.MaxErrorVsDirect, s.RMSErrorVsDirect)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&checkpoint, "checkpoint", "", checkpointUsage+" (required)")
	f.IntVar(&equations, "equations", 128, "number of held-out functions")
	f.IntVarP(&n, "samples", "n", 4096, "number of samples of each function")
	f.IntVar(&compare, "compare", 4, "number of functions that a backend computes, too")
	f.IntVar(&rounds, "rounds", 5, "number of timed rounds, after one to warm up")
	f.StringVar(&solver, "solver", "", "ODE solver: euler-N or rk4-N with N steps, or dopri5 (default: the model's evaluation.solver)")
	f.StringVar(&options.Name, "engine", engine.Auto, "auto, table (of the network, on the line), processor (no backend) or network (on a backend)")
	f.StringVar(&options.Backend, "backend", backend.Auto, "compute backend of --engine network: auto, xla:cuda, xla:cpu or go; with a GPU, auto takes that engine where there is no table")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	cmd.MarkFlagRequired("checkpoint")
	return cmd
}
