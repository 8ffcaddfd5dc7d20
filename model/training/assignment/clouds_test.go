package assignment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// cloudKinds are the shapes that tests run on. docs/benchmarks/assignment_golden.py
// computes the same numbers, bit for bit, from the same uniforms.
var cloudKinds = []string{"uniform", "lattice", "clusters", "unequal", "outlier", "heavy", "far", "same"}

// uniform is number k of point and axis index: SplitMix64's finaliser over a counter.
func uniform(seed uint64, index, k int) float64 {
	z := seed<<32 + uint64(index)*4 + uint64(k)
	z = z*0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

// clouds makes two clouds of n points in d dimensions.
func clouds(kind string, n, d int, seed uint64) (x, y []float32) {
	make1 := func(second bool) []float32 {
		c, seed := make([]float32, n*d), 2*seed
		if second {
			seed++
		}
		for i := range n {
			for k := range d {
				index := i*d + k
				u := uniform(seed, index, 0)
				var v float64
				switch kind {
				case "uniform":
					v = u
				case "lattice": // many ties
					v = math.Floor(8 * u)
				case "clusters": // four far apart, as many points in both clouds
					v = float64(1000*float64(i%4)) + u
				case "unequal": // two far apart with different numbers of points
					if uniform(seed, i*d, 1) < 0.4 {
						v = 1000
					}
					v += u
				case "outlier": // one point very far out in both
					v = u
					if i == n/2 {
						v = 1e15
					}
				case "heavy": // a ratio: no variance
					v = (u - 0.5) / (uniform(seed, index, 1) + 0.001)
				case "far":
					v = u
					if second {
						v += 1e6
					}
				case "same": // every point of a cloud
					if v = 0.25; second {
						v = 3
					}
				default:
					panic("unknown kind " + kind)
				}
				c[index] = float32(v)
			}
		}
		return c
	}
	return make1(false), make1(true)
}

// eachCloud calls f with clouds of every kind, several sizes and dimensions.
func eachCloud(t *testing.T, sizes []int, f func(t *testing.T, x, y []float32, n, d int)) {
	for _, kind := range cloudKinds {
		t.Run(kind, func(t *testing.T) {
			for _, n := range sizes {
				for _, d := range []int{2, 3, 7} {
					x, y := clouds(kind, n, d, uint64(100*n+d))
					t.Run(fmt.Sprintf("%dx%d", n, d), func(t *testing.T) { f(t, x, y, n, d) })
				}
			}
		})
	}
}

// costOf is Σ|x_i − y_match[i]|² in float64, in order.
func costOf(match []int32, x, y []float32, d int) (sum float64) {
	for i, j := range match {
		for k := range d {
			difference := float64(x[i*d+k]) - float64(y[int(j)*d+k])
			sum += difference * difference
		}
	}
	return sum
}

// permutation fails unless match is one.
func permutation(t *testing.T, match []int32) {
	t.Helper()
	seen := make([]bool, len(match))
	for i, j := range match {
		if j < 0 || int(j) >= len(match) || seen[j] {
			t.Fatalf("point %d goes with %d: %v is no permutation", i, j, match)
		}
		seen[j] = true
	}
}

func shuffled(x []float32, d int, order []int) []float32 {
	c := make([]float32, 0, len(x))
	for _, i := range order {
		c = append(c, x[i*d:(i+1)*d]...)
	}
	return c
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
