package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator"
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
	return coordinator.OpenStore(ctx, f.dir, l, f.natsFiles)
}
