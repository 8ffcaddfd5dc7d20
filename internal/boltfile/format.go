package boltfile

import (
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
)

// BucketMeta is the bucket in which a file says its format.
const BucketMeta = "meta"

var (
	bucketMeta = []byte(BucketMeta)
	keyFormat  = []byte("format")
)

// CheckFormat fails with ergoflow.ErrNewer where a file says that it has a newer format than ours. One
// that says nothing is older, or new.
func CheckFormat(tx *bbolt.Tx, ours int) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return nil
	}
	value := meta.Get(keyFormat)
	format, err := strconv.Atoi(string(value))
	if err != nil || format < 1 {
		return fmt.Errorf("%w: its format is %.16q", ErrCorrupt, value)
	}
	return ergoflow.CheckFormat(tx.DB().Path(), format, ours)
}

// Stamp checks a file's format as CheckFormat does, and then has the file say that it is ours.
func Stamp(tx *bbolt.Tx, ours int) error {
	if err := CheckFormat(tx, ours); err != nil {
		return err
	}
	meta, err := tx.CreateBucketIfNotExists(bucketMeta)
	if err != nil {
		return err
	}
	return meta.Put(keyFormat, strconv.AppendInt(nil, int64(ours), 10))
}
