package boltfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// keysOf opens a file and counts the keys of each bucket.
func keysOf(path string) (keys map[string]int, err error) {
	db, err := boltfile.Open(path, true)
	if err != nil {
		return nil, err
	}
	keys = map[string]int{}
	err = boltfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
				return b.ForEach(func(_, _ []byte) error { keys[string(name)]++; return nil })
			})
		})
	})
	return keys, errors.Join(err, db.Close())
}

// No bit that flips in the numbers of a page, or of a bucket inside of it, hides keys: the file is
// refused, or has as many in every bucket, of whatever name.
func TestFlippedBitsHideNoKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := boltfile.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		var failed error
		// Of few and short keys the bucket is within its parent's page, otherwise it has pages.
		for name, c := range map[string]struct{ keys, size int }{"empty": {0, 0}, "few": {3, 8}, "long": {1, 3000}, "many": {200, 100}} {
			b, err := tx.CreateBucket([]byte(name))
			failed = errors.Join(failed, err)
			for i := range c.keys {
				failed = errors.Join(failed, b.Put(fmt.Appendf(nil, "%s%03d", name, i), bytes.Repeat([]byte{'v'}, c.size)))
			}
		}
		return failed
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := keysOf(path)
	if err != nil || want["few"] != 3 || want["many"] != 200 || want["long"] != 1 {
		t.Fatalf("%v, %v", want, err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused := 0
	for page := 2 * os.Getpagesize(); page < len(file); page += os.Getpagesize() {
		first, end := 8, 16 // the page's type, number of elements and overflow
		if bytes.Contains(file[page:page+192], []byte("few")) {
			first, end = 0, 192 // the root: it has the numbers of small buckets too
		}
		for bit := 8 * first; bit < 8*end; bit++ {
			at := page + bit/8
			if _, err := f.WriteAt([]byte{file[at] ^ 1<<(bit%8)}, int64(at)); err != nil {
				t.Fatal(err)
			}
			got, err := keysOf(path)
			if err != nil {
				refused++
			} else if fmt.Sprint(numbers(got)) != fmt.Sprint(numbers(want)) {
				t.Errorf("bit %d of byte %d of page %d: %v", bit%8, bit/8, page/os.Getpagesize(), got)
			}
			if _, err := f.WriteAt(file[at:at+1], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refused == 0 {
		t.Error("no flip was found")
	}
}

// numbers counts the buckets of each number of keys: a flip in a name is not found here.
func numbers(keys map[string]int) map[int]int {
	n := map[int]int{}
	for _, k := range keys {
		n[k]++
	}
	return n
}
