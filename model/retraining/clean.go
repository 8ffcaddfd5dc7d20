package retraining

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// clean removes what a retraining that has ended no longer needs: its clusters' directories,
// and versions that the registry need not keep. Trouble with that is a warning.
func (r *run) clean(ctx context.Context) {
	if err := os.RemoveAll(runDir(r.Config.Dir, r.journal.ID)); err != nil {
		r.Log.Warn("remove the directories of the trainings", "error", err)
	}
	if r.Config.ownsStore() {
		if err := r.cleanStore(); err != nil {
			r.Log.Warn("remove data of earlier retrainings", "error", err)
		}
	}
	if r.Config.Keep == 0 {
		return
	}
	if _, err := r.registry.Prune(ctx, r.Config.Keep, false); err != nil {
		r.Log.Warn("prune the registry", "error", err)
	}
}

func runDir(dir, id string) string { return filepath.Join(dir, "runs", id) }

// cleanStore removes the data sets that no retraining will use again: all but the one that was
// learned from now, whose shards the next window shares.
func (r *run) cleanStore() error {
	e, err := experiment.Parse(r.journal.Trained[0].Experiment)
	if err != nil {
		return err
	}
	store := shard.NewDir(r.Config.store())
	sets, err := store.Sets()
	if err != nil {
		return err
	}
	for _, hash := range sets {
		if hash != e.Data.Hash() {
			err = errors.Join(err, store.Remove(hash))
		}
	}
	return err
}
