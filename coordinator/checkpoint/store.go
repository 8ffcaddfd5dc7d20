package checkpoint

import (
	"errors"
	"fmt"
	"io"

	"github.com/ergoflow/ergoflow/internal/boltfile"
	"go.etcd.io/bbolt"
)

const (
	format    = 1
	chunkSize = 128 << 10 // of 64, 128 and 256 KiB the fastest to save: 320 MB/s
)

var (
	bucketMeta        = []byte("meta")
	bucketCheckpoints = []byte("checkpoints")
	bucketManifests   = []byte("manifests")
	bucketChunks      = []byte("chunks")
	bucketIndex       = []byte("index")
)

// Store is an open file of checkpoints. Its methods may be called concurrently.
type Store struct {
	db   *boltfile.DB
	path string
}

// Warning says that the file may lack its newest change; empty if it is whole.
func (s *Store) Warning() string { return s.db.Warning }

// Open opens the store at path, and makes it where it is missing unless readOnly. It
// checks the structure of the file first, so that damage is an error (ErrCorrupt) and not
// a fault. Reads and Verify check the chunks. ErrLocked means that another process has
// the file open.
func Open(path string, readOnly bool) (*Store, error) {
	db, err := boltfile.Open(path, readOnly)
	if err != nil {
		return nil, fmt.Errorf("checkpoint store: %w", err)
	}
	s := &Store{db: db, path: path}
	if err := s.guard("open", s.prepare); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// OpenCopy opens a copy of the store at path for reading. Its errors name path, which the
// user knows.
func OpenCopy(copied, path string) (*Store, error) {
	s, err := Open(copied, true)
	if err == nil {
		s.path = path
	}
	return s, err
}

// prepare makes the buckets of a new store, and checks the format of an old one.
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
		return boltfile.Stamp(tx, format)
	})
}

func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return errors.New("the file is not a checkpoint store")
	}
	if err := boltfile.CheckFormat(tx, format); err != nil {
		return err
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

func (s *Store) guard(operation string, f func() error) error {
	if err := boltfile.Guard(f); err != nil {
		return fmt.Errorf("checkpoint store %s: %s: %w", s.path, operation, err)
	}
	return nil
}
