package replica

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// shardStore has the training shards of a small experiment.
func shardStore(t *testing.T) (ergoflow.Plan, *shard.Dir) {
	t.Helper()
	e, err := experiment.Load("vn1d", "smoke", "", []string{"data.training.burn_in=10", "data.reference.burn_in=10"})
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
	return plan, store
}

// damage changes a sample of shard 2; the file's length stays.
func damage(t *testing.T, store *shard.Dir) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(store.Root(), "*", "shard-00002.safetensors"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, error %v", paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 0x40
	if err := os.WriteFile(paths[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// No replica opens on damaged shards.
func TestDamagedShard(t *testing.T) {
	plan, store := shardStore(t)
	damage(t, store)
	compute, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	defer compute.Close()
	_, err = Open(t.Context(), Config{
		Plan: plan, Store: store, Backend: compute, Verified: new(Verified), Log: slog.New(slog.DiscardHandler),
	})
	if !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), "shard-00002.safetensors") {
		t.Errorf("error %v, want ErrCorrupt and the file", err)
	}
}

func TestVerifyOnce(t *testing.T) {
	plan, store := shardStore(t)
	ended, end := context.WithCancel(t.Context())
	end()
	first, later := new(Verified), new(Verified)
	if err := first.verify(ended, store, plan); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: error %v", err)
	}
	if err := first.verify(t.Context(), store, plan); err != nil {
		t.Error(err)
	}
	damage(t, store)
	if err := first.verify(t.Context(), store, plan); err != nil {
		t.Errorf("read again: %v", err)
	}
	for range 2 {
		if err := later.verify(t.Context(), store, plan); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("error %v, want ErrCorrupt", err)
		}
	}
}
