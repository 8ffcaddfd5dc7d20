package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// Benchmark times Sinkhorn with its default options, and SinkhornConverged in one
// dimension, on two clouds of that many points: a standard normal one and one of
// two modes at ±2 along the first axis; and in the plane with the tails of the
// Cauchy law too. It checks the context between values.
func Benchmark(ctx context.Context, points, rounds int) ([]stopwatch.Measurement, error) {
	if points < 1 || points > 1<<20 {
		return nil, fmt.Errorf("%d points are outside 1 to %d: %w", points, 1<<20, ErrOption)
	}
	var list []stopwatch.Measurement
	for _, kind := range []struct {
		what  string
		d     int
		heavy bool
		value func(x, y Cloud) error
	}{
		{"sinkhorn 1D", 1, false, plainSinkhorn},
		{"sinkhorn 2D", 2, false, plainSinkhorn},
		{"sinkhorn 3D", 3, false, plainSinkhorn},
		{"sinkhorn 2D, heavy tails", 2, true, plainSinkhorn},
		{"converged sinkhorn 1D", 1, false, func(x, y Cloud) error {
			_, err := SinkhornConverged(x, y, ConvergedOptions{})
			return err
		}},
	} {
		x, y := benchmarkClouds(points, kind.d)
		if kind.heavy {
			x, y = cauchy(x), cauchy(y)
		}
		m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
			Engine: softmin.Engine(), What: kind.what, Size: fmt.Sprintf("%d×%d", points, points), Unit: "values",
		}, rounds, 1, func(context.Context) error { return kind.value(x, y) })
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

func plainSinkhorn(x, y Cloud) error {
	_, err := Sinkhorn(x, y, Options{})
	return err
}

func benchmarkClouds(n, d int) (x, y Cloud) {
	source := random.New(0, "metrics/benchmark", uint64(n), uint64(d))
	x, y = Cloud{N: n, D: d, X: make([]float32, n*d)}, Cloud{N: n, D: d, X: make([]float32, n*d)}
	for i := range x.X {
		x.X[i], y.X[i] = float32(source.NormFloat64()), float32(0.4*source.NormFloat64())
	}
	for i := 0; i < len(y.X); i += d {
		centre := float32(2)
		if source.Float64() < 0.5 {
			centre = -2
		}
		y.X[i] += centre
	}
	return x, y
}

// cauchy divides each point by |z| of a normal z, at least 0.01, which gives it
// the tails of the Cauchy law.
func cauchy(c Cloud) Cloud {
	source := random.New(0, "metrics/benchmark/cauchy", uint64(c.N))
	for i := range c.N {
		divisor := float32(max(0.01, math.Abs(source.NormFloat64())))
		for k := range c.D {
			c.X[i*c.D+k] /= divisor
		}
	}
	return c
}
