package flow_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

type pair struct{ x0, x1 float32 }

// epoch collects the pairs of every function of a shard over an epoch.
func epoch(t *testing.T, plan batch.Plan, s *shard.Shard, coupling flow.Coupling) [][]pair {
	t.Helper()
	a, b := assembler(t, plan, 1, coupling), new(flow.Batch)
	pairs := make([][]pair, plan.FunctionsPerShard)
	for step := range plan.StepsPerEpoch() {
		picks := plan.Picks(step, 0)
		b.Reset(plan.BatchSamples, 1, len(inputs))
		a.Append(b, s, picks)
		if err := a.Complete(t.Context(), b, 0); err != nil {
			t.Fatal(err)
		}
		if err := b.Validate(); err != nil {
			t.Fatal(err)
		}
		for i := range b.X0 {
			f := picks[i/plan.BatchSamples].Function
			pairs[f] = append(pairs[f], pair{b.X0[i], b.X1[i]})
		}
	}
	return pairs
}

// Over an epoch the blocks of a function form one monotone coupling: all its N samples,
// each with noise from the part of N(0,1) that belongs to its rank.
func TestQuantileCoupling(t *testing.T) {
	s := open(t, functions, stored, 1)
	for f, pairs := range epoch(t, plan, s, flow.Quantile) {
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.x1, b.x1) })
		own := slices.Sorted(slices.Values(s.Samples(f)))
		for rank, p := range pairs {
			if p.x1 != own[rank] {
				t.Fatalf("function %d: sample %d is %g, want %g", f, rank, p.x1, own[rank])
			}
			if u := phi(float64(p.x0)) * stored; !(u >= float64(rank)-1e-4 && u <= float64(rank+1)+1e-4) {
				t.Fatalf("function %d: the sample of rank %d goes with the noise of rank %.2f", f, rank, u)
			}
		}
	}
}

// Equal samples have different ranks, so that noise is stratified for any samples.
func TestQuantileCouplingOfEqualSamples(t *testing.T) {
	s := write(t, functions, stored, 1, math.Round)
	for f, pairs := range epoch(t, plan, s, flow.Quantile) {
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.x0, b.x0) })
		for rank, p := range pairs {
			if u := phi(float64(p.x0)) * stored; !(u >= float64(rank)-1e-4 && u <= float64(rank+1)+1e-4) {
				t.Fatalf("function %d: noise %.2f in place of one of rank %d", f, u, rank)
			}
			if rank > 0 && !(p.x1 >= pairs[rank-1].x1) {
				t.Fatalf("function %d is not coupled by order", f)
			}
		}
	}
}

// The noise of a single pass is N(0,1), by Kolmogorov and Smirnov's test at 1 %:
// 1.63/√n for independent draws, which strata only bring closer.
func TestQuantileCouplingKeepsMarginals(t *testing.T) {
	plan := plan
	plan.FunctionsPerShard, plan.BatchFunctions = 512, 512
	s := open(t, plan.FunctionsPerShard, stored, 1)
	b := new(flow.Batch)
	b.Reset(plan.BatchSamples, 1, len(inputs))
	assembler(t, plan, 1, flow.Quantile).Append(b, s, plan.Picks(0, 0))
	n := float64(len(b.X0))
	var correlation, worst float64
	for i, x := range b.X0 {
		correlation += float64(x) * (float64(b.T[i]) - 0.5) * math.Sqrt(12) / n
	}
	for i, x := range slices.Sorted(slices.Values(b.X0)) {
		u := phi(float64(x))
		worst = max(worst, u-float64(i)/n, float64(i+1)/n-u)
	}
	if !(worst <= 1.63/math.Sqrt(n)) {
		t.Errorf("the distribution function of the noise is off by %.4f, want at most %.4f", worst, 1.63/math.Sqrt(n))
	}
	if !(math.Abs(correlation) <= 4.5/math.Sqrt(n)) {
		t.Errorf("noise and times have the correlation %.4f", correlation)
	}
}

// Pairs are closer to the optimal transport map, for which Φ(x₀) = F(x₁). The k-th
// of N uniform numbers has mean k/(N+1) and variance k(N+1−k)/((N+1)²(N+2)), so that
// the mean square of Φ(x₀) − F(x₁) is 1/(6N) with ranks among N, and 1/(3(S+1)) where S
// noises and samples are sorted.
func TestQuantileCouplingIsCloserToTransport(t *testing.T) {
	for _, n := range []int{16, 64, 512} {
		plan := plan
		plan.FunctionsPerShard, plan.BatchFunctions, plan.Samples = 256, 256, n
		s := open(t, plan.FunctionsPerShard, n, 1) // of N(0,1)
		for coupling, want := range map[flow.Coupling]float64{
			flow.Quantile: 1 / (6 * float64(n)), flow.OptimalTransport: 1 / (3 * float64(plan.BatchSamples+1)),
		} {
			var sum, square float64
			for _, pairs := range epoch(t, plan, s, coupling) {
				var mean float64
				for _, p := range pairs {
					d := phi(float64(p.x0)) - phi(float64(p.x1))
					mean += d * d / float64(len(pairs))
				}
				sum += mean
				square += mean * mean
			}
			f := float64(plan.FunctionsPerShard)
			mean := sum / f
			if off := math.Abs(mean - want); !(off <= 4.5*math.Sqrt((square/f-mean*mean)/f)) {
				t.Errorf("%s, %d samples: mean square %.3g, want %.3g", coupling, n, mean, want)
			}
		}
	}
}
