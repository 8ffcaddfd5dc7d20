// Command integrators measures what the time step does to averages over invariant laws, for every
// integrator that suits the equation, and what a step costs. It writes Markdown tables.
//
//	go run ./docs/benchmarks/integrators [-samples N] [-only TEXT]
//
// Averages are exact ones by formula or quadrature, except for Lorenz's equations, whose reference is
// a run of Heun's method with a small step.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func main() {
	samples := flag.Int("samples", 1<<18, "samples of an average; a sixteenth of them beyond the plane")
	only := flag.String("only", "", "examples whose name has this text")
	flag.Parse()
	if err := run(context.Background(), *samples, *only); err != nil {
		fmt.Fprintf(os.Stderr, "integrators: %v\n", err)
		os.Exit(1)
	}
}

// chains of a function, which a goroutine simulates, and the samples of each.
const chains, perChain = 64, 16

func run(ctx context.Context, samples int, only string) error {
	for _, e := range examples() {
		samples := samples
		if !strings.Contains(e.name, only) {
			continue
		}
		system, err := e.system()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if e.dim > 2 {
			samples /= 16
		}
		want := e.exact
		if want == 0 {
			found, err := measure(ctx, e, system, simulate.Heun, e.fine, 4*samples)
			if err != nil {
				return err
			}
			want = found.mean
			e.note += fmt.Sprintf(" Reference: %.5g ± %.2g, Heun with dt %g.", want, found.chance, e.fine)
		}
		fmt.Printf("### %s\n\n%s Relative errors in percent.\n\n", e.name, e.note)
		heads, rule := []string{"integrator", "ns a step"}, []string{"---", "---:"}
		for _, dt := range e.steps {
			heads, rule = append(heads, fmt.Sprintf("dt %g", dt)), append(rule, "---:")
		}
		row(heads)
		row(rule)
		for _, i := range simulate.Integrators() {
			// For a constant diffusion Milstein's scheme is Euler's, and Platen's is Heun's.
			same := system.Noise == sde.AdditiveNoise && (i == simulate.Milstein || i == simulate.Platen)
			if err := i.Fits(system); err != nil || same {
				continue
			}
			cost, err := cost(ctx, e, system, i)
			if err != nil {
				return err
			}
			cells := []string(nil)
			for _, dt := range e.steps {
				found, err := measure(ctx, e, system, i, dt, samples)
				if errors.Is(err, simulate.ErrDiverged) {
					cells = append(cells, "diverges")
					continue
				}
				if errors.Is(err, simulate.ErrStuck) {
					cells = append(cells, "is stuck")
					continue
				}
				if err != nil {
					return fmt.Errorf("%s, %v: %w", e.name, i, err)
				}
				cells = append(cells, fmt.Sprintf("%+.2f ± %.2f", 100*(found.mean/want-1), 100*math.Abs(found.chance/want)))
			}
			row(append([]string{"`" + i.String() + "`", fmt.Sprintf("%.3g", cost)}, cells...))
		}
		fmt.Println()
	}
	return particles(ctx, only)
}

func row(cells []string) { fmt.Printf("| %s |\n", strings.Join(cells, " | ")) }

// cost is the time of a step of a chain on one core, in ns: the least of many short runs, since others may use
// the machine.
func cost(ctx context.Context, e example, system sde.Space, i simulate.Integrator) (float64, error) {
	const rounds = 500
	steps := 1000 / e.dim
	scheme := simulate.Scheme{DT: 1e-4, BurnIn: steps, Thin: 1, Chains: chains, Integrator: i}
	best, x := math.Inf(1), make([]float32, chains*e.dim)
	for range rounds {
		began := time.Now()
		if err := simulate.Fastest().Chains(ctx, x, system, scheme, 1, 0, "cost"); err != nil {
			return 0, err
		}
		best = min(best, float64(time.Since(began).Nanoseconds())/float64(chains*steps))
	}
	return best, nil
}

// found is an average with its standard error.
type found struct{ mean, chance float64 }

func measure(ctx context.Context, e example, system sde.Space, i simulate.Integrator, dt float64, samples int) (f found, err error) {
	scheme := simulate.Scheme{
		DT: dt, BurnIn: int(math.Ceil(e.burnIn / dt)), Thin: int(math.Ceil(e.apart / dt)), Chains: chains, Start: e.start, Integrator: i,
	}
	d, functions := system.Dim(), max(samples/(chains*perChain), 2)
	width := chains * perChain * d
	dst := make([]float32, functions*width)
	err = simulate.Fastest().Simulate(ctx, dst, simulate.Batch{
		Count: functions, System: func(int) (sde.System, error) { return system, nil }, Scheme: scheme, Seed: 1, Purpose: "integrators",
	}, nil)
	if err != nil {
		return f, err
	}
	var squares float64
	for k := range functions { // which are independent
		sum := 0.
		for at := k * width; at < (k+1)*width; at += d {
			sum += e.average(dst[at:][:d])
		}
		mean := sum / (chains * perChain)
		f.mean += mean / float64(functions)
		squares += mean * mean / float64(functions)
	}
	f.chance = math.Sqrt((squares - f.mean*f.mean) / float64(functions-1))
	return f, nil
}
