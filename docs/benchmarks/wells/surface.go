package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// surface compares the masses of wells that a look has with those of quadrature, for muller_brown.yaml.
func surface(ctx context.Context) error {
	definition, err := family.Load("docs/families/muller_brown.yaml")
	if err != nil {
		return err
	}
	f, err := definition.Family()
	if err != nil {
		return err
	}
	var compared, within int
	var largest, square, lack float64
	for i := range functions {
		function, err := f.Function(seed, i)
		if err != nil {
			return err
		}
		s := function.System.(sde.Space)
		x := make([]float32, 2*samples)
		scheme := simulate.Scheme{DT: 0.005, BurnIn: 10000, Thin: 1, Chains: samples, Start: simulate.InBox, Integrator: simulate.Suited(s)}
		if err := simulate.Fastest().Chains(ctx, x, s, scheme, seed, uint64(i), "right"); err != nil {
			return err
		}
		seen, err := wells.For(s).Look(ctx, x)
		if err != nil {
			return err
		}
		for k, exact := range quadrature(s, seen.Wells) {
			difference := math.Abs(seen.Wells[k].Law - exact)
			compared++
			within += count(difference <= 2*seen.Wells[k].Error)
			largest, square = max(largest, difference), square+difference*difference
			lack = max(lack, math.Abs(seen.Wells[k].Have-exact))
		}
	}
	fmt.Printf(`
## Masses of wells beside quadrature

The surface of Müller and Brown, %d functions, the samples of the first table: %d wells. The masses by the potential differ from those of quadrature, on a grid with the drift as in the formulas, by %.3f at most and %.3f in the root mean square; %d of %d are within two standard errors. The samples, of chains after a time of 50, are off by up to %.2f: where the table says that they are not good, they are not.
`, functions, compared, largest, math.Sqrt(square/float64(compared)), within, compared, lack)
	return nil
}

// quadrature has the masses of wells in the plane: exp(−U) at the nodes of a grid, each in the well to which
// the drift leads.
func quadrature(s sde.Space, all []wells.Well) []float64 {
	const (
		n       = 160
		reach   = 0.4 // beyond the box
		steps   = 1500
		h       = 0.008
		nothing = 1e-5 // of the largest density
	)
	_, sigma := s.Coefficients(s.Uniform(1, seed))
	var x [2][n]float64
	var side [2]float64
	for c, box := range s.Box {
		side[c] = (box.Hi - box.Lo + 2*reach) / (n - 1)
		for k := range n {
			x[c][k] = box.Lo - reach + side[c]*float64(k)
		}
	}
	nodes := make([]float64, 0, 2*n*n)
	for i := range n {
		for j := range n {
			nodes = append(nodes, x[0][i], x[1][j])
		}
	}
	drift, _ := s.Coefficients(nodes)
	logs := make([]float64, n*n) // −U by the trapezoidal rule, along the middle row and then along columns
	rise := func(to, from, c int, sign float64) {
		logs[to] = logs[from] + sign*side[c]*(drift[2*to+c]+drift[2*from+c])/(sigma[0]*sigma[0])
	}
	const middle = n / 2
	for i := range n {
		if i > 0 {
			rise(i*n+middle, (i-1)*n+middle, 0, 1)
		}
		for j := middle + 1; j < n; j++ {
			rise(i*n+j, i*n+j-1, 1, 1)
		}
		for j := middle - 1; j >= 0; j-- {
			rise(i*n+j, i*n+j+1, 1, -1)
		}
	}
	top := slices.Max(logs)
	var states, densities []float64
	total := 0.
	for k, l := range logs {
		if p := math.Exp(l - top); p > nothing {
			states, densities, total = append(states, nodes[2*k:2*k+2]...), append(densities, p), total+p
		}
	}
	for range steps {
		drift, _ := s.Coefficients(states)
		for k, v := range drift {
			states[k] += h * v
		}
	}
	masses := make([]float64, len(all))
	for k, p := range densities {
		distance := func(w wells.Well) float64 {
			return math.Hypot(states[2*k]-float64(w.At[0]), states[2*k+1]-float64(w.At[1]))
		}
		if w := slices.IndexFunc(all, func(w wells.Well) bool { return distance(w) < 0.1 }); w >= 0 {
			masses[w] += p / total
		}
	}
	return masses
}
