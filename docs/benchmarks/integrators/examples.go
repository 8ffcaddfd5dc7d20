package main

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// example is an equation and an average over its law.
type example struct {
	name, note       string
	dim              int
	drift, diffusion []string
	box              sde.Interval
	average          func(x []float32) float64
	exact            float64 // of the average; 0: simulated with a step of fine
	fine             float64
	steps            []float64 // time steps
	burnIn, apart    float64   // times before the first sample and between samples
	start            simulate.Start
}

func (e example) system() (sde.Space, error) {
	s, err := expression.CompileSystem(e.dim, e.drift, e.diffusion, nil)
	if err != nil {
		return sde.Space{}, err
	}
	return s.Space(slices.Repeat([]sde.Interval{e.box}, e.dim), nil)
}

func examples() []example {
	box := sde.Interval{Lo: -3, Hi: 3}
	square := func(x []float32) float64 { return float64(x[0]) * float64(x[0]) }
	well := func(x float64) float64 { return x*x*x*x/4 - x*x/2 } // potential
	return []example{
		{
			name: "Double well", note: "dX = (X − X³)dt + dW: the mean of X².",
			dim: 1, drift: []string{"x - x^3"}, diffusion: []string{"1"}, box: box, average: square,
			exact: quadrature(well, 2), steps: []float64{0.2, 0.1, 0.05, 0.025}, burnIn: 20, apart: 4, start: "0.5",
		}, {
			name: "Turning linear", note: "dX = −(X + 2·turned X)dt + dW in the plane: the mean of X², ½.",
			dim: 2, drift: []string{"-x0 - 2*x1", "2*x0 - x1"}, diffusion: []string{"1"}, box: box, average: square,
			exact: 0.5, steps: []float64{0.2, 0.1, 0.05, 0.025}, burnIn: 10, apart: 2,
		}, {
			name: "Student's law", note: "dX = −X dt + √(1 + X²/4)dW: the mean of X², 4/7.",
			dim: 1, drift: []string{"-x"}, diffusion: []string{"sqrt(1 + x^2/4)"}, box: box, average: square,
			exact: 4. / 7, steps: []float64{0.4, 0.2, 0.1, 0.05}, burnIn: 10, apart: 2,
		}, {
			name: "Underdamped double well", note: "dq = v dt, dv = (q − q³ − v)dt + dW: the mean of q².",
			dim: 2, drift: []string{"x1", "x0 - x0^3 - x1"}, diffusion: []string{"0", "1"}, box: box, average: square,
			exact: quadrature(well, 2), steps: []float64{0.4, 0.2, 0.1, 0.05}, burnIn: 40, apart: 8, start: "0.5",
		}, {
			name: "Its velocities", note: "The same equation: the mean of v², ½.",
			dim: 2, drift: []string{"x1", "x0 - x0^3 - x1"}, diffusion: []string{"0", "1"}, box: box,
			average: func(x []float32) float64 { return square(x[1:]) },
			exact:   0.5, steps: []float64{0.4, 0.2, 0.1, 0.05}, burnIn: 40, apart: 8, start: "0.5",
		}, {
			name: "Steep walls from far away", note: "dX = (X − X³)dt + dW from N(0, 10²): the mean of X².",
			dim: 1, drift: []string{"x - x^3"}, diffusion: []string{"1"}, box: box, average: square,
			exact: quadrature(well, 2), steps: []float64{0.1, 0.05, 0.02, 0.01}, burnIn: 20, apart: 4, start: "10",
		}, {
			name: "Field on a ring", note: "φ⁴ on 32 sites at temperature 1 with mass 0 and coupling 1: the mean of φ·∂H/∂φ, which is 1.",
			dim: 32, drift: []string{"x[(i+1) % dim] + x[(i-1) % dim] - 2*x[i] - x[i]^3"}, diffusion: []string{"sqrt(2)"}, box: box,
			average: virial, exact: 1, steps: []float64{0.1, 0.05, 0.025, 0.0125}, burnIn: 10, apart: 2, start: "0.5",
		}, {
			name: "Lorenz 1963", note: "Parameters 10, 28, 8/3 and noise 2: the mean of z².",
			dim: 3, drift: []string{"10*(x1 - x0)", "x0*(28 - x2) - x1", "x0*x1 - 8/3*x2"}, diffusion: []string{"2"},
			box: sde.Interval{Lo: -25, Hi: 50}, average: func(x []float32) float64 { return square(x[2:]) },
			fine: 0.0025, steps: []float64{0.02, 0.01, 0.005}, burnIn: 30, apart: 1, start: "10",
		},
	}
}

// quadrature is the mean of x² over exp(−inverse·U(x)), by sums, which converge faster than any power.
func quadrature(potential func(x float64) float64, inverse float64) float64 {
	var above, below float64
	for x := -8.; x <= 8; x += 1. / 256 {
		p := math.Exp(-inverse * potential(x))
		above += x * x * p
		below += p
	}
	return above / below
}

// virial is the mean over the sites of φ·∂H/∂φ.
func virial(x []float32) float64 {
	sum, n := 0., len(x)
	for i, v := range x {
		left, right := float64(x[(i+n-1)%n]), float64(x[(i+1)%n])
		y := float64(v)
		sum += y * (2*y - left - right + y*y*y) / float64(n)
	}
	return sum
}
