package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// particles measures how well the energies of 16 chains of particles64d mix, for the held-out kernels of its
// preset scaled.
func particles(ctx context.Context, only string) error {
	const (
		name             = "Particles"
		chains, perChain = 16, 32
		until, apart     = 20., 0.1 // in time
		dt               = 0.0005
		seed             = 1
		first, count     = 2048, 16 // functions
	)
	if !strings.Contains(name, only) {
		return nil
	}
	f, err := family.ByName("particles64d")
	if err != nil {
		return err
	}
	plain := simulate.Scheme{DT: dt, BurnIn: until / dt, Thin: apart / dt, Chains: chains, Start: "1.5", Integrator: simulate.MALA}
	tempered := plain
	tempered.Tempering = simulate.Tempering{Temperatures: 16, Hottest: 6, Every: every}
	longer := plain
	longer.BurnIn, longer.Thin = plain.BurnIn*tempered.Tempering.Temperatures, plain.Thin*tempered.Tempering.Temperatures
	fmt.Printf("### %s\n\nKernels of particles64d, %d chains of %d samples each by MALA with steps of %g: mean energy V, R-hat of the energy, effect of the certificate's check of energies on the samples, seconds; without replicas after %g units of time, and after as many steps as all %d replicas take; exchanges accepted.\n\n",
		name, chains, perChain, dt, until, tempered.Tempering.Temperatures)
	fmt.Printf("| kernel | without replicas | %d times as long | %d temperatures up to %g | exchanges accepted |\n|---|---|---|---|---|\n",
		tempered.Tempering.Temperatures, tempered.Tempering.Temperatures, tempered.Tempering.Hottest)
	for number := first; number < first+count; number++ {
		function, err := f.Function(seed, number)
		if err != nil {
			return err
		}
		p := function.System.(sde.Particles)
		fmt.Printf("| %d |", number)
		for _, s := range []simulate.Scheme{plain, longer, tempered} {
			x := make([]float32, chains*perChain*p.Dim())
			begin := time.Now()
			if err := simulate.Fastest().Chains(ctx, x, p, s, seed, uint64(number), "tempering"); err != nil {
				return err
			}
			took := time.Since(begin)
			energy := gibbs.NewParticles(p).Energies(x)
			m, err := wells.Melt(ctx, p, x, chains*perChain)
			if err != nil {
				return err
			}
			fmt.Printf(" %.1f, %.2f, %+.2f, %.2g s |", stat.Mean(energy, nil)*p.Noise*p.Noise/2, diagnostics.Of(energy, chains).RHat, (m.Law-m.Have)/m.Deviation, took.Seconds())
		}
		rates, err := simulate.Fastest().Exchanges(ctx, p, tempered, tempered.BurnIn/2, seed, uint64(number), "rates")
		if err != nil {
			return err
		}
		fmt.Printf(" %.2f to %.2f |\n", slices.Min(rates), slices.Max(rates))
	}
	fmt.Println()
	return nil
}
