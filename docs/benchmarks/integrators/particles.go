package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// particles measures how many pairs are where their potential is capped, and the mean energy, of kernels with
// a narrow wall.
func particles(ctx context.Context, only string) error {
	const (
		name    = "Particles behind walls"
		chains  = 16
		samples = 32  // of each chain
		until   = 20. // in time, from N(0, 1.5²)
		apart   = 0.1 // samples
		seed    = 1
	)
	if !strings.Contains(name, only) {
		return nil
	}
	f, err := family.ByName("particles64d")
	if err != nil {
		return err
	}
	rules := []struct {
		by simulate.Integrator
		dt float64
	}{{simulate.Euler, 0.001}, {simulate.Euler, 0.0001}, {simulate.MALA, 0.001}, {simulate.MALA, 0.0005}}
	fmt.Printf("### %s\n\nFunctions of particles64d: pairs of a state that are inside the cap of their potential, and the mean energy V; the part of the steps that is accepted; seconds for %d chains.\n\n| function |", name, chains)
	for _, r := range rules {
		fmt.Printf(" `%v` %g |", r.by, r.dt)
	}
	fmt.Printf("\n| --- |%s\n", strings.Repeat(" --- |", len(rules)))
	for _, number := range []int{0, 18, 7, 9, 5} {
		function, err := f.Function(seed, number)
		if err != nil {
			return err
		}
		p := function.System.(sde.Particles)
		fmt.Printf("| %d |", number)
		for _, r := range rules {
			s := simulate.Scheme{DT: r.dt, BurnIn: int(until / r.dt), Thin: int(apart / r.dt), Chains: chains, Start: "1.5", Integrator: r.by}
			x := make([]float32, chains*samples*p.Dim())
			begin := time.Now()
			if err := simulate.Fastest().Chains(ctx, x, p, s, seed, uint64(number), "walls"); err != nil {
				fmt.Printf(" %s |", "is stuck")
				continue
			}
			took := time.Since(begin).Seconds()
			inside, energy := walls(p, x)
			accepted, err := simulate.Fastest().Acceptance(ctx, p, s, 2000, seed, uint64(number), "walls")
			if err != nil {
				return err
			}
			fmt.Printf(" %.2g, %.1f; %.2f; %.2g s |", inside, energy, accepted.Part, took)
		}
		fmt.Println()
	}
	fmt.Println()
	return nil
}

// walls are the mean number of pairs inside the cap, and the mean energy.
func walls(p sde.Particles, x []float32) (inside, energy float64) {
	d := p.Dim()
	n := float64(len(x) / d)
	energy = stat.Mean(gibbs.NewParticles(p).Energies(x), nil) * p.Noise * p.Noise / 2
	for ; len(x) > 0; x = x[d:] {
		for a := 0; a < d; a += 2 {
			for b := 0; b < a; b += 2 {
				dx, dy := float64(x[a]-x[b]), float64(x[a+1]-x[b+1])
				if dx*dx+dy*dy < p.Force.Core*p.Force.Core {
					inside += 1 / n
				}
			}
		}
	}
	return inside, energy
}
