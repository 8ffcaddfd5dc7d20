package main

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// law draws the values of candidate and champion on n functions; their expectations are equal.
type law struct {
	name string
	draw func(rng *rand.Rand, n int) (candidate, champion []float64)
}

// each draws the two values of every function.
func each(draw func(rng *rand.Rand) (candidate, champion float64)) func(*rand.Rand, int) ([]float64, []float64) {
	return func(rng *rand.Rand, n int) (candidate, champion []float64) {
		candidate, champion = make([]float64, n), make([]float64, n)
		for i := range n {
			candidate[i], champion[i] = draw(rng)
		}
		return candidate, champion
	}
}

// correlated gives two standard normals whose correlation is r.
func correlated(rng *rand.Rand, r float64) (a, b float64) {
	shared := math.Sqrt(r) * rng.NormFloat64()
	return shared + math.Sqrt(1-r)*rng.NormFloat64(), shared + math.Sqrt(1-r)*rng.NormFloat64()
}

// student has Student's distribution with three degrees of freedom.
func student(rng *rand.Rand) float64 {
	var squares float64
	for range 3 {
		z := rng.NormFloat64()
		squares += z * z
	}
	return rng.NormFloat64() / math.Sqrt(squares/3)
}

// exchangeable laws are those without any difference: candidate and champion of a function may
// change places.
var exchangeable = []law{
	{"normal, correlation 0.8", each(func(rng *rand.Rand) (float64, float64) {
		a, b := correlated(rng, 0.8)
		return 1 + 0.2*a, 1 + 0.2*b
	})},
	{"log-normal, σ 1, correlation 0.8", each(func(rng *rand.Rand) (float64, float64) {
		a, b := correlated(rng, 0.8)
		return math.Exp(a), math.Exp(b)
	})},
	{"log-normal, σ 1, independent", each(func(rng *rand.Rand) (float64, float64) {
		a, b := correlated(rng, 0)
		return math.Exp(a), math.Exp(b)
	})},
	{"Student's t, 3 degrees, correlation 0.8", each(func(rng *rand.Rand) (float64, float64) {
		shared := 2 * student(rng)
		return 20 + shared + student(rng), 20 + shared + student(rng)
	})},
	vn1d,
}

// skewed laws have equal expectations and differences that are not symmetric.
var skewed = []law{
	{"candidate 5 % better, for 1 of 20 functions 95 % worse", each(func(rng *rand.Rand) (float64, float64) {
		champion := math.Exp(0.5 * rng.NormFloat64())
		if rng.Float64() < 0.05 {
			return 1.95 * champion, champion
		}
		return 0.95 * champion, champion
	})},
	{"candidate 5 % worse, for 1 of 20 functions 95 % better", each(func(rng *rand.Rand) (float64, float64) {
		champion := math.Exp(0.5 * rng.NormFloat64())
		if rng.Float64() < 0.05 {
			return 0.05 * champion, champion
		}
		return 1.05 * champion, champion
	})},
}

// vn1d.csv has W2 of two models of vn1d, preset best, that differ in the seed of training, on
// 128 held-out functions (the variant "preset" in docs/results/ablation-best.csv.xz).
//
//go:embed vn1d.csv
var measured string

// vn1d draws functions with replacement, and which of the two models is the candidate.
var vn1d = law{"vn1d, measured", func() func(*rand.Rand, int) ([]float64, []float64) {
	var pairs [][2]float64
	for _, line := range strings.Split(strings.TrimSpace(measured), "\n")[1:] {
		var function int
		var p [2]float64
		if _, err := fmt.Sscanf(line, "%d,%g,%g", &function, &p[0], &p[1]); err != nil {
			panic(err)
		}
		pairs = append(pairs, p)
	}
	return each(func(rng *rand.Rand) (float64, float64) {
		p, first := pairs[rng.IntN(len(pairs))], rng.IntN(2)
		return p[first], p[1-first]
	})
}()}
