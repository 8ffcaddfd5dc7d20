package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dustin/go-humanize"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/progress"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// bucket is what a bucket has of shards and imports.
type bucket struct {
	*depot.Depot
	depot.Inventory
	imported []imports.Record
	bad      error // names the manifests and records that are damaged; nil: none
}

// inBucket calls do with what a bucket has.
func inBucket(ctx context.Context, flags storeFlags, l store.Location, do func(b bucket) error) (err error) {
	s, err := flags.open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b := bucket{Depot: depot.New(s)}
	var unread error
	if b.Inventory, b.bad = b.Depot.Inventory(ctx); b.bad == nil || errors.Is(b.bad, shard.ErrCorrupt) {
		b.imported, unread = b.Imports(ctx, "")
	}
	b.bad = errors.Join(b.bad, unread)
	if b.bad != nil && !isDamage(b.bad) {
		return b.bad
	}
	var orphans []string
	for _, o := range b.Orphans {
		orphans = append(orphans, fmt.Sprintf("no manifest names %s (%s, of %s): a writer was interrupted, or lost to another one; a coordinator removes such data when they are a day old",
			o.Key, humanize.IBytes(uint64(o.Bytes)), clockTime(o.Made)))
	}
	warn(orphans)
	return do(b)
}

// isDamage reports whether an error is of what a bucket has, and not of the way there.
func isDamage(err error) bool {
	return errors.Is(err, shard.ErrCorrupt) || errors.Is(err, imports.ErrCorrupt) || errors.Is(err, imports.ErrMissing)
}

func listBucket(ctx context.Context, flags storeFlags, l store.Location, asJSON, onlyImports bool) error {
	return inBucket(ctx, flags, l, func(b bucket) error {
		var err error
		switch {
		case onlyImports && asJSON:
			err = printJSON(b.imported)
		case onlyImports:
			err = printImports(b.String(), b.imported)
		case asJSON:
			err = printJSON(b.Manifests)
		default:
			if err = printShards(b.String(), b.Manifests); err == nil && len(b.imported) > 0 {
				fmt.Fprintln(stdout)
				err = printImports(b.String(), b.imported)
			}
		}
		return errors.Join(damagedInBucket(b.bad), err)
	})
}

func verifyBucket(ctx context.Context, flags storeFlags, l store.Location) error {
	return inBucket(ctx, flags, l, func(b bucket) error {
		all := len(b.Manifests) + len(b.imported)
		if all == 0 && b.bad == nil {
			return withHint(fmt.Errorf("no shards in %s", b), "name the --store of a coordinator whose workers have made data")
		}
		bar := progress.New(os.Stderr, "verify", "shards", 0, all)
		done := 0
		verified := func(err error) (fatal error) {
			if err != nil && !isDamage(err) {
				return errors.Join(b.bad, err)
			}
			done++
			b.bad = errors.Join(b.bad, err)
			bar.Set(done, "")
			return nil
		}
		for _, m := range b.Manifests {
			if err := verified(b.Verify(ctx, m)); err != nil {
				return err
			}
		}
		for _, r := range b.imported {
			if err := verified(verifyCopy(ctx, b.Depot, r.Hash)); err != nil {
				return err
			}
		}
		bar.End()
		if b.bad != nil {
			return damagedInBucket(b.bad)
		}
		printWhole(len(b.Manifests), len(b.imported))
		return nil
	})
}

// verifyCopy verifies an import in a bucket: it copies it to this machine, which checks the
// content's hash.
func verifyCopy(ctx context.Context, d *depot.Depot, hash string) (err error) {
	dir, err := os.MkdirTemp("", "ergoflow-import-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return d.FetchImports(ctx, shard.NewDir(dir), hash)
}

// damagedInBucket says what to do about what is damaged.
func damagedInBucket(bad error) error {
	if bad == nil {
		return nil
	}
	return withHint(bad, "delete the object named, and the manifest or record beside it, with the store's own tools; `ergoflow run` or `generate` makes a shard again, `shards import` an import")
}
