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

// Sliced are the distances by projections on random directions.
type Sliced struct{ W2, Energy float64 }

// OverDirections has SlicedW2 and EnergyDistance, for one projection on each direction.
func OverDirections(x, y Cloud, directions int, seed uint64) (s Sliced, err error) {
	if err := validatePair(x, y); err != nil {
		return s, err
	}
	if directions, err = checkDirections(directions); err != nil {
		return s, err
	}
	along, length := uniform(x.D, seed), meanLength(x.D)
	if x.D == 1 {
		directions, along, length = 1, axes(1), 1
	}
	squares, energies := make([]float64, directions), make([]float64, directions)
	overEach(x, y, directions, along, func(i int, a, b []float64) { squares[i], energies[i] = squaredW2(a, b), energyOnLine(a, b) })
	for i, v := range squares { // in order, so that sums do not depend on goroutines
		s.W2 += v
		s.Energy += energies[i]
	}
	return Sliced{math.Sqrt(s.W2 / float64(directions)), length * s.Energy / float64(directions)}, nil
}

// overEach calls f with the sorted projections of x and y on each direction, from several goroutines.
func overEach(x, y Cloud, directions int, along func(i int) []float64, f func(i int, a, b []float64)) {
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
				f(i, a, b)
			}
		})
	}
	group.Wait()
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
