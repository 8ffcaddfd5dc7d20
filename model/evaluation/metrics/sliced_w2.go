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

// MaxDirections bounds the work and the memory of SlicedW2.
const MaxDirections = 1 << 20

// SlicedW2 is the sliced Wasserstein-2 distance: the root of the mean, over
// directions θ drawn uniformly from the unit sphere, of W2² between the
// projections ⟨θ, x⟩ and ⟨θ, y⟩ (Bonneel et al., J. Math. Imaging Vis. 51,
// 2015). Direction i is a function of (seed, i). Zero directions means 256. The
// unit is that of the coordinates. In one dimension it equals W2.
func SlicedW2(x, y Cloud, directions int, seed uint64) (float64, error) {
	if err := validatePair(x, y); err != nil {
		return 0, fmt.Errorf("sliced wasserstein distance: %w", err)
	}
	if directions == 0 {
		directions = defaultDirections
	}
	if directions < 0 || directions > MaxDirections {
		return 0, fmt.Errorf("sliced wasserstein distance: %d directions are outside 1 to %d: %w", directions, MaxDirections, ErrOption)
	}
	if x.D == 1 {
		return W2(x.X, y.X)
	}
	squares := make([]float64, directions)
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
				theta := direction(x.D, seed, i)
				project(p[:x.N], x, theta)
				sorter.Sort(a, p[:x.N])
				project(p[:y.N], y, theta)
				sorter.Sort(b, p[:y.N])
				squares[i] = squaredW2(a, b)
			}
		})
	}
	group.Wait()
	var sum float64
	for _, s := range squares { // in order, so that the sum does not depend on goroutines
		sum += s
	}
	return math.Sqrt(sum / float64(directions)), nil
}

// direction is a uniform unit vector: a normalised standard normal one.
func direction(d int, seed uint64, i int) []float64 {
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

func project(dst []float64, c Cloud, theta []float64) {
	for i := range dst {
		var sum float64
		for k, v := range c.X[i*c.D : (i+1)*c.D] {
			sum += theta[k] * float64(v)
		}
		dst[i] = sum
	}
}
