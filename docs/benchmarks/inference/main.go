// Command inference compares ways to sample invariant laws on the line at equal time: a model,
// the model with steps of the equation after it, and chains alone.
//
//	go run ./docs/benchmarks/inference [-functions N] [-write DIR] NAME=CHECKPOINT.safetensors...
//
// Every way draws 4,096 samples of each of the first held-out functions of the checkpoint's
// experiment, on all processors, and the distance is W2 to the exact law. It prints a table in
// Markdown; with -write it also draws DIR/NAME.svg and writes DIR/NAME.csv. `ergoflow
// checkpoints export` makes the files.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const (
	samples = 4096
	dt      = 0.01 // of all chains, the paper's
	// chains are as many as the paper's MCMC has.
	chains = 64
	rounds = 5
)

// few are numbers of chains that begin from draws of the model.
var few = []int{64, 256, 1024}

// solvers, steps of the repair and of chains, the cheapest first.
var (
	solvers = []string{"euler-1", "euler-2", "euler-4", "euler-8", "euler-16", "rk4-1", "rk4-2", "rk4-4", "rk4-8"}
	repairs = []int{30, 100, 300, 1000, 3000}
	alone   = []int{30, 100, 300, 1000, 3000, 10000, 30000}
)

// row is one way to sample.
type row struct {
	kind, name   string
	seconds      float64   // of one function, median over rounds
	w2           []float64 // of every function
	mean, median float64
}

func main() {
	functions := flag.Int("functions", 64, "number of held-out functions")
	write := flag.String("write", "", "directory of the figures and of their numbers")
	flag.Parse()
	if flag.NArg() == 0 || *functions < 1 {
		flag.Usage()
		os.Exit(2)
	}
	for _, arg := range flag.Args() {
		name, path, _ := strings.Cut(arg, "=")
		if err := run(context.Background(), name, path, *functions, *write); err != nil {
			fmt.Fprintf(os.Stderr, "inference: %s: %v\n", arg, err)
			os.Exit(1)
		}
	}
}

// bench is the functions of one model.
type bench struct {
	subjects []flow.Subject
	exact    [][]float64 // quantiles of the laws at (i + ½)/samples
	engine   *engine.Engine
	reader   *request.Reader
}

func run(ctx context.Context, name, path string, functions int, write string) error {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	e, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return err
	}
	f, err := e.Family()
	if err != nil {
		return err
	}
	b := &bench{}
	if b.subjects, b.exact, err = heldOut(ctx, e, f, functions); err != nil {
		return err
	}
	if b.engine, err = engine.Open(engine.Options{Name: engine.Table}, e, f, st); err != nil {
		return err
	}
	b.reader = request.NewReader(e, f, st.Normalisation)
	rows, err := b.rows(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("### %s: step %d, %d functions × %d samples, %s, %s/%s, %d threads\n\n", name, st.Step, functions, samples,
		ergoflow.Build(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	fmt.Println("| | time of a function, ms | W2, mean | W2, median |\n|---|---|---|---|")
	for _, r := range rows {
		fmt.Printf("| %s %s | %.3g | %.4f | %.4f |\n", r.kind, r.name, 1e3*r.seconds, r.mean, r.median)
	}
	fmt.Println()
	if write == "" {
		return nil
	}
	return drawFigure(filepath.Join(write, name), rows)
}

// heldOut makes the functions and the quantiles of their laws.
func heldOut(ctx context.Context, e experiment.Experiment, f family.Family, n int) ([]flow.Subject, [][]float64, error) {
	known, ok := f.(family.KnownLaw)
	if !ok {
		return nil, nil, fmt.Errorf("the laws of %s are not known", f.Name())
	}
	first, _ := e.Data.ShardRange(e.Data.HeldOutShard())
	subjects, exact := make([]flow.Subject, n), make([][]float64, n)
	err := simulate.Each(ctx, n, func(_ context.Context, i int) error {
		made, err := f.Function(e.Data.Seed, first+i)
		if err != nil {
			return err
		}
		law, err := known.Law(e.Data.Seed, first+i)
		if err != nil {
			return err
		}
		subjects[i] = flow.Subject{Index: first + i, Function: made}
		exact[i] = make([]float64, samples)
		for k := range exact[i] {
			exact[i][k] = law.Quantile((float64(k) + .5) / samples)
		}
		return nil
	}, nil)
	return subjects, exact, err
}

// rows measures every way.
func (b *bench) rows(ctx context.Context) ([]row, error) {
	var all []row
	add := func(kind, name string, draw func(ctx context.Context) ([][]float32, error)) error {
		r := row{kind: kind, name: name}
		var times []float64
		for round := range 1 + rounds {
			begin := time.Now()
			x, err := draw(ctx)
			if err != nil {
				return fmt.Errorf("%s %s: %w", kind, name, err)
			}
			took := time.Since(begin).Seconds()
			if round == 0 {
				r.w2 = b.distances(x)
				if took > 1 { // one round is enough
					times = append(times, took)
					break
				}
				continue
			}
			times = append(times, took)
		}
		slices.Sort(times)
		r.seconds = times[len(times)/2] / float64(len(b.subjects))
		sorted := slices.Clone(r.w2)
		slices.Sort(sorted)
		for _, v := range sorted {
			r.mean += v / float64(len(sorted))
		}
		r.median = (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
		all = append(all, r)
		fmt.Fprintf(os.Stderr, "%s %s: %.3g ms, W2 %.4f\n", kind, name, 1e3*r.seconds, r.mean)
		return nil
	}
	for _, name := range solvers {
		solver, err := ode.Parse(name)
		if err != nil {
			return nil, err
		}
		if err := add("model", name, func(ctx context.Context) ([][]float32, error) { return b.model(ctx, solver) }); err != nil {
			return nil, err
		}
	}
	best := ode.RK4{Steps: 4}
	for _, steps := range repairs {
		err := add("model + repair", fmt.Sprintf("rk4-4, %d steps", steps), func(ctx context.Context) ([][]float32, error) {
			x, err := b.model(ctx, best)
			if err != nil {
				return nil, err
			}
			return x, b.proceed(ctx, x, steps)
		})
		if err != nil {
			return nil, err
		}
	}
	err := add("model + weights", "rk4-4, 4 draws for a sample", b.weighted)
	if err != nil {
		return nil, err
	}
	for _, count := range few {
		for _, steps := range repairs {
			err := add("model + few chains", fmt.Sprintf("rk4-4, %d chains of %d steps", count, steps*samples/count), func(ctx context.Context) ([][]float32, error) {
				x, err := b.engine.Sample(ctx, b.subjects, count, best, 0)
				if err != nil {
					return nil, err
				}
				return b.thinned(ctx, x, steps)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, steps := range alone {
		err := add("4,096 chains", fmt.Sprintf("of %d steps", steps), func(ctx context.Context) ([][]float32, error) {
			x := make([][]float32, len(b.subjects))
			for i := range x {
				x[i] = sampler.Noise(1, i, samples)
			}
			return x, b.proceed(ctx, x, steps)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, steps := range alone {
		// As many steps in all, half of them burn-in.
		per := steps * samples / chains
		scheme := simulate.Scheme{DT: dt, Chains: chains, BurnIn: per / 2, Thin: per / 2 / (samples/chains - 1)}
		err := add("64 chains", fmt.Sprintf("of %d steps, half of them burn-in", per), func(ctx context.Context) ([][]float32, error) {
			x := make([][]float32, len(b.subjects))
			return x, simulate.Each(ctx, len(x), func(ctx context.Context, i int) error {
				x[i] = make([]float32, samples)
				return simulate.Chains(ctx, x[i], b.subjects[i].Function.System, scheme, 1, uint64(i), "inference")
			}, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	floor := make([][]float32, len(b.exact))
	for i, law := range b.exact { // independent draws
		floor[i] = make([]float32, samples)
		for k, z := range sampler.Noise(2, i, samples) {
			u := math.Erfc(-float64(z)/math.Sqrt2) / 2
			floor[i][k] = float32(law[min(int(u*samples), samples-1)])
		}
	}
	err = add("independent draws", "of the law: the best possible", func(context.Context) ([][]float32, error) { return floor, nil })
	return all, err
}

// model draws the samples of all functions.
func (b *bench) model(ctx context.Context, solver ode.Solver) ([][]float32, error) {
	return b.engine.Sample(ctx, b.subjects, samples, solver, 0)
}

// proceed moves the samples of every function by steps of its equation.
func (b *bench) proceed(ctx context.Context, x [][]float32, steps int) error {
	return simulate.Each(ctx, len(x), func(ctx context.Context, i int) error {
		return simulate.Fastest().Continue(ctx, x[i], b.subjects[i].Function.System, dt, steps, 1, uint64(i), "inference")
	}, nil)
}

// weighted takes draws of the model by their importance weights.
func (b *bench) weighted(ctx context.Context) ([][]float32, error) {
	x := make([][]float32, len(b.subjects))
	return x, simulate.Each(ctx, len(x), func(ctx context.Context, i int) (err error) {
		target, err := b.reader.Resolve(ctx, request.Request{Function: b.subjects[i].Index})
		if err == nil {
			x[i], _, _, err = target.Weigh(ctx, b.engine, samples, ode.RK4{Steps: 4}, uint64(i))
		}
		return err
	}, nil)
}

// thinned moves the states x [functions, count] by as many steps in all as proceed would move
// all samples, and keeps samples of the second half.
func (b *bench) thinned(ctx context.Context, x [][]float32, steps int) ([][]float32, error) {
	kept := make([][]float32, len(x))
	return kept, simulate.Each(ctx, len(x), func(ctx context.Context, i int) error {
		each := samples / len(x[i])
		per := steps * each
		for k := range each {
			part := per / 2 / each
			if k == 0 {
				part += per / 2
			}
			if err := simulate.Fastest().Continue(ctx, x[i], b.subjects[i].Function.System, dt, part, uint64(k+1), uint64(i), "inference"); err != nil {
				return err
			}
			kept[i] = append(kept[i], x[i]...)
		}
		return nil
	}, nil)
}

// distances are W2 of the samples of every function to its law.
func (b *bench) distances(x [][]float32) []float64 {
	all := make([]float64, len(x))
	for i, drawn := range x {
		sorted := slices.Clone(drawn)
		slices.Sort(sorted)
		sum := 0.
		for k, v := range sorted {
			d := float64(v) - b.exact[i][k]
			sum += d * d
		}
		all[i] = math.Sqrt(sum / samples)
	}
	return all
}
