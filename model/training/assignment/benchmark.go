package assignment

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/internal/stopwatch"
)

// Benchmark times a batch of count problems, pairs of standard normal clouds of n
// points in d dimensions, on every instruction set of this processor, the widest
// first. For d = 1 it times the sort, which uses no SIMD.
func Benchmark(ctx context.Context, count, n, d, rounds int) ([]stopwatch.Measurement, error) {
	if count < 1 || count > 1<<16 || n < 1 || n > MaxPoints || d < 1 || d > 1<<10 {
		return nil, fmt.Errorf("%d problems of %d points in %d dimensions: %w", count, n, d, ErrShape)
	}
	p := Problems{N: n, D: d, X: make([]float32, count*n*d), Y: make([]float32, count*n*d)}
	source := random.New(0, "assignment/benchmark", uint64(n), uint64(d))
	for i := range p.X {
		p.X[i], p.Y[i] = float32(source.NormFloat64()), float32(source.NormFloat64())
	}
	match := make([]int32, count*n)
	var list []stopwatch.Measurement
	best := widest()
	if d == 1 {
		best = plain
	}
	for set := best; set >= plain; set-- {
		b := BatchSolver{set: set}
		m, err := stopwatch.Measure(ctx, stopwatch.Measurement{
			Engine: set.String(), What: fmt.Sprintf("assignment in %dD", d), Size: fmt.Sprintf("%d×%d×%d", count, n, n), Unit: "problems",
		}, rounds, float64(count), func(ctx context.Context) error {
			return b.Solve(ctx, p, match)
		})
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
