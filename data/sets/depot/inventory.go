package depot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// Inventory is what a store has of shards.
type Inventory struct {
	Manifests []shard.Manifest // by family, data set and number
	Orphans   []store.Object   // data that no manifest names, by key
}

// reads is how many manifests are read at a time.
const reads = 16

// Inventory reads all manifests. It returns what it can read. The error joins one for each
// manifest that is damaged; shard.ErrCorrupt is among them. Data count as orphans unless a
// manifest names them that can be read.
func (d *Depot) Inventory(ctx context.Context) (Inventory, error) {
	list, err := d.store.List(ctx, root)
	if err != nil {
		return Inventory{}, err
	}
	all := entries(list)
	manifests := make(chan shard.Manifest, len(all))
	damage := make(chan error, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(reads)
	for _, e := range all {
		if !e.manifest {
			continue
		}
		group.Go(func() error {
			m, _, err := d.manifest(groupCtx, e.dataset, e.number)
			switch {
			case err == nil:
				manifests <- m
			case errors.Is(err, shard.ErrCorrupt):
				damage <- err
			case !errors.Is(err, shard.ErrNotFound): // that one was deleted since
				return err
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Inventory{}, err
	}
	close(manifests)
	close(damage)
	in := Inventory{Manifests: []shard.Manifest{}}
	named := make(map[string]bool)
	for m := range manifests {
		in.Manifests = append(in.Manifests, m)
		named[dataKey(m)] = true
	}
	slices.SortFunc(in.Manifests, func(a, b shard.Manifest) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Shard, b.Shard))
	})
	for _, e := range all {
		for _, o := range e.data {
			if !named[o.Key] {
				in.Orphans = append(in.Orphans, o)
			}
		}
	}
	slices.SortFunc(in.Orphans, func(a, b store.Object) int { return cmp.Compare(a.Key, b.Key) })
	var bad []error
	for err := range damage {
		bad = append(bad, err)
	}
	slices.SortFunc(bad, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return in, errors.Join(bad...)
}

// Verify reads a shard's data and compares their length, SHA-256 and header with its manifest;
// shard.ErrCorrupt if they differ, or are missing. It reads them again where a transfer breaks.
func (d *Depot) Verify(ctx context.Context, m shard.Manifest) error {
	name := fmt.Sprintf("%s in %s", dataKey(m), d)
	o, err := d.store.Stat(ctx, dataKey(m))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%s: %w: there is a manifest but no data", name, shard.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	if o.Bytes != m.Bytes {
		return fmt.Errorf("%s: %w: %d bytes, the manifest says %d", name, shard.ErrCorrupt, o.Bytes, m.Bytes)
	}
	for n := 1; ; n++ {
		r, err := d.read(ctx, m, 0)
		if err == nil {
			err = errors.Join(m.VerifyData(ctx, name, r), r.Close())
		}
		if err == nil || ctx.Err() != nil || n == attempts || errors.Is(err, shard.ErrCorrupt) || lasting(err) {
			return err
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}
