package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
)

// ofChains judges long chains, one sample of each, in the plane and of particles, where no
// exact law is known; and those of functions given the samples of the next one.
func ofChains() error {
	fmt.Print("## In the plane, and of particles\n\nChains of functions, one sample of each chain after a burn-in, judged by their own equation and by that of the next function. With steps of 0.001 chains of particles have a bias: they step over narrow kernels ([theory.md](../theory.md)).\n\n| family | functions | chains | dt | time of burn-in | judged by | good | use with care | do not use | largest effect, median | largest |\n|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|\n")
	for _, test := range []struct {
		name          string
		count, chains int
		scheme        simulate.Scheme
	}{
		{"cn2d", 48, samples, simulate.Scheme{DT: 0.005, BurnIn: 8000, Thin: 1}},
		{"particles64d", 24, 512, simulate.Scheme{DT: 0.001, BurnIn: 10000, Thin: 1}},
		{"particles64d", 24, 512, simulate.Scheme{DT: 0.0002, BurnIn: 50000, Thin: 1}},
	} {
		f, err := family.ByName(test.name)
		if err != nil {
			return err
		}
		s := test.scheme
		s.Chains = test.chains
		d, count := f.Dim(), test.count
		x := make([]float32, count*s.Chains*d)
		spec := family.SampleSpec{Count: count, Seed: seed, Scheme: s, Purpose: "certificate"}
		if err := family.Sample(context.Background(), f, x, spec, simulate.Fastest(), nil); err != nil {
			return err
		}
		for _, next := range []int{0, 1} {
			verdicts := tally{}
			var effects []float64
			for i := range count {
				k := (i + next) % count
				function, err := f.Function(seed, k)
				if err != nil {
					return err
				}
				c := certificate.ByFunction(f, seed, k, function.System).Certify(x[i*s.Chains*d:(i+1)*s.Chains*d], d)
				verdicts[c.Verdict]++
				most, _ := largest(c)
				effects = append(effects, most)
			}
			slices.Sort(effects)
			fmt.Printf("| %s | %d | %d | %g | %g | %s | %s | %.2f | %.2f |\n", test.name, count, s.Chains, s.DT, s.DT*float64(s.BurnIn), []string{"its own", "the next"}[next], verdicts.row(count), effects[count/2], effects[count-1])
		}
	}
	fmt.Println()
	return nil
}
