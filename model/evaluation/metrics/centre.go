package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Centre makes clouds of float32 of two clouds of float64. No metric changes if
// both clouds move alike. So an axis on which float32 does not hold every
// coordinate is taken relative to its median over all points, in float64, before
// it is rounded: points far from 0 keep their distances from one another.
//
// rounding is the sum, over both clouds, of the root mean square distance by which
// rounding moves the points. By the triangle inequality, no W2 or sliced W2 between
// the clouds changes by more. It is an error if a coordinate is beyond float32.
func Centre(x, y CloudOf[float64]) (a, b Cloud, rounding float64, err error) {
	if err := validatePair(x, y); err != nil {
		return a, b, 0, fmt.Errorf("centre: %w", err)
	}
	centre := make([]float64, x.D)
	axis := make([]float64, x.N+y.N)
	for k := range centre {
		for i := range x.N {
			axis[i] = x.X[i*x.D+k]
		}
		for i := range y.N {
			axis[x.N+i] = y.X[i*y.D+k]
		}
		if slices.ContainsFunc(axis, func(v float64) bool { return float64(float32(v)) != v }) {
			slices.Sort(axis)
			centre[k] = axis[len(axis)/2]
		}
	}
	a, first, err := relative(x, centre)
	if err != nil {
		return a, b, 0, fmt.Errorf("first cloud: %w", err)
	}
	b, second, err := relative(y, centre)
	if err != nil {
		return a, b, 0, fmt.Errorf("second cloud: %w", err)
	}
	return a, b, first + second, nil
}

// relative is the cloud about a centre, rounded to float32, with the root mean
// square of the distances by which rounding moved its points.
func relative(c CloudOf[float64], centre []float64) (rounded Cloud, moved float64, err error) {
	rounded = Cloud{N: c.N, D: c.D, X: make([]float32, len(c.X))}
	var squares float64
	for i, v := range c.X {
		z := v - centre[i%c.D]
		rounded.X[i] = float32(z)
		if math.IsInf(float64(rounded.X[i]), 0) {
			return rounded, 0, fmt.Errorf("point %d, coordinate %d is %v: %w", i/c.D, i%c.D, v, ErrRange)
		}
		e := float64(rounded.X[i]) - z
		squares += e * e
	}
	return rounded, math.Sqrt(squares / float64(c.N)), nil
}
