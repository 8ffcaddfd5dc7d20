package worker

import (
	"context"
	"math/bits"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// TestMain finds leaks. A probe of memberlist that is under way when it shuts
// down ends by itself within the probe's time-out.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

func TestMicroBatches(t *testing.T) {
	for n := range 130 {
		shards := make([]int, n)
		for i := range shards {
			shards[i] = 3 * i
		}
		groups := microBatches(shards, 1<<16)
		if got := slices.Concat(groups...); !slices.Equal(got, shards) && n > 0 {
			t.Errorf("%d shards: the groups together are %v", n, got)
		}
		if len(groups) != bits.OnesCount(uint(n)) {
			t.Errorf("%d shards: %d groups, more than binary digits that are set", n, len(groups))
		}
		for _, g := range groups {
			if bits.OnesCount(uint(len(g))) != 1 {
				t.Errorf("%d shards: a group of %d, no power of two", n, len(g))
			}
		}
		for _, most := range []int{1, 4, 7} {
			groups := microBatches(shards, most)
			if got := slices.Concat(groups...); !slices.Equal(got, shards) && n > 0 {
				t.Errorf("%d shards: the groups of at most %d together are %v", n, most, got)
			}
			for _, g := range groups {
				if bits.OnesCount(uint(len(g))) != 1 || len(g) > most {
					t.Errorf("%d shards: a group of %d, want a power of two of at most %d", n, len(g), most)
				}
			}
		}
	}
}

// dataReplica is a replica with shards of a small experiment and no device.
func dataReplica(t testing.TB) *replica { return dataReplicaOf(t, "vn1d") }

func dataReplicaOf(t testing.TB, name string, sets ...string) *replica {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", append([]string{"data.training.burn_in=10", "data.reference.burn_in=10"}, sets...))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{plan: plan, experiment: e, family: f, batches: e.BatchPlan()}
	store := shard.NewDir(t.TempDir())
	for k := range plan.Shards {
		if err := data.Generate(t.Context(), e.Data, k, store, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(plan.Dataset, k)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		r.shards = append(r.shards, s)
	}
	if r.normalisation, err = e.Normalisation(t.Context(), f, store); err != nil {
		t.Fatal(err)
	}
	if err := r.condition(); err != nil {
		t.Fatal(err)
	}
	return r
}

// rows are the functions of a step's batch, as comparable values.
func rows(b *stepBatch) [][]float32 {
	var all [][]float32
	for _, m := range b.micro {
		for i := range m.Functions {
			var row []float32
			for _, values := range append([][]float32{m.X0, m.X1, m.T}, m.Inputs...) {
				size := len(values) / m.Functions
				row = append(row, values[i*size:(i+1)*size]...)
			}
			all = append(all, row)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// steps reads the first n steps' batches that a rank with these shards computes.
func steps(t *testing.T, r *replica, shards []int, n int) [][][]float32 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := prefetch(ctx, r, shards)
	defer p.wait()
	defer cancel()
	var all [][][]float32
	for step := range n {
		b, err := p.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b.step != ergoflow.Step(step) {
			t.Fatalf("batch of step %d came at step %d", b.step, step)
		}
		all = append(all, rows(b))
		p.recycle(b)
	}
	return all
}

func TestBatchDoesNotDependOnMembership(t *testing.T) {
	for name, sets := range map[string][]string{
		"vn1d": nil, "cn2d": nil, "cn2d_grid": nil, "particles64d": nil,
		"cn2d_transfer": {"training.sensors=[5, 2, 3]"},
	} {
		t.Run(name, func(t *testing.T) { membershipChangesNothing(t, dataReplicaOf(t, name, sets...)) })
	}
}

func membershipChangesNothing(t *testing.T, r *replica) {
	const n = 6
	want := steps(t, r, []int{0, 1, 2, 3}, n)
	for _, split := range [][][]int{
		{{0, 2}, {1, 3}},
		{{3, 0, 1}, {2}},
		{{0}, {1}, {2}, {3}},
	} {
		got := make([][][]float32, n)
		for _, shards := range split {
			for step, part := range steps(t, r, shards, n) {
				got[step] = append(got[step], part...)
			}
		}
		for step := range got {
			slices.SortFunc(got[step], slices.Compare)
			if !slices.EqualFunc(got[step], want[step], slices.Equal) {
				t.Errorf("split %v: the batch of step %d differs", split, step)
			}
		}
	}
	if slices.EqualFunc(want[0], want[1], slices.Equal) {
		t.Error("steps 0 and 1 have the same batch")
	}
	for step, batch := range want {
		alternatives := r.experiment.Alternatives()
		size := r.batches.BatchSamples * (2*r.experiment.Velocity().Dim() + 1)
		for _, input := range alternatives[step%len(alternatives)].Velocity().Inputs() {
			size += input.Size()
		}
		if len(batch[0]) != size {
			t.Errorf("a function of step %d has %d values, want %d", step, len(batch[0]), size)
		}
	}
}

func TestPrefetchEndsWithItsContext(t *testing.T) {
	r := dataReplica(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := prefetch(ctx, r, []int{0, 1})
	cancel()
	p.wait()
	for range ahead + 1 { // what was ready may still be taken
		if _, err := p.next(ctx); err != nil {
			return
		}
	}
	t.Error("next went on after the context had ended")
}

func TestPrefetchEndsWithTheRun(t *testing.T) {
	r := dataReplica(t)
	r.plan.Steps = 2
	if got := len(steps(t, r, []int{0}, 2)); got != 2 {
		t.Errorf("%d steps", got)
	}
}

func TestRecentLoss(t *testing.T) {
	losses := make([]float64, 250)
	for i := range losses {
		losses[i] = float64(i)
	}
	if got := recentLoss(losses); got != (150+249)/2.0 {
		t.Errorf("got %g", got)
	}
	if got := recentLoss([]float64{2, 4}); got != 3 {
		t.Errorf("got %g", got)
	}
	if got := recentLoss(nil); got != 0 {
		t.Errorf("got %g", got)
	}
}

// Micro-batches keep to their bound and hold the same batch.
func TestBoundedMicroBatches(t *testing.T) {
	r := dataReplica(t) // batches of 16 functions from 4 shards
	all := []int{0, 1, 2, 3}
	want := steps(t, r, all, 1)
	for bound, sizes := range map[int][]int{0: {16}, 1: {4, 4, 4, 4}, 7: {4, 4, 4, 4}, 8: {8, 8}, 12: {8, 8}, 16: {16}, 99: {16}} {
		r.experiment.Training.MicroBatch = bound
		if got := steps(t, r, all, 1); !slices.EqualFunc(got[0], want[0], slices.Equal) {
			t.Errorf("at most %d functions: another batch", bound)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := prefetch(ctx, r, all)
		b, err := p.next(ctx)
		cancel()
		p.wait()
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, m := range b.micro {
			got = append(got, m.Functions)
		}
		if !slices.Equal(got, sizes) {
			t.Errorf("at most %d functions: micro-batches of %v, want %v", bound, got, sizes)
		}
	}
}
