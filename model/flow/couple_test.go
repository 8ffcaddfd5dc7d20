package flow_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/assignment"
	"github.com/ergoflow/ergoflow/model/flow"
)

// cost is the sum of squared distances of the pairs of one function.
func cost(x0, x1 []float32) (sum float64) {
	for i, v := range x0 {
		sum += (float64(v) - float64(x1[i])) * (float64(v) - float64(x1[i]))
	}
	return sum
}

// least is the cost of the best of all permutations of x0's points from i on.
func least(x0, x1 []float32, d, i int) float64 {
	if i*d == len(x0) {
		return cost(x0, x1)
	}
	best := math.Inf(1)
	swap := func(j int) {
		for k := range d {
			x0[i*d+k], x0[j*d+k] = x0[j*d+k], x0[i*d+k]
		}
	}
	for j := i; j*d < len(x0); j++ {
		swap(j)
		best = min(best, least(x0, x1, d, i+1))
		swap(j)
	}
	return best
}

// pointsOf are the points of a function, in an order of their own.
func pointsOf(x []float32, d int) (points [][]float32) {
	for p := range slices.Chunk(x, d) {
		points = append(points, slices.Clone(p))
	}
	slices.SortFunc(points, slices.Compare)
	return points
}

func clouds(n, d int, purpose string) []float32 {
	source := random.New(1, "couple", uint64(d), uint64(len(purpose)))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(source.NormFloat64() + 2*source.ExpFloat64())
	}
	return x
}

// Pairs cost what the best permutation costs, every function keeps its points,
// and the number of threads changes nothing.
func TestCouple(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const functions, samples = 9, 6
	for _, d := range []int{1, 2, 3} {
		before0, before1 := clouds(functions*samples, d, "noise"), clouds(functions*samples, d, "data")
		var first0, first1 []float32
		for _, threads := range []int{1, 3} {
			runtime.GOMAXPROCS(threads)
			x0, x1 := slices.Clone(before0), slices.Clone(before1)
			c := flow.NewCoupler(d)
			for range 2 { // the second time in memory that was used
				copy(x0, before0)
				copy(x1, before1)
				if err := c.Couple(t.Context(), samples, x0, x1); err != nil {
					t.Fatal(err)
				}
			}
			if first0 == nil {
				first0, first1 = x0, x1
			}
			if !slices.Equal(x0, first0) || !slices.Equal(x1, first1) {
				t.Errorf("%dD: another coupling with %d threads", d, threads)
			}
		}
		for f := range functions {
			lo, hi := f*samples*d, (f+1)*samples*d
			want := least(slices.Clone(before0[lo:hi]), before1[lo:hi], d, 0)
			if got := cost(first0[lo:hi], first1[lo:hi]); math.Abs(got-want) > 1e-6*want {
				t.Errorf("%dD, function %d: cost %v, least %v", d, f, got, want)
			}
			for _, pair := range [][2][]float32{{before0, first0}, {before1, first1}} {
				if !slices.EqualFunc(pointsOf(pair[0][lo:hi], d), pointsOf(pair[1][lo:hi], d), slices.Equal) {
					t.Errorf("%dD, function %d has other points than before", d, f)
				}
			}
		}
	}
}

func TestCoupleRefuses(t *testing.T) {
	c := flow.NewCoupler(2)
	x := clouds(8, 2, "noise")
	if err := c.Couple(t.Context(), 3, x, x); err == nil {
		t.Error("eight points in functions of three")
	}
	if err := c.Couple(t.Context(), 4, x, x[:8]); err == nil {
		t.Error("clouds of different sizes")
	}
	bad := slices.Clone(x)
	bad[9] = float32(math.NaN())
	kept := slices.Clone(x)
	if err := c.Couple(t.Context(), 4, x, bad); !errors.Is(err, assignment.ErrNonFinite) || !slices.Equal(x, kept) {
		t.Errorf("NaN: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Couple(ctx, 4, x, slices.Clone(x)); !errors.Is(err, context.Canceled) || !slices.Equal(x, kept) {
		t.Errorf("cancelled: %v", err)
	}
}
