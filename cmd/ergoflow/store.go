package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
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
// have been added to the bucket, if the work succeeded.
func (f storeFlags) openImports(ctx context.Context, l store.Location, name string) (in *shard.Dir, done func(succeeded bool) error, err error) {
	if l.Scheme == store.File {
		return shard.NewDir(l.Dir), func(bool) error { return nil }, nil
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
	return in, func(succeeded bool) error {
		if !succeeded {
			return s.Close()
		}
		_, err := d.UploadImports(ctx, in, name)
		return errors.Join(err, s.Close())
	}, nil
}
