package replica

import (
	"testing"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dataReplica is a replica with shards of a small experiment and no device.
func dataReplica(t testing.TB) *Replica { return dataReplicaOf(t, "vn1d") }

func dataReplicaOf(t testing.TB, name string, sets ...string) *Replica {
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
	r := newReplica(plan, e, f)
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
	if err := r.makeConditioners(); err != nil {
		t.Fatal(err)
	}
	return r
}

// trainable is a replica with the fresh state.
func trainable(t testing.TB) *Replica {
	t.Helper()
	return trainableOn(t, goBackend(t), dataReplica(t))
}

// goBackend compiles at once.
func goBackend(t testing.TB) *backend.Backend {
	t.Helper()
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// trainableOn gives a replica a trainer with the fresh state.
func trainableOn(t testing.TB, b *backend.Backend, r *Replica) *Replica {
	t.Helper()
	var err error
	if r.trainer, err = trainer.New(b, r.experiment.Trainer()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.trainer.Close)
	r.allocate()
	if err := r.Load(state.Fresh(r.Layout(), 1), 0); err != nil {
		t.Fatal(err)
	}
	return r
}
