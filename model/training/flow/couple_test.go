package flow_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/model/training/assignment"
	"github.com/ergoflow/ergoflow/model/training/flow"
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
			if got := cost(first0[lo:hi], first1[lo:hi]); !(math.Abs(got-want) <= 1e-6*want) {
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

// Coupling changes only the pairs: for each function a batch has the noise, the samples
// and the times of the independent batch, at the sizes of training. Its pairs are no
// further apart.
func TestCouplingKeepsMarginals(t *testing.T) {
	plan := batch.Plan{Seed: 3, Shards: 1, FunctionsPerShard: 8, Samples: 64, BatchFunctions: 8, BatchSamples: 64}
	for _, d := range []int{1, 2, 64} {
		s := open(t, plan.FunctionsPerShard, plan.Samples, d)
		batchOf := func(coupling flow.Coupling) *flow.Batch {
			a, b := assembler(t, plan, d, coupling), new(flow.Batch)
			b.Reset(plan.BatchSamples, d, len(inputs))
			a.Append(b, s, plan.Picks(0, 0))
			if err := a.Complete(t.Context(), b, 0); err != nil {
				t.Fatal(err)
			}
			return b
		}
		free, bound := batchOf(flow.Independent), batchOf(flow.OptimalTransport)
		if !slices.Equal(free.T, bound.T) {
			t.Errorf("%dD: other times", d)
		}
		size := plan.BatchSamples * d
		for lo := 0; lo < len(free.X0); lo += size {
			f0, f1, b0, b1 := free.X0[lo:lo+size], free.X1[lo:lo+size], bound.X0[lo:lo+size], bound.X1[lo:lo+size]
			if !slices.EqualFunc(pointsOf(f0, d), pointsOf(b0, d), slices.Equal) || !slices.EqualFunc(pointsOf(f1, d), pointsOf(b1, d), slices.Equal) {
				t.Errorf("%dD, function %d: other points", d, lo/size)
			}
			if before, after := cost(f0, f1), cost(b0, b1); !(after < before) {
				t.Errorf("%dD, function %d: cost %v, %v before", d, lo/size, after, before)
			}
		}
	}
}

// Of S normal points x and as many y, optimal pairs have a correlation ρ that is
// known. With two, the better pairing gains half of |(x₁−x₂)·(y₁−y₂)|, so that
// dρ = ½E|g·h| for standard normal g and h: 1/π on the line, ½ in the plane (ρ = ¼).
// With three on the line it is the mean square of the normal order statistics
// 0, ±3/(2√π), so 3/(2π). It tends to 1, the optimal transport map. A mean of n
// products has a standard error below √(2/n).
func TestCorrelationOfOptimalPairs(t *testing.T) {
	const pairs = 60_000
	for _, test := range []struct {
		d, samples int
		low, high  float64
	}{
		{1, 1, 0, 0}, {1, 2, 1 / math.Pi, 1 / math.Pi}, {1, 3, 1.5 / math.Pi, 1.5 / math.Pi}, {1, 600, 0.99, 1},
		{2, 1, 0, 0}, {2, 2, 0.25, 0.25}, {2, 200, 0.96, 1},
	} {
		source := random.New(5, "test/pairs", uint64(test.d), uint64(test.samples))
		x0, x1 := make([]float32, pairs*test.d), make([]float32, pairs*test.d)
		for i := range x0 {
			x0[i], x1[i] = float32(source.NormFloat64()), float32(source.NormFloat64())
		}
		if err := flow.NewCoupler(test.d).Couple(t.Context(), test.samples, x0, x1); err != nil {
			t.Fatal(err)
		}
		rho := 0.0
		for i, v := range x0 {
			rho += float64(v) * float64(x1[i]) / float64(len(x0))
		}
		if slack := 4 * math.Sqrt(2/float64(len(x0))); !(rho >= test.low-slack && rho <= test.high+slack) {
			t.Errorf("%d points in %dD: correlation %.4f, want %.4f to %.4f", test.samples, test.d, rho, test.low, test.high)
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

// The coupling of particles leaves states and noise as independent coupling draws them, but for
// the order of the noise's particles in each state, which is the best of all.
func TestParticleCoupling(t *testing.T) {
	const dim, plane = 10, 2 // five particles
	s := open(t, functions, stored, dim)
	drawn := assemble(t, assembler(t, plan, dim, flow.Independent), s, 3)
	got := assemble(t, assembler(t, plan, dim, flow.Particles), s, 3)
	if !slices.Equal(got.X1, drawn.X1) || !slices.Equal(got.T, drawn.T) {
		t.Fatal("the samples or the times are others")
	}
	moved := 0
	for i := 0; i < len(got.X0); i += dim {
		x0, before, x1 := got.X0[i:i+dim], drawn.X0[i:i+dim], got.X1[i:i+dim]
		if !reflect.DeepEqual(pointsOf(x0, plane), pointsOf(before, plane)) {
			t.Fatalf("state %d has other noise", i/dim)
		}
		if c, best := cost(x0, x1), least(slices.Clone(before), x1, plane, 0); !(c <= best*(1+1e-5)) {
			t.Errorf("state %d: particles move %g, could move %g", i/dim, c, best)
		}
		if !slices.Equal(x0, before) {
			moved++
		}
	}
	if moved < plan.BatchFunctions*plan.BatchSamples/2 {
		t.Errorf("noise of %d states was reordered", moved)
	}
}
