package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func benchStepCommand() *cobra.Command {
	var choose experimentFlags
	var name, backendName string
	var steps, world int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Time training steps: batch, gradient, clipping, update",
		Long: `Times training steps of one worker on functions whose samples are noise. A step
assembles the batch (with probes, for networks with sensors), computes the
gradient, copies it to the host and back, clips it and updates with AdamW.

With --world the steps run on a cluster of that many workers on this machine,
each with its share of the processor's cores. The coordinator reports the parts
of the last 15 steps: waiting for the batch, gradient, its copy to the host, the
sum over the workers, waiting for the last of them, update, and the rest.`,
		Example: "  ergoflow bench step --experiment vn1d --steps 50 --json\n  ergoflow bench step --experiment vn1d --preset demo --world 2",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := choose.loadFull(name)
			if err != nil {
				return err
			}
			if steps < 1 {
				return usagef("--steps is %d, not positive", steps)
			}
			if cmd.Flags().Changed("world") {
				m, err := benchCluster(cmd.Context(), e, world, backendName, steps)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(m)
				}
				return m.print()
			}
			return benchProcess(cmd.Context(), e, backendName, steps, asJSON)
		},
	}
	choose.addFull(cmd)
	f := cmd.Flags()
	f.StringVar(&name, "experiment", "vn1d", "experiment: "+experimentNames())
	f.StringVar(&backendName, "backend", backend.Auto, "compute backend: auto, xla:cuda, xla:cpu or go")
	f.IntVar(&steps, "steps", 30, "number of steps to time")
	f.IntVar(&world, "world", 0, "number of workers of a cluster on this machine (default: this process alone)")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// benchProcess times the steps of one worker in this process.
func benchProcess(ctx context.Context, e experiment.Experiment, backendName string, steps int, asJSON bool) error {
	b, err := backend.Open(backendName)
	if err != nil {
		return err
	}
	defer b.Close()
	m, err := e.Benchmark(ctx, b, steps)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(m)
	}
	fmt.Fprintf(stdout, "%s on %s, %s: median %.1f ms (least %.1f), %.0f GFLOP/s, %.0f samples/s\n",
		m.Experiment, m.Backend, m.Batch, 1e3*m.Median, 1e3*m.Min, m.GFLOPS, m.SamplesPerSecond)
	fmt.Fprintf(stdout, "  assembly %.1f ms, gradient %.1f ms, update %.1f ms\n", 1e3*m.Assembly, 1e3*m.Gradient, 1e3*m.Update)
	return nil
}
