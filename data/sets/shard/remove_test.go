package shard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A data set is removed whole, and no other with it; links are left.
func TestRemove(t *testing.T) {
	d := NewDir(filepath.Join(t.TempDir(), "store [1]*"))
	write(t, d, header)
	other := header
	other.Dataset = "ff" + header.Dataset[2:]
	write(t, d, other)
	if sets, err := d.Sets(); err != nil || len(sets) != 2 {
		t.Fatalf("%v, %v", sets, err)
	}
	for range 2 {
		if err := d.Remove(header.Dataset); err != nil {
			t.Fatal(err)
		}
	}
	if d.Has(header.Dataset, header.Shard) || !d.Has(other.Dataset, other.Shard) {
		t.Error("the wrong data set is gone")
	}
	if sets, err := d.Sets(); err != nil || len(sets) != 1 || sets[0] != other.Dataset {
		t.Errorf("%v, %v", sets, err)
	}
	path := filepath.Join(d.Root(), other.Family+"-"+other.Dataset)
	if err := errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path)); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(other.Dataset); !errors.Is(err, ErrLink) {
		t.Errorf("a link: %v", err)
	}
	if err := NewDir(filepath.Join(t.TempDir(), "none")).Remove(header.Dataset); err != nil {
		t.Error(err)
	}
}
