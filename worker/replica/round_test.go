package replica

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// withRounds is a replica whose ranks sum after every third step.
func withRounds(t *testing.T, b *backend.Backend) *Replica {
	t.Helper()
	return trainableOn(t, b, roundData(t, "training.sync_every=3"))
}

func roundData(t *testing.T, sets ...string) *Replica {
	t.Helper()
	return dataReplicaOf(t, "vn1d", append([]string{"training.steps=12", "training.checkpoint_every=6", "data.samples=16", "training.batch_samples=4",
		"model.deeponet.trunk_width=8", "model.deeponet.hidden=8"}, sets...)...)
}

// cluster trains replicas with these shards, from the state that they hold, for that many
// updates. before is called with every rank's steps.
type cluster struct {
	replicas   []*Replica
	shards     [][]int
	generation ergoflow.Generation
	before     func(rank int, step ergoflow.Step) error
}

func (c cluster) train(t *testing.T, updates int) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	network := allreduce.NewInProcess()
	var peers []string
	var workers []ergoflow.WorkerID
	var servers []*allreduce.Server
	for rank := range c.replicas {
		name := string(rune('a' + rank))
		peers, workers, servers = append(peers, name), append(workers, ergoflow.WorkerID(name)), append(servers, network.Listen(name))
	}
	errs := make(chan error)
	for rank, r := range c.replicas {
		go func() {
			err := func() error {
				ring, err := servers[rank].Join(ctx, allreduce.Identity{Generation: c.generation, Rank: rank, World: len(peers)}, peers, allreduce.Options{})
				if err != nil {
					return err
				}
				defer ring.Close()
				inner, end := context.WithCancel(ctx)
				batches := r.Batches(inner, c.shards[rank])
				defer batches.Wait()
				defer end()
				for range updates {
					if err := c.round(inner, rank, ring, batches, workers); err != nil {
						return err
					}
				}
				return nil
			}()
			if err != nil {
				cancel() // as the coordinator ends the generation of the others
			}
			errs <- err
		}()
	}
	var all error
	for range c.replicas {
		all = errors.Join(all, <-errs)
	}
	return all
}

func (c cluster) round(ctx context.Context, rank int, ring *allreduce.Ring, batches *Batches, workers []ergoflow.WorkerID) error {
	r := c.replicas[rank]
	for i := range r.LocalSteps() {
		b, err := batches.Next(ctx)
		if err != nil {
			return err
		}
		if c.before != nil {
			if err := c.before(rank, b.Step); err != nil {
				return err
			}
		}
		if i < r.LocalSteps()-1 {
			if err := r.Local(ctx, rank, b); err != nil {
				return err
			}
			batches.Recycle(b)
			continue
		}
		u, _, err := r.Compute(ctx, ring, b, NewStopwatch())
		if err != nil {
			return err
		}
		batches.Recycle(b)
		u.Generation, u.Workers = c.generation, workers
		if _, _, err := r.Apply(u); err != nil {
			return err
		}
	}
	return nil
}

// everything is the encoded state of a replica.
func everything(t *testing.T, r *Replica) []byte {
	t.Helper()
	st, _, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// After each round all ranks have the same state, to the last bit, and its ledger proves that
// every block was used once. A rank that joins continues from that state.
func TestRounds(t *testing.T) {
	b := goBackend(t)
	replicas := []*Replica{withRounds(t, b), withRounds(t, b), withRounds(t, b)}
	two := cluster{replicas: replicas[:2], shards: [][]int{{0, 2, 3}, {1}}, generation: 1}
	for round := range 2 {
		if err := two.train(t, 1); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(everything(t, replicas[0]), everything(t, replicas[1])) {
			t.Fatalf("the ranks differ after round %d", round)
		}
	}
	st, generation, err := replicas[0].State()
	if err != nil {
		t.Fatal(err)
	}
	if st.Step != 6 || len(st.Losses) != 6 || len(st.Outer) != len(st.Parameters) {
		t.Fatalf("two rounds of three steps end at step %d with %d losses", st.Step, len(st.Losses))
	}
	if err := replicas[2].Load(st, generation); err != nil {
		t.Fatal(err)
	}
	three := cluster{replicas: replicas, shards: [][]int{{0}, {1, 2}, {3}}, generation: 2}
	if err := three.train(t, 2); err != nil {
		t.Fatal(err)
	}
	last, _, err := replicas[2].State()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(everything(t, replicas[0]), everything(t, replicas[2])) {
		t.Error("the rank that joined differs")
	}
	proof, err := last.Ledger.Verify(t.Context(), replicas[0].experiment.LedgerBatches(), last.Step)
	if err != nil || proof.Steps != 12 || proof.Generations != 2 || proof.Workers != 3 {
		t.Errorf("proof %+v, error %v", proof, err)
	}
}

// The sum of a round is that of the ranks' own trainings, weighted by their samples.
func TestRoundSumsWhatRanksLearned(t *testing.T) {
	b := goBackend(t)
	replicas := []*Replica{withRounds(t, b), withRounds(t, b)}
	shards := [][]int{{0, 2, 3}, {1}}
	before, _, err := replicas[0].State()
	if err != nil {
		t.Fatal(err)
	}
	size := replicas[0].Size()
	want := make([]float64, size) // Σ n·Δθ
	for rank := range replicas {
		alone := trainableOn(t, b, roundData(t)) // sums every step
		if err := (cluster{replicas: []*Replica{alone}, shards: shards[rank : rank+1], generation: 1}).train(t, 3); err != nil {
			t.Fatal(err)
		}
		own, _, err := alone.State()
		if err != nil {
			t.Fatal(err)
		}
		n := float64(len(shards[rank]) * alone.batchPlan.FunctionsPerStep() * alone.batchPlan.BatchSamples)
		for i := range want {
			want[i] += n * float64(own.Parameters[i]-before.Parameters[i])
		}
	}
	if err := (cluster{replicas: replicas, shards: shards, generation: 1}).train(t, 1); err != nil {
		t.Fatal(err)
	}
	sum := replicas[0].sum
	if n := sum[len(sum)-1]; n != 16*4 {
		t.Errorf("%g samples in a step, want a batch", n)
	}
	for i := range want {
		if math.Abs(float64(sum[i])-want[i]) > 1e-3*math.Abs(want[i])+1e-4 {
			t.Fatalf("number %d of the sum is %g, want %g", i, sum[i], want[i])
		}
	}
}

// A worker lost in the middle of a round takes that round with it, and nothing else: the others
// make it again from the state before, as if the first attempt had not been.
func TestLostWorkerLosesOneRound(t *testing.T) {
	b := goBackend(t)
	replicas := []*Replica{withRounds(t, b), withRounds(t, b)}
	both := cluster{replicas: replicas, shards: [][]int{{0, 2}, {1, 3}}, generation: 1}
	if err := both.train(t, 1); err != nil {
		t.Fatal(err)
	}
	before := everything(t, replicas[0])
	lost := errors.New("lost")
	both.generation = 2
	both.before = func(rank int, step ergoflow.Step) error {
		if rank == 1 && step == 4 {
			return lost
		}
		return nil
	}
	if err := both.train(t, 1); !errors.Is(err, lost) {
		t.Fatalf("the round ends with %v", err)
	}
	if !slices.Equal(everything(t, replicas[0]), before) {
		t.Fatal("a round that was interrupted has changed the state")
	}
	left := cluster{replicas: replicas[:1], shards: [][]int{{0, 1, 2, 3}}, generation: 3}
	if err := left.train(t, 3); err != nil {
		t.Fatal(err)
	}
	undisturbed := withRounds(t, b)
	start, generation, err := replicas[1].State() // still as before
	if err != nil {
		t.Fatal(err)
	}
	if err := undisturbed.Load(start, generation); err != nil {
		t.Fatal(err)
	}
	left.replicas = []*Replica{undisturbed}
	if err := left.train(t, 3); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(everything(t, undisturbed), everything(t, replicas[0])) {
		t.Error("the interrupted round has left something behind")
	}
	st, _, err := undisturbed.State()
	if err != nil {
		t.Fatal(err)
	}
	if proof, err := st.Ledger.Verify(t.Context(), undisturbed.experiment.LedgerBatches(), st.Step); err != nil || proof.Steps != 12 {
		t.Errorf("proof %+v, error %v", proof, err)
	}
}

// A sum that is not finite, and a state of another kind of training, change nothing.
func TestRoundsRefuse(t *testing.T) {
	r := withRounds(t, goBackend(t))
	before := everything(t, r)
	u := Update{Generation: 1, Workers: []ergoflow.WorkerID{"a"}, Used: make([]int64, r.recordLength()), Sum: make([]float32, r.SumLength())}
	if _, _, err := r.Apply(u); err == nil {
		t.Error("a round without samples was applied")
	}
	u.Sum[len(u.Sum)-1], u.Sum[3] = 8, float32(math.Inf(1))
	if _, _, err := r.Apply(u); !errors.Is(err, trainer.ErrDiverged) {
		t.Errorf("error %v, want ErrDiverged", err)
	}
	u.Sum = u.Sum[1:]
	if _, _, err := r.Apply(u); err == nil {
		t.Error("a short sum was applied")
	}
	st, _, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	st.Step, st.Losses, st.Outer = 3, make([]float64, 3), nil
	if err := r.Load(st, 1); err == nil {
		t.Error("a state without the outer velocity was loaded")
	}
	st.Step, st.Losses, st.Outer = 0, nil, make([]float32, r.Size())
	if !slices.Equal(everything(t, r), before) {
		t.Error("the state has changed")
	}
	if err := trainable(t).Load(st, 1); err == nil {
		t.Error("a state with an outer velocity was loaded where every step is summed")
	}
}
