// Command repair compares a model's samples, repaired or not, with chains of the equation alone,
// which start from N(0, I) and take the same wall time, or ten times it:
//
//	go run ./docs/benchmarks/repair [-functions N] [-samples M] [-gradients] [-flow] CHECKPOINT.safetensors
//
// Functions are held out. With -gradients the equations are those of gradients.go, for a model of
// cn2d. Distances: on the line W2 to the exact law in its deviations; in the plane Sinkhorn's to
// exact draws where the density is known, else to as many chains of 20,000 steps; of particles the
// feature distance to chains of 100,000 steps of 0.0002. Times are those of this machine: what
// other work it does moves them, and the steps of the chains with them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
)

const (
	seed  = 1
	limit = 300 * time.Millisecond // of auto
)

// problem is an equation with what its samples are compared with.
type problem struct {
	name     string
	target   request.Target
	distance func(x []float32) (float64, error)
	floor    []float32         // other draws of the reference
	chains   sde.System        // that chains follow
	equation certificate.Plane // of formulas
	limit    time.Duration     // of auto
}

type bench struct {
	e      experiment.Experiment
	family family.Family
	engine *engine.Engine
	reader *request.Reader
	n, d   int
	flow   bool
	solver ode.Solver
}

func main() {
	functions := flag.Int("functions", 16, "number of functions")
	samples := flag.Int("samples", 2048, "samples of each")
	gradients := flag.Bool("gradients", false, "equations with potentials in the plane, instead of held-out functions")
	flow := flag.Bool("flow", false, "also weights whose density is that along the flow, in the plane and for particles")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *functions, *samples, *gradients, *flow); err != nil {
		fmt.Fprintf(os.Stderr, "repair: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, functions, n int, gradients, flow bool) error {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	trained, st, err := experiment.DecodeState(encoded)
	if err != nil {
		return err
	}
	b := &bench{e: trained.Inference(), n: n, flow: flow, solver: ode.RK4{Steps: 1}}
	if b.family, err = b.e.Family(); err != nil {
		return err
	}
	if b.engine, err = engine.Open(engine.Options{}, b.e, b.family, st); err != nil {
		return err
	}
	defer b.engine.Close()
	b.reader, b.d = request.NewReader(b.e, b.family, st.Normalisation), b.e.Velocity().Dim()
	if b.d == 1 {
		b.solver = ode.RK4{Steps: 4} // by a table
	}
	var problems []problem
	if gradients {
		problems, err = b.gradients(ctx)
	} else {
		problems, err = b.heldOut(ctx, functions)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s%s, %d equations, %d samples, %s\n\n| equation |", b.e.Name, map[bool]string{true: ", gradients"}[gradients], len(problems), n, b.solver)
	var names []string
	values := map[string][]float64{}
	for i, p := range problems {
		rows, err := b.compare(ctx, p, i)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if i == 0 {
			for _, r := range rows {
				names = append(names, r.name)
				fmt.Printf(" %s |", r.name)
			}
			fmt.Println("\n|---|" + string(slices.Repeat([]byte("---:|"), len(rows))))
		}
		fmt.Printf("| %s |", p.name)
		for _, r := range rows {
			values[r.name] = append(values[r.name], r.distance)
			fmt.Printf(" %.4f in %.3g s%s |", r.distance, r.seconds, r.about)
		}
		fmt.Println()
	}
	for _, what := range []string{"median", "mean"} {
		fmt.Printf("| **%s** |", what)
		for _, name := range names {
			v := slices.Clone(values[name])
			slices.Sort(v)
			if what == "median" {
				fmt.Printf(" %.4f |", (v[len(v)/2]+v[(len(v)-1)/2])/2)
				continue
			}
			sum := 0.
			for _, u := range v {
				sum += u / float64(len(v))
			}
			fmt.Printf(" %.4f |", sum)
		}
		fmt.Println()
	}
	return nil
}

// row is a distance and what it cost.
type row struct {
	name              string
	distance, seconds float64
	about             string
}

// compare draws in all ways.
func (b *bench) compare(ctx context.Context, p problem, i int) (rows []row, err error) {
	add := func(name string, x []float32, seconds float64, about string) error {
		d, err := p.distance(x)
		rows = append(rows, row{name, d, seconds, about})
		return err
	}
	draw := func() ([]float32, float64, error) {
		begin := time.Now()
		x, err := p.target.Draw(ctx, b.engine, b.n, b.solver, seed)
		return x, time.Since(begin).Seconds(), err
	}
	if _, _, err := draw(); err != nil { // compiles
		return nil, err
	}
	x, plain, err := draw()
	if err != nil {
		return nil, err
	}
	if err := add("model", x, plain, ""); err != nil {
		return nil, err
	}
	r, _, err := p.target.Repair(ctx, x, repair.Options{Limit: p.limit, Seed: seed})
	if err != nil {
		return nil, err
	}
	took := plain + r.Seconds
	if err := add("model, auto", x, took, ""); err != nil {
		return nil, err
	}
	budget := took
	_, _, _, err = p.target.Weigh(ctx, b.engine, b.n, b.solver, seed) // compiles
	if err == nil {
		x, w, _, err := p.target.Weigh(ctx, b.engine, b.n, b.solver, seed)
		if err != nil {
			return nil, err
		}
		if err := add("model, weights", x, w.Seconds, fmt.Sprintf(", ESS %.0f, k̂ %.2f", w.ESS, w.KHat)); err != nil {
			return nil, err
		}
		budget = w.Seconds
	} else if !errors.Is(err, request.ErrNoWeights) {
		return nil, err
	}
	if b.flow {
		x, r, ok, err := b.byFlow(ctx, p)
		if err != nil {
			return nil, err
		}
		if ok {
			if err := add(r.name, x, r.seconds, r.about); err != nil {
				return nil, err
			}
		}
	}
	for _, times := range []float64{1, 10} {
		x, seconds, steps, err := b.chains(ctx, p, i, times*budget)
		if err != nil {
			return nil, err
		}
		if err := add(fmt.Sprintf("chains, %g×", times), x, seconds, fmt.Sprintf(", %d steps", steps)); err != nil {
			return nil, err
		}
	}
	return rows, add("floor", p.floor, 0, "")
}

// chains runs chains from N(0, I) for so many seconds: a first part tells how long a step takes.
func (b *bench) chains(ctx context.Context, p problem, i int, budget float64) (x []float32, seconds float64, steps int, err error) {
	for steps = 50; ; steps *= 4 {
		begin := time.Now()
		x = sampler.Noise(seed, i, b.n*b.d)
		if _, err = repair.Run(ctx, x, repair.Equation{System: p.chains}, repair.Options{Steps: steps, Seed: seed}, nil); err != nil {
			return nil, 0, 0, err
		}
		if seconds = time.Since(begin).Seconds(); seconds > budget/3 {
			break
		}
	}
	steps = max(1, int(float64(steps)*budget/seconds))
	begin := time.Now()
	x = sampler.Noise(seed, i, b.n*b.d)
	_, err = repair.Run(ctx, x, repair.Equation{System: p.chains}, repair.Options{Steps: steps, Seed: seed}, nil)
	return x, time.Since(begin).Seconds(), steps, err
}

// heldOut are functions of the family.
func (b *bench) heldOut(ctx context.Context, functions int) (all []problem, err error) {
	first, _ := b.e.Data.ShardRange(b.e.Data.HeldOutShard())
	for i := first; i < first+functions; i++ {
		target, err := b.reader.Resolve(ctx, request.Request{Function: i})
		if err != nil {
			return nil, err
		}
		p := problem{name: fmt.Sprint(i), target: target, chains: target.Subject.Function.System, limit: limit}
		switch system := p.chains.(type) {
		case sde.Coefficients:
			law, err := b.family.(family.KnownLaw).Law(b.e.Data.Seed, i)
			if err != nil {
				return nil, err
			}
			rng := random.New(seed, "repair/floor", uint64(i))
			for range b.n {
				p.floor = append(p.floor, float32(law.Quantile(rng.Float64())))
			}
			p.distance = func(x []float32) (float64, error) { return effect(target, x) }
		case sde.Plane:
			if p.distance, p.floor, err = b.toChains(ctx, system, i); err != nil {
				return nil, err
			}
		case sde.Particles:
			p.limit = 3 * time.Second
			if p.distance, p.floor, err = b.toStates(ctx, system, i); err != nil {
				return nil, err
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// effect is the W2 of the certificate.
func effect(target request.Target, x []float32) (float64, error) {
	for _, c := range target.Certify(x).Checks {
		if c.Name == "w2" {
			return c.Effect, nil
		}
	}
	return math.NaN(), errors.New("the law has no W2")
}

// toDraws is Sinkhorn's divergence to draws in the plane.
func toDraws(draws []float32) func(x []float32) (float64, error) {
	reference := metrics.NewReference(metrics.Cloud{N: len(draws) / 2, D: 2, X: draws})
	return func(x []float32) (float64, error) {
		r, err := reference.SinkhornConverged(metrics.Cloud{N: len(x) / 2, D: 2, X: x}, metrics.ConvergedOptions{Tolerance: 1e-3, MaxIterations: 200})
		return r.Value, err
	}
}

// toChains makes the reference of a function in the plane.
func (b *bench) toChains(ctx context.Context, system sde.Plane, i int) (func(x []float32) (float64, error), []float32, error) {
	var sets [2][]float32
	for k := range sets {
		sets[k] = sampler.Noise(uint64(10+k), i, b.n*b.d)
		if err := simulate.Fastest().Continue(ctx, sets[k], system, 0.005, 20000, uint64(10+k), uint64(i), "reference"); err != nil {
			return nil, nil, err
		}
	}
	return toDraws(sets[0]), sets[1], nil
}

// toStates makes the reference of particles.
func (b *bench) toStates(ctx context.Context, system sde.Particles, i int) (func(x []float32) (float64, error), []float32, error) {
	potential, err := b.family.(family.Gibbs).Potential(b.e.Data.Seed, i)
	if err != nil {
		return nil, nil, err
	}
	var sets [2][]float32
	for k := range sets {
		sets[k] = sampler.Noise(uint64(10+k), i, b.n*b.d)
		for j := range sets[k] {
			sets[k][j] *= 1.5
		}
		if err := simulate.Fastest().Continue(ctx, sets[k], system, 0.0002, 100000, uint64(10+k), uint64(i), "reference"); err != nil {
			return nil, nil, err
		}
	}
	target, err := observables.Observe(sets[0], system.N, 1, potential.Energy)
	return func(x []float32) (float64, error) {
		o, err := observables.Observe(x, system.N, 1, potential.Energy)
		if err != nil {
			return math.NaN(), err
		}
		return observables.FeatureDistance(target, o, seed)
	}, sets[1], err
}
