package metrics

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics/bucketsort"
)

// defaultDirections is the number of directions that 0 stands for.
const defaultDirections = 256

// MaxDirections bounds the work and the memory of distances over directions.
const MaxDirections = 1 << 20

// checkDirections returns the number of directions.
func checkDirections(directions int) (int, error) {
	if directions == 0 {
		return defaultDirections, nil
	}
	if directions < 0 || directions > MaxDirections {
		return 0, fmt.Errorf("%d directions are outside 1 to %d: %w", directions, MaxDirections, ErrOption)
	}
	return directions, nil
}

// meanOver is the mean over directions of f of the sorted projections of x and y.
func meanOver(x, y Cloud, directions int, along func(i int) []float64, f func(a, b []float64) float64) float64 {
	var sum float64
	for _, v := range eachOf(x, y, directions, along, f) { // in order, so that the sum does not depend on goroutines
		sum += v
	}
	return sum / float64(directions)
}

// eachOf is f of the sorted projections of x and y on each direction.
func eachOf(x, y Cloud, directions int, along func(i int) []float64, f func(a, b []float64) float64) []float64 {
	values := make([]float64, directions)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), directions) {
		group.Go(func() {
			a, b := make([]float64, x.N), make([]float64, y.N) // sorted
			p := make([]float64, max(x.N, y.N))
			var sorter bucketsort.Sorter
			for {
				i := int(next.Add(1)) - 1
				if i >= directions {
					return
				}
				theta := along(i)
				project(p[:x.N], x, theta)
				sorter.Sort(a, p[:x.N])
				project(p[:y.N], y, theta)
				sorter.Sort(b, p[:y.N])
				values[i] = f(a, b)
			}
		})
	}
	group.Wait()
	return values
}

// uniform gives directions in d dimensions: direction i is a function of (seed, i), a
// standard normal vector divided by its length.
func uniform(d int, seed uint64) func(i int) []float64 {
	return func(i int) []float64 {
		r := random.New(seed, "metrics/sliced", uint64(i))
		theta := make([]float64, d)
		for {
			var norm float64
			for k := range theta {
				theta[k] = r.NormFloat64()
				norm += theta[k] * theta[k]
			}
			if norm > 1e-12 {
				norm = math.Sqrt(norm)
				for k := range theta {
					theta[k] /= norm
				}
				return theta
			}
		}
	}
}

// axes gives the directions of the coordinates.
func axes(d int) func(i int) []float64 {
	return func(i int) []float64 {
		theta := make([]float64, d)
		theta[i] = 1
		return theta
	}
}

func project(dst []float64, c Cloud, theta []float64) {
	for i := range dst {
		var sum float64
		for k, v := range c.X[i*c.D : (i+1)*c.D] {
			sum += theta[k] * float64(v)
		}
		dst[i] = sum
	}
}
