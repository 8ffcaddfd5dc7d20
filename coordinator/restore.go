package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/coordinator/archive"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

// restore copies the newest readable checkpoint of a run from the store to the disk, unless the
// disk has that or a more advanced one. It waits for a store that does not answer: without the
// checkpoint the run would begin anew. It fails when ctx ends.
func (l *loop) restore(ctx context.Context, run string) error {
	if l.archiving == nil {
		return nil
	}
	return upkeep.Until(ctx, storePause, func() (final bool, err error) {
		return false, l.archiving.restore(ctx, l, run)
	}, func(err error) {
		l.about(journal.Checkpoint).Warn("cannot look for checkpoints of the run in the store; trying again", "run", run, "error", err)
	})
}

func (a *archiving) restore(ctx context.Context, l *loop, run string) error {
	there, err := a.archive.Entries(ctx, run)
	if err != nil {
		return err
	}
	local, has := l.newest(run)
	for _, e := range there {
		if has && e.Mark.Compare(local.Mark()) <= 0 {
			return nil
		}
		info, data, err := archive.Read(ctx, a.objects, e)
		if err == nil {
			err = checkState(&wire.CheckpointHeader{Run: info.Run, Step: int64(info.Step)}, data)
		}
		if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, wire.ErrCheckpoint) {
			a.log.Warn("skipping a checkpoint in the store that cannot be read", "checkpoint", e, "error", err)
			continue
		}
		if err == nil {
			info, err = a.saved.Save(info, data)
		}
		if err != nil {
			return fmt.Errorf("the checkpoint of run %s in %s: %w", e, a.archive, err)
		}
		a.log.Info("a checkpoint comes from the store: the disk has no later one", "id", info.ID, "run", run, "step", info.Step, "store", a.archive)
		return nil
	}
	return nil
}
