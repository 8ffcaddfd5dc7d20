package registry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ergoflow/ergoflow/internal/filelock"
)

// bbolt's lock of registry.db lets readers in for as long as others read, so that a writer
// may wait for ever, and it looks every 50 ms alone. Therefore all pass a gate, the lock of
// registry.lock, one at a time. A reader keeps it until it has locked registry.db, a writer
// until it has closed registry.db. So a writer waits for those who read already, and for
// them alone.

// pass goes through the gate. Until leave is called, nobody else has registry.db open, or
// other readers alone. Errors are fs.ErrNotExist where a reader finds no registry.
func (r *Registry) pass(ctx context.Context, readOnly bool) (leave func(), err error) {
	gate, err := r.lockGate(ctx, readOnly)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if readOnly {
		how = syscall.LOCK_SH
	}
	db, err := os.Open(databasePath(r.dir))
	switch {
	case err == nil:
		err = flock(ctx, db, how)
	case !readOnly && errors.Is(err, fs.ErrNotExist): // boltfile.Open makes it
		return func() { gate.Close() }, nil
	}
	if err == nil && readOnly {
		gate.Close()
		return func() { db.Close() }, nil
	}
	if db != nil {
		db.Close() // so that bbolt can lock the file
	}
	if err != nil {
		gate.Close()
		return nil, err
	}
	return func() { gate.Close() }, nil
}

// lockGate locks the gate. A reader that may not write there shares it with others.
func (r *Registry) lockGate(ctx context.Context, readOnly bool) (*os.File, error) {
	path, flags, how := filepath.Join(r.dir, "registry.lock"), os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
	if readOnly {
		flags = os.O_RDWR
	}
	gate, err := os.OpenFile(path, flags, 0o644)
	if readOnly && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		how = syscall.LOCK_SH
		gate, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, gate, how); err != nil {
		gate.Close()
		return nil, err
	}
	return gate, nil
}

// flock waits for a lock of a file, at most for patience.
func flock(ctx context.Context, f *os.File, how int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
	defer cancel()
	return filelock.Wait(ctx, f, how)
}
