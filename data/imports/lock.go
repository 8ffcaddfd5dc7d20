package imports

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/filelock"
)

// lock waits until no other process adds imports of a name: two at a time could accept one
// equation twice. Closing the file releases it, as does the end of the process.
func lock(ctx context.Context, store *shard.Dir, name string) (*os.File, error) {
	dir := directory(store, name)
	if err := atomicfile.MakeDirs(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Wait(ctx, f, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
