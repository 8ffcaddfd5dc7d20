// Command solvers compares solvers of a trained model's flow, in any dimension: the time of a
// function, and the mean Sinkhorn divergence to chains of the equation.
//
//	go run ./docs/benchmarks/solvers [-functions N] [-samples M] CHECKPOINT.safetensors
//
// The processor evaluates the network itself, unless -engine says another. The reference are
// the last states of as many chains from N(0, I); another set of them is the floor.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// chains are those of the reference.
type chains struct {
	dt    float64
	steps int
}

func main() {
	functions := flag.Int("functions", 12, "number of held-out functions")
	samples := flag.Int("samples", 2048, "samples of each")
	solvers := flag.String("solvers", "euler-1,euler-2,euler-3,euler-4,euler-8,rk4-1,rk4-2,rk4-4,rk4-8,dopri5", "those to compare")
	name := flag.String("engine", engine.Processor, "processor, network or table")
	var scheme chains
	flag.Float64Var(&scheme.dt, "dt", 0.01, "time step of the chains")
	flag.IntVar(&scheme.steps, "steps", 5000, "steps of the chains")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *functions, *samples, *name, strings.Split(*solvers, ","), scheme); err != nil {
		fmt.Fprintf(os.Stderr, "solvers: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, functions, n int, by string, solvers []string, c chains) error {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	trained, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return err
	}
	e := trained.Inference()
	f, err := e.Family()
	if err != nil {
		return err
	}
	drawer, err := engine.Open(engine.Options{Name: by}, e, f, st)
	if err != nil {
		return err
	}
	defer drawer.Close()
	d := e.Velocity().Dim()
	first, _ := e.Data.ShardRange(e.Data.HeldOutShard())
	subjects, references, others := make([]flow.Subject, functions), make([]*metrics.Reference, functions), make([][]float32, functions)
	err = simulate.Each(ctx, functions, func(ctx context.Context, i int) error {
		made, err := f.Function(e.Data.Seed, first+i)
		if err != nil {
			return err
		}
		subjects[i] = flow.Subject{Index: first + i, Function: made}
		for k, seed := range []uint64{1, 2} {
			x := sampler.Noise(seed, i, n*d)
			if err := simulate.Fastest().Continue(ctx, x, made.System, c.dt, c.steps, seed, uint64(i), "solvers"); err != nil {
				return err
			}
			if k == 0 {
				references[i] = metrics.NewReference(metrics.Cloud{N: n, D: d, X: x})
			} else {
				others[i] = x
			}
		}
		return nil
	}, nil)
	if err != nil {
		return err
	}
	divergence := func(x [][]float32) (mean, median float64, err error) {
		all := make([]float64, functions)
		for i := range x {
			if all[i], err = references[i].Sinkhorn(metrics.Cloud{N: n, D: d, X: x[i]}, metrics.Options{}); err != nil {
				return 0, 0, err
			}
			mean += all[i] / float64(functions)
		}
		slices.Sort(all)
		return mean, all[functions/2], nil
	}
	fmt.Printf("%s, step %d, %d functions × %d samples\n\n", e.Name, st.Step, functions, n)
	fmt.Println("| solver | time of a function, ms | Sinkhorn divergence, mean | median |\n|---|---|---|---|")
	for _, name := range solvers {
		solver, err := ode.Parse(name)
		if err != nil {
			return err
		}
		if _, err := drawer.Sample(ctx, subjects[:1], n, solver, 0); err != nil { // compiles
			return err
		}
		begin := time.Now()
		x, err := drawer.Sample(ctx, subjects, n, solver, 0)
		if err != nil {
			return err
		}
		took := time.Since(begin).Seconds() / float64(functions)
		mean, median, err := divergence(x)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f | %.4f | %.4f |\n", name, 1e3*took, mean, median)
	}
	mean, median, err := divergence(others)
	if err != nil {
		return err
	}
	fmt.Printf("| floor: other chains | | %.4f | %.4f |\n", mean, median)
	return nil
}
