package depot

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Replicate copies the shards and imports that another depot has and this one lacks, and returns
// how many it copied. They pass through a directory, which has none of the shards afterwards, and
// are verified there. What is damaged in the other depot, or of another format, is left out, and
// the error joins the reason of each. Data that no manifest names are not copied: their writer is
// not done, or was interrupted. Nothing is deleted: what this depot has and the other one lacks
// stays. Of several calls at once, each with a directory of its own, one copies a shard that several
// depots have.
func (d *Depot) Replicate(ctx context.Context, from *Depot, by *shard.Dir) (copied int, err error) {
	r := replication{to: d, from: from, by: by}
	if err := r.shards(ctx); err != nil {
		return r.copied, err
	}
	if err := r.imports(ctx); err != nil {
		return r.copied, err
	}
	return r.copied, errors.Join(r.left...)
}

// replication is a call of Replicate.
type replication struct {
	to, from *Depot
	by       *shard.Dir

	mu     sync.Mutex
	copied int
	left   []error // why something is left out
}

// note counts what was copied, or is left out. It returns an error that ends the call.
func (r *replication) note(copied int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.copied += copied
	case slices.ContainsFunc([]error{shard.ErrCorrupt, imports.ErrCorrupt, ergoflow.ErrOlder, ergoflow.ErrNewer},
		func(kind error) bool { return errors.Is(err, kind) }):
		r.left = append(r.left, err)
	case !errors.Is(err, shard.ErrNotFound) && !errors.Is(err, imports.ErrMissing): // these were deleted since
		return err
	}
	return nil
}

func (r *replication) shards(ctx context.Context) error {
	theirs, err := r.from.store.List(ctx, root)
	if err != nil || len(theirs) == 0 {
		return err
	}
	own, err := r.to.store.List(ctx, root)
	if err != nil {
		return err
	}
	has, all := entries(own), entries(theirs)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copies)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key].committed() && !has[key].committed() {
			group.Go(func() error { return r.note(r.shard(ctx, all[key].dataset, all[key].number)) })
		}
	}
	return group.Wait()
}

func (r *replication) shard(ctx context.Context, dataset string, k int) (copied int, err error) {
	key := keyOf(dataset, k)
	if _, busy := r.to.arriving.LoadOrStore(key, true); busy {
		return 0, nil
	}
	defer r.to.arriving.Delete(key)
	if has, err := r.to.Has(ctx, dataset, k); has || err != nil { // since the list
		return 0, err
	}
	if err := r.from.Fetch(ctx, r.by, dataset, k); err != nil {
		return 0, err
	}
	m, err := r.by.Manifest(dataset, k)
	if err != nil {
		return 0, err
	}
	return 1, errors.Join(r.to.Upload(ctx, r.by, dataset, k), r.by.Discard(m))
}

func (r *replication) imports(ctx context.Context) error {
	theirs, err := r.from.store.List(ctx, importsRoot)
	if err != nil || len(theirs) == 0 {
		return err
	}
	own, err := r.to.store.List(ctx, importsRoot)
	if err != nil {
		return err
	}
	has := make(map[string]bool, len(own))
	for _, o := range own {
		has[o.Key] = true
	}
	names := make(map[string]bool)
	for _, o := range theirs {
		parts := ourImports.FindStringSubmatch(o.Key)
		if parts == nil || parts[1] == "" || parts[3] != manifestSuffix || has[o.Key] {
			continue
		}
		if err := r.note(0, r.from.fetchImport(ctx, r.by, o.Key)); err != nil {
			return err
		}
		names[parts[1]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		copied, err := r.to.UploadImports(ctx, r.by, name)
		if err := r.note(copied, err); err != nil {
			return err
		}
	}
	return nil
}
