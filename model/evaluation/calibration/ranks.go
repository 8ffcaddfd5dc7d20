// Package calibration tells over many equations whether a sampler's laws are right: whether an
// independent exact draw of each law looks like one more of the sampler's draws. It needs one
// exact draw of every equation.
//
// Simulation-based calibration (Talts and others 2018, arXiv:1804.06788) ranks the exact draw
// among the sampler's, coordinate by coordinate. TARP (Lemos and others 2023, arXiv:2302.03026)
// ranks its distance from a random point, in any dimension. Both ranks are uniform if the
// sampler is right; Uniform tests that.
//
// Both see an average over the equations: errors that cancel, such as too wide laws of some
// equations and too narrow ones of others, can hide.
package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Rank is that of an exact draw among the m draws of a sampler: how many are below it. Of equal
// draws a random number counts as below. It is uniform on 0 … m if all have one law.
func Rank(draws []float64, exact float64, rng *rand.Rand) int {
	below, equal := 0, 0
	for _, v := range draws {
		switch {
		case v < exact:
			below++
		case v == exact:
			equal++
		}
	}
	return below + rng.IntN(equal+1)
}

// TARP is the rank of an exact draw [d] by its distance from a reference point, among the draws
// [m, d] of a sampler: how many are nearer to the point. The axes count in units of scale [d],
// such as the deviations of the exact law. The point must not depend on the draws; it should
// depend on the equation, or the test has less power.
func TARP(draws, exact, reference, scale []float64, rng *rand.Rand) int {
	d := len(exact)
	if d == 0 || len(draws)%d != 0 || len(reference) != d || len(scale) != d {
		panic(fmt.Sprintf("calibration: %d numbers of draws, %d of a draw, %d of a point and %d of a scale", len(draws), d, len(reference), len(scale)))
	}
	distance := func(x []float64) (square float64) {
		for c, v := range x {
			z := (v - reference[c]) / scale[c]
			square += z * z
		}
		return square
	}
	distances := make([]float64, len(draws)/d)
	for i := range distances {
		distances[i] = distance(draws[i*d : (i+1)*d])
	}
	return Rank(distances, distance(exact), rng)
}

// Reference is a point for TARP: uniform on the box of one deviation to either side of the mean.
// From points farther out distances are projections, whose errors cancel over the directions.
func Reference(mean, deviation []float64, rng *rand.Rand) []float64 {
	point := make([]float64, len(mean))
	for c := range point {
		point[c] = mean[c] + deviation[c]*(2*rng.Float64()-1)
	}
	return point
}

// Skill is what ranks say of a sampler beyond yes or no.
type Skill struct {
	// Bias is the mean of rank/m, minus ½: positive if the sampler's draws are too small.
	Bias float64
	// Spread is the variance of rank/m in that of a uniform number, minus 1: positive if the
	// sampler's laws are too narrow, negative if too wide.
	Spread float64
}

// SkillOf is that of ranks among m draws. Of uniform ranks both are 0, up to chance.
func SkillOf(ranks []int, m int) (s Skill) {
	n, half := float64(len(ranks)), float64(m)/2
	var square float64
	for _, r := range ranks {
		v := (float64(r) - half) / float64(m)
		s.Bias += v / n
		square += v * v / n
	}
	uniform := (float64(m) + 2) / (12 * float64(m)) // variance of rank/m, uniform on 0 … m
	s.Spread = (square-s.Bias*s.Bias)/uniform - 1
	if math.IsNaN(s.Spread) {
		s.Spread = 0
	}
	return s
}
