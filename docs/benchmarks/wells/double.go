package main

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

const sets = 16 // of each row and column

// doubleWells judges exact draws whose part in one of two wells is wrong, by the height of the barrier.
func doubleWells() error {
	fmt.Printf(`
## Two wells

dX₀ = (X₀ − X₀³)dt + σ dW beside independent coordinates with normal laws: the law has a half in each well. %d exact draws, of which another part is in the left well. The barrier is 1/(2σ²) in units of kT. Counts of good, use with care, do not use, of %d sets, with all checks; and how many of all sets of the row the generator test alone calls good.
`, samples, sets)
	if err := table(false, 2, 32); err != nil {
		return err
	}
	fmt.Print(`
## Two wells of a drift that is no gradient

The same law in the first two coordinates, with a drift that also turns: dX₀ = (X₀ − X₀³ − X₁)dt + σ dW₀, dX₁ = (X₀³ − X₀ − X₁)dt + σ dW₁. In the plane the Fokker–Planck equation has the masses. In three dimensions only chains that cross show them.
`)
	return table(true, 2, 3)
}

func table(turning bool, dims ...int) error {
	fmt.Print(`
| d | barrier (kT) | none in the left well | a tenth | a quarter | a half | good by the generator alone |
|---:|---:|---|---|---|---|---:|
`)
	for _, dim := range dims {
		for _, barrier := range []float64{2, 4, 6, 8, 16} {
			fmt.Printf("| %d | %g |", dim, barrier)
			alone := 0
			for _, left := range []float64{0, 0.1, 0.25, 0.5} {
				verdicts := make(map[certificate.Verdict]int)
				for set := range sets {
					subject, x, err := draw(dim, barrier, left, turning, uint64(set))
					if err != nil {
						return err
					}
					alone += count(subject.Certify(x, dim).Verdict == certificate.Good)
					subject.Wells = wells.For(subject.Equation.(certificate.Space).Space)
					verdicts[subject.Certify(x, dim).Verdict]++
				}
				fmt.Printf(" %d, %d, %d |", verdicts[certificate.Good], verdicts[certificate.Care], verdicts[certificate.Refused])
			}
			fmt.Printf(" %d of %d |\n", alone, 4*sets)
		}
	}
	return nil
}

// draw draws |X₀| by rejection, from the density exp(−barrier·(x² − 1)²).
func draw(dim int, barrier, left float64, turning bool, set uint64) (certificate.Subject, []float32, error) {
	sigma := math.Sqrt(0.5 / barrier)
	drift, diffusion := "i == 0 ? x[i] - x[i]^3 : -x[i]", "i == 0 ? %v : sqrt(2)"
	if turning {
		drift, diffusion = "i == 0 ? x[0] - x[0]^3 - x[1] : (i == 1 ? x[0]^3 - x[0] - x[1] : -x[i])", "i < 2 ? %v : sqrt(2)"
	}
	compiled, err := expression.CompileSystem(dim, []string{drift}, []string{fmt.Sprintf(diffusion, sigma)}, nil)
	if err != nil {
		return certificate.Subject{}, nil, err
	}
	box := make([]sde.Interval, dim)
	for k := range box {
		box[k] = sde.Interval{Lo: -4, Hi: 4}
	}
	system, err := compiled.Space(box, nil)
	if err != nil {
		return certificate.Subject{}, nil, err
	}
	rng, x := random.New(seed, "double well", set), make([]float32, samples*dim)
	for i := range x {
		if i%dim > 0 {
			if x[i] = float32(rng.NormFloat64()); turning && i%dim == 1 {
				x[i] *= float32(sigma / math.Sqrt2)
			}
			continue
		}
		v := 0.
		for accepted := false; !accepted; {
			v = 3 * rng.Float64()
			accepted = rng.Float64() < math.Exp(-barrier*(v*v-1)*(v*v-1))
		}
		if rng.Float64() < left {
			v = -v
		}
		x[i] = float32(v)
	}
	return certificate.Subject{Equation: certificate.Space{Space: system}, Unlearned: math.NaN()}, x, nil
}
