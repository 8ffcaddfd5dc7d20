package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
	"go.etcd.io/bbolt"
)

// Verify reads the whole store: the tree, the index, and every chunk of every checkpoint.
// Its error joins one for each damaged checkpoint, which names the first bad chunk, and the
// first findings in the rest.
func (s *Store) Verify(ctx context.Context) error {
	var all []stored
	var damage []error
	err := s.view("verify", func(tx *bbolt.Tx) error {
		all, damage = list(tx)
		damage = append(damage, boltfile.Check(tx), checkIndex(tx))
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, _, err := s.Read(c.info.ID); err != nil {
			damage = append(damage, err)
		}
	}
	return errors.Join(damage...)
}

// checkIndex compares the index with the lists of chunks, and the numbers that were given
// with those that come next. A wrong count would delete a chunk with the first of its
// checkpoints, and a number given again would overwrite one.
func checkIndex(tx *bbolt.Tx) error {
	used := make(map[[sha256.Size]byte]uint64)
	err := tx.Bucket(bucketManifests).ForEach(func(k, manifest []byte) error {
		if tx.Bucket(bucketCheckpoints).Get(k) == nil || len(manifest)%sha256.Size != 0 {
			return fmt.Errorf("%w: the list of chunks %x belongs to no checkpoint", ErrCorrupt, k)
		}
		for ; len(manifest) > 0; manifest = manifest[sha256.Size:] {
			used[[sha256.Size]byte(manifest)]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	indexed := make(map[uint64]bool)
	err = tx.Bucket(bucketIndex).ForEach(func(sum, entry []byte) error {
		n, references, err := parseEntry(entry)
		if err != nil {
			return err
		}
		if len(sum) != sha256.Size || used[[sha256.Size]byte(sum)] != references || indexed[n] || tx.Bucket(bucketChunks).Get(number(n)) == nil {
			return fmt.Errorf("%w: the index has chunk %x as number %d with %d references: the lists of chunks have others", ErrCorrupt, sum, n, references)
		}
		indexed[n] = true
		return nil
	})
	if err != nil {
		return err
	}
	err = tx.Bucket(bucketChunks).ForEach(func(k, _ []byte) error {
		if len(k) != 8 || !indexed[binary.BigEndian.Uint64(k)] {
			return fmt.Errorf("%w: chunk number %x is not in the index", ErrCorrupt, k)
		}
		return nil
	})
	return errors.Join(err, checkSequence(tx, bucketChunks), checkSequence(tx, bucketCheckpoints))
}

// checkSequence compares the last number of a bucket with the last one that was given.
func checkSequence(tx *bbolt.Tx, name []byte) error {
	b := tx.Bucket(name)
	if last, _ := b.Cursor().Last(); last != nil && bytes.Compare(last, number(b.Sequence())) > 0 {
		return fmt.Errorf("%w: the last of %s is number %x, and number %x would come next", ErrCorrupt, name, last, b.Sequence()+1)
	}
	return nil
}
