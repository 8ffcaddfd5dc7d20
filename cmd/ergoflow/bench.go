package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/stopwatch"
)

func benchCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "bench",
		Short:   "Measure the speed of this machine",
		Example: "  ergoflow bench step --json",
	}, benchStepCommand(), benchSimulateCommand(), benchSinkhornCommand(), benchAssignmentCommand(), benchSampleCommand(), benchAllReduceCommand())
}

// kernelBench are the flags of the commands that time kernels.
type kernelBench struct {
	rounds  int
	threads []int
	asJSON  bool
}

func (k *kernelBench) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&k.rounds, "rounds", 5, "number of timed rounds, each of 0.2 s or more, after one to warm up")
	f.IntSliceVar(&k.threads, "threads", nil, "numbers of threads to measure with (default: 1 and all)")
	f.BoolVar(&k.asJSON, "json", false, "print JSON (docs/formats.md)")
}

// maxThreads bounds --threads, above any machine's number.
const maxThreads = 1024

// measure times a kernel of that size on all engines.
type measure func(ctx context.Context, size, rounds int) ([]stopwatch.Measurement, error)

// kernel is a measurement and the sizes to run it with.
type kernel struct {
	sizes   []int
	measure measure
}

// run measures one kernel and prints the list.
func (k *kernelBench) run(ctx context.Context, sizes []int, measure measure) error {
	return k.runAll(ctx, []kernel{{sizes, measure}})
}

// runAll measures each size of each kernel with each number of threads and
// prints the list.
func (k *kernelBench) runAll(ctx context.Context, kernels []kernel) error {
	if k.rounds < 1 {
		return usagef("--rounds is %d, not positive", k.rounds)
	}
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	threads := k.threads
	if len(threads) == 0 {
		threads = slices.Compact([]int{1, all})
	}
	list := []stopwatch.Measurement{}
	for _, n := range threads {
		if n < 1 || n > maxThreads {
			return usagef("--threads has %d, outside 1 to %d", n, maxThreads)
		}
		runtime.GOMAXPROCS(n)
		for _, kernel := range kernels {
			for _, size := range kernel.sizes {
				found, err := kernel.measure(ctx, size, k.rounds)
				if err != nil {
					return err
				}
				list = append(list, found...)
			}
		}
	}
	if k.asJSON {
		return printJSON(list)
	}
	for _, m := range list {
		fmt.Fprintf(stdout, "%-15s %-52s %-12s %2d threads  %10.3f ms  %9.4g %s/s\n", m.Engine, m.What, m.Size, m.Threads, 1e3*m.Median, m.Rate, m.Unit)
	}
	return nil
}

// within checks the numbers of a flag.
func within(flag string, values []int, least, largest int) error {
	if len(values) == 0 {
		return usagef("--%s is empty", flag)
	}
	for _, v := range values {
		if v < least || v > largest {
			return usagef("--%s has %d, outside %d to %d", flag, v, least, largest)
		}
	}
	return nil
}
