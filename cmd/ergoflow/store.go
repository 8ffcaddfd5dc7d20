package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// storeFlags say where a command finds shards or checkpoints: in the directory of a run, or at a
// location as --store of the coordinator.
type storeFlags struct{ dir, store, natsFiles string }

func (f *storeFlags) add(cmd *cobra.Command, store string) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of the run or coordinator")
	cmd.Flags().StringVar(&f.store, "store", "", store+", as --store of the coordinator; with nats:// --dir names the coordinator whose server it is")
	cmd.Flags().StringVar(&f.natsFiles, "nats-files", "", "directory with what the server of nats:// asks for, as --nats-files of the coordinator")
	cmd.MarkFlagsOneRequired("dir", "store")
}

// location parses what is given.
func (f storeFlags) location() (store.Location, error) {
	if f.store == "" {
		return store.Location{Scheme: store.File, Dir: filepath.Join(f.dir, "shards")}, nil
	}
	l, err := store.Parse(f.store)
	if err != nil {
		return l, usage(err)
	}
	return l, nil
}

// open opens the objects of a location that is no directory.
func (f storeFlags) open(ctx context.Context, l store.Location) (store.Store, error) {
	s, err := coordinator.OpenStore(ctx, f.dir, l, f.natsFiles)
	if err != nil && l.Scheme == store.NATS && l.Server != "" && f.dir == "" {
		return nil, withHint(err, "for the server of a secured coordinator give --dir of that, on its machine, and no server")
	}
	return s, err
}

// openImports returns a directory that has the imports of a location under a name: its own, or
// for a bucket one in this user's cache, to which they are copied first. done copies those that
// have been added to the bucket, if the work succeeded, and warns of those that came there
// meanwhile.
func (f storeFlags) openImports(ctx context.Context, l store.Location, name string) (in *shard.Dir, done func(succeeded bool) (warnings []string, err error), err error) {
	if l.Scheme == store.File {
		return shard.NewDir(l.Dir), func(bool) ([]string, error) { return nil, nil }, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, nil, fmt.Errorf("cache of imports: %w", err)
	}
	s, err := f.open(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	d := depot.New(s)
	in = shard.NewDir(filepath.Join(cache, "ergoflow", "imports", fmt.Sprintf("%x", sha256.Sum256([]byte(l.String())))[:16]))
	if err := d.FetchNamed(ctx, in, name); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return in, func(succeeded bool) (warnings []string, err error) {
		if succeeded {
			warnings, err = uploadImports(ctx, d, in, name)
		}
		return warnings, errors.Join(err, s.Close())
	}, nil
}

func uploadImports(ctx context.Context, d *depot.Depot, in *shard.Dir, name string) (warnings []string, err error) {
	if _, err := d.UploadImports(ctx, in, name); err != nil {
		return nil, err
	}
	there, err := d.Imports(ctx, name)
	if err != nil {
		return nil, err
	}
	here, err := imports.List(in, name)
	if err != nil {
		return nil, err
	}
	for _, r := range there {
		if !slices.ContainsFunc(here, func(h imports.Record) bool { return h.Hash == r.Hash }) {
			warnings = append(warnings, fmt.Sprintf("import %.12s of %s came from elsewhere at the same time: equations that it shares with this one were not refused", r.Hash, r.File))
		}
	}
	return warnings, nil
}
