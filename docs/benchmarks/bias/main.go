// Command bias measures by what part a time step makes the variances of example families too large, and how
// exactly a pilot run knows it, in Markdown:
//
//	go run ./docs/benchmarks/bias
//
// 128 chains and as many with half the step follow the same noise over a time of 10, from the box, and give
// 16 states each over a time of 5.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func main() {
	if err := measureAll(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "bias: %v\n", err)
		os.Exit(1)
	}
}

func measureAll(ctx context.Context) error {
	fmt.Println("| example | integrator | dt 0.02 | dt 0.005 |\n|---|---|---:|---:|")
	for _, name := range []string{"ornstein_uhlenbeck", "phi4", "duffing", "van_der_pol", "fitzhugh_nagumo", "lorenz63", "lorenz96"} {
		definition, err := family.Load("docs/families/" + name + ".yaml")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f, err := definition.Family()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		function, err := f.Function(1, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		system := function.System.(sde.Space)
		for _, i := range []simulate.Integrator{simulate.Euler, simulate.Suited(system)} {
			fmt.Printf("| %s | `%v` |", name, i)
			for _, dt := range []float64{0.02, 0.005} {
				if err := measure(ctx, system, i, dt); err != nil {
					return fmt.Errorf("%s, %v, dt %g: %w", name, i, dt, err)
				}
			}
			fmt.Println()
		}
	}
	return nil
}

// measure prints the difference between a step and half of it, in percent.
func measure(ctx context.Context, system sde.Space, i simulate.Integrator, dt float64) error {
	const chains, perChain = 128, 16
	burnIn := int(10 / dt)
	s := simulate.Scheme{DT: dt, BurnIn: burnIn, Thin: burnIn / 2 / perChain, Chains: chains, Start: simulate.InBox, Integrator: i}
	whole, half, err := simulate.Fastest().Coupled(ctx, system, s, perChain, 1, 0, "bias")
	if errors.Is(err, simulate.ErrDiverged) {
		fmt.Print(" diverges |")
		return nil
	}
	if err != nil {
		return err
	}
	excess, deviation := diagnostics.VarianceRatio(whole, half, system.Dim(), chains)
	fmt.Printf(" %+.2f ± %.2f |", 100*excess, 100*deviation)
	return nil
}
