// Package replicatest makes small replicas for the tests of other packages.
package replicatest

import (
	"log/slog"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// Open opens a replica of a small experiment on the pure Go backend, with the fresh
// state. sets are settings of the experiment.
func Open(t testing.TB, sets ...string) *replica.Replica {
	t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", append([]string{
		"data.training.burn_in=10", "data.reference.burn_in=10", "data.samples=16", "training.batch_samples=4",
		"model.deeponet.trunk_width=8", "model.deeponet.hidden=8",
	}, sets...))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	store := shard.NewDir(t.TempDir())
	for k := range plan.Shards {
		if err := data.Generate(t.Context(), e.Data, k, store, simulate.Fastest(), nil); err != nil {
			t.Fatal(err)
		}
	}
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r, err := replica.Open(t.Context(), replica.Config{
		Plan: plan, Store: store, Backend: b, Verified: new(replica.Verified), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Load(r.Fresh(), 0); err != nil {
		t.Fatal(err)
	}
	return r
}

// Advance applies updates of a generation, which depend on the step alone.
func Advance(t testing.TB, r *replica.Replica, generation ergoflow.Generation, updates int) {
	t.Helper()
	for range updates {
		source := random.New(uint64(r.Step()), "test")
		sum := make([]float32, r.SumLength())
		for i := range sum {
			sum[i] = float32(source.NormFloat64())
		}
		sum[len(sum)-2], sum[len(sum)-1] = 3, 8
		var used []int64
		for range r.LocalSteps() {
			record := ledger.NewRecord(r.Plan().Shards)
			for k := range r.Plan().Shards {
				record.Add(k%2, []ledger.Use{{Shard: k, Word: source.Uint64()}})
			}
			used = append(used, record...)
		}
		if _, _, err := r.Apply(replica.Update{
			Step: r.Step(), Generation: generation, Workers: []ergoflow.WorkerID{"a", "b"}, Used: used, Sum: sum,
		}); err != nil {
			t.Fatal(err)
		}
	}
}
