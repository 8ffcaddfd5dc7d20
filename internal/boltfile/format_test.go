package boltfile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow"
)

// A file without a format gets ours. One with a newer format, or none that is a number, is refused,
// and keeps it.
func TestStamp(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "x.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	update := func(f func(tx *bbolt.Tx) error) error {
		return Guard(func() error { return db.Update(f) })
	}
	format := func() (value string) {
		if err := db.View(func(tx *bbolt.Tx) error { value = string(tx.Bucket(bucketMeta).Get(keyFormat)); return nil }); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, ours := range []int{1, 1, 2} {
		if err := update(func(tx *bbolt.Tx) error { return Stamp(tx, ours) }); err != nil {
			t.Fatalf("format %d: %v", ours, err)
		}
	}
	err = update(func(tx *bbolt.Tx) error { return Stamp(tx, 1) })
	if !errors.Is(err, ergoflow.ErrNewer) || !strings.Contains(err.Error(), "x.db has format 2") || format() != "2" {
		t.Errorf("%v; the format is %q", err, format())
	}
	for _, damaged := range []string{"", "x", "0", "-1"} {
		if err := update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte(damaged)) }); err != nil {
			t.Fatal(err)
		}
		if err := update(func(tx *bbolt.Tx) error { return Stamp(tx, 1) }); !errors.Is(err, ErrCorrupt) || format() != damaged {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}
