package replica

import (
	"context"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow"
)

// rows are the functions of a batch, sorted so that batches can be compared.
func rows(b *Batch) [][]float32 {
	var all [][]float32
	for _, m := range b.Micro {
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
func steps(t *testing.T, r *Replica, shards []int, n int) [][][]float32 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := r.Batches(ctx, shards)
	defer p.Wait()
	defer cancel()
	var all [][][]float32
	for step := range n {
		b, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b.Step != ergoflow.Step(step) {
			t.Fatalf("got the batch of step %d at step %d", b.Step, step)
		}
		all = append(all, rows(b))
		p.Recycle(b)
	}
	return all
}

func TestBatchDoesNotDependOnMembership(t *testing.T) {
	for _, c := range []struct {
		name, of string
		sets     []string
	}{
		{"vn1d", "", nil}, {"cn2d", "", nil}, {"cn2d_grid", "", nil}, {"particles64d", "", nil},
		{"cn2d_transfer", "", []string{"training.sensors=[5, 2, 3]"}},
		{"cn2d_grid", " with sensors", []string{
			"model.deeponet.fields=[{name: force, shape: [32, 32, 2]}]",
			"probes={kind: trajectory, dt: 0.01, sensors: 16, steps: 4}", "training.sensors=[8, 16]",
		}},
	} {
		t.Run(c.name+c.of, func(t *testing.T) { membershipChangesNothing(t, dataReplicaOf(t, c.name, c.sets...)) })
	}
}

func membershipChangesNothing(t *testing.T, r *Replica) {
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
		size := r.batchPlan.BatchSamples * (2*r.experiment.Velocity().Dim() + 1)
		for _, input := range alternatives[step%len(alternatives)].Velocity().Inputs() {
			size += input.Size()
		}
		if len(batch[0]) != size {
			t.Errorf("a function of step %d has %d values, want %d", step, len(batch[0]), size)
		}
	}
}

func TestBatchesEndWithItsContext(t *testing.T) {
	r := dataReplica(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := r.Batches(ctx, []int{0, 1})
	cancel()
	p.Wait()
	for range ahead + 1 { // batches that were ready still come
		if _, err := p.Next(ctx); err != nil {
			return
		}
	}
	t.Error("Next returns batches after the context has ended")
}

func TestBatchesEndWithTheRun(t *testing.T) {
	r := dataReplica(t)
	r.plan.Steps = 2
	if got := len(steps(t, r, []int{0}, 2)); got != 2 {
		t.Errorf("%d steps", got)
	}
}

// Bounded micro-batches hold the same batch in smaller parts.
func TestBoundedMicroBatches(t *testing.T) {
	r := dataReplica(t) // batches of 16 functions from 4 shards
	all := []int{0, 1, 2, 3}
	want := steps(t, r, all, 1)
	for bound, sizes := range map[int][]int{0: {16}, 1: {4, 4, 4, 4}, 7: {4, 4, 4, 4}, 8: {8, 8}, 12: {8, 8}, 16: {16}, 99: {16}} {
		r.settings.Store(&settings{r.plan, bound})
		if got := steps(t, r, all, 1); !slices.EqualFunc(got[0], want[0], slices.Equal) {
			t.Errorf("at most %d functions: another batch", bound)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := r.Batches(ctx, all)
		b, err := p.Next(ctx)
		cancel()
		p.Wait()
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, m := range b.Micro {
			got = append(got, m.Functions)
		}
		if !slices.Equal(got, sizes) {
			t.Errorf("at most %d functions: micro-batches of %v, want %v", bound, got, sizes)
		}
	}
}
