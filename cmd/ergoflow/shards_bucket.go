package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dustin/go-humanize"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// inBucket calls do with what a bucket has of shards. bad names the manifests that are damaged.
func inBucket(ctx context.Context, flags storeFlags, l store.Location, do func(d *depot.Depot, in depot.Inventory, bad error) error) (err error) {
	s, err := flags.open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := depot.New(s)
	in, bad := d.Inventory(ctx)
	if bad != nil && !errors.Is(bad, shard.ErrCorrupt) {
		return bad
	}
	var orphans []string
	for _, o := range in.Orphans {
		orphans = append(orphans, fmt.Sprintf("no manifest names %s (%s, of %s): a writer was interrupted, or lost to another one; a coordinator removes such data when they are a day old",
			o.Key, humanize.IBytes(uint64(o.Bytes)), clockTime(o.Made)))
	}
	warn(orphans)
	return do(d, in, bad)
}

func listBucket(ctx context.Context, flags storeFlags, l store.Location, asJSON bool) error {
	return inBucket(ctx, flags, l, func(d *depot.Depot, in depot.Inventory, bad error) error {
		switch {
		case bad != nil && len(in.Manifests) == 0:
			return damagedInBucket(bad)
		case asJSON:
			return errors.Join(damagedInBucket(bad), printJSON(in.Manifests))
		}
		return errors.Join(printShards(d.String(), in.Manifests), damagedInBucket(bad))
	})
}

func verifyBucket(ctx context.Context, flags storeFlags, l store.Location) error {
	return inBucket(ctx, flags, l, func(d *depot.Depot, in depot.Inventory, bad error) error {
		if len(in.Manifests) == 0 && bad == nil {
			return withHint(fmt.Errorf("no shards in %s", d), "name the --store of a coordinator whose workers have made data")
		}
		bar := progress.New(os.Stderr, "verify", "shards", 0, len(in.Manifests))
		for i, m := range in.Manifests {
			err := d.Verify(ctx, m)
			if err != nil && !errors.Is(err, shard.ErrCorrupt) {
				return errors.Join(bad, err)
			}
			bad = errors.Join(bad, err)
			bar.Set(i+1, "")
		}
		bar.End()
		if bad != nil {
			return damagedInBucket(bad)
		}
		fmt.Fprintf(stdout, "%d shards are whole\n", len(in.Manifests))
		return nil
	})
}

// damagedInBucket says what to do about damaged shards.
func damagedInBucket(bad error) error {
	if bad == nil {
		return nil
	}
	return withHint(bad, "delete the object named, and the shard's manifest, with the store's own tools; `ergoflow run` or `generate` makes the shard again")
}
