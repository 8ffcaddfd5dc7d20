package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	format      = "1"
	chunkSize   = 128 << 10
	lockTimeout = time.Second
)

var (
	bucketMeta        = []byte("meta")
	bucketCheckpoints = []byte("checkpoints")
	bucketManifests   = []byte("manifests")
	bucketChunks      = []byte("chunks")
	bucketIndex       = []byte("index")
	keyFormat         = []byte("format")
)

// Store is an open file of checkpoints. Its methods may be called concurrently.
type Store struct {
	db   *bbolt.DB
	path string
}

// Open opens the store at path. For writing it is made where it is not there.
// The structure of the file is checked before bbolt maps it, so that damage is
// an error (ErrCorrupt) and not a fault; the chunks themselves are checked when
// they are read, or by Verify.
func Open(path string, readOnly bool) (*Store, error) {
	if err := inspect(path, readOnly); err != nil {
		return nil, err
	}
	s := &Store{path: path}
	err := s.guard("open", func() (err error) {
		s.db, err = open(path, readOnly)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.guard("open", s.prepare); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// open is bbolt.Open with our options. Where it panics the file is closed, and
// with that unlocked, on the way out.
func open(path string, readOnly bool) (db *bbolt.DB, err error) {
	var file *os.File
	done := false
	defer func() {
		if !done && file != nil {
			file.Close()
		}
	}()
	db, err = bbolt.Open(path, 0o644, &bbolt.Options{
		Timeout:        lockTimeout,
		ReadOnly:       readOnly,
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, perm)
			return file, err
		},
	})
	done = true
	return db, err
}

// prepare makes the buckets of a new store, and refuses other formats.
func (s *Store) prepare() error {
	if s.db.IsReadOnly() {
		return s.db.View(checkFormat)
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucketMeta) != nil {
			return checkFormat(tx)
		}
		for _, name := range [][]byte{bucketCheckpoints, bucketManifests, bucketChunks, bucketIndex} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta, err := tx.CreateBucket(bucketMeta)
		if err != nil {
			return err
		}
		return meta.Put(keyFormat, []byte(format))
	})
}

func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return errors.New("the file is not a checkpoint store")
	}
	if f := meta.Get(keyFormat); string(f) != format {
		return fmt.Errorf("the store has format %.16q, this program reads %q", f, format)
	}
	for _, name := range [][]byte{bucketCheckpoints, bucketManifests, bucketChunks, bucketIndex} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: it has no %s", ErrCorrupt, name)
		}
	}
	return nil
}

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Close waits for transactions in progress and closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Snapshot writes a consistent copy of the whole file.
func (s *Store) Snapshot(w io.Writer) error {
	return s.guard("snapshot", func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			_, err := tx.WriteTo(w)
			return err
		})
	})
}

// guard runs an operation so that whatever a damaged file does to it comes out
// as an error: bbolt panics on pages it cannot read, and the memory map faults
// where the file was cut off.
func (s *Store) guard(operation string, f func() error) (err error) {
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, bolterrors.ErrTimeout):
			err = ErrLocked
		case isFull(err):
			err = fmt.Errorf("%w (earlier checkpoints are intact): %w", ErrSpace, err)
		}
		err = fmt.Errorf("checkpoint store %s: %s: %w", s.path, operation, err)
	}()
	return f()
}

// isFull looks at the text as well: bbolt does not wrap the error of a file
// that cannot grow.
func isFull(err error) bool {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT} {
		if errors.Is(err, full) || strings.HasSuffix(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}
