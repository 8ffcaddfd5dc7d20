package shard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Kept is a shard of a cache.
type Kept struct {
	Manifest
	Used time.Time // when Touch was called last, or the shard came
}

// Kept lists the shards that can be read, in any order.
func (d *Dir) Kept() ([]Kept, error) {
	all, err := d.List()
	if all == nil {
		return nil, err
	}
	kept := make([]Kept, 0, len(all)) // what cannot be read is replaced when it is needed
	for _, m := range all {
		info, err := os.Stat(d.pathOf(m) + manifestSuffix)
		if err == nil {
			kept = append(kept, Kept{m, info.ModTime()})
		}
	}
	return kept, nil
}

func (d *Dir) pathOf(m Manifest) string {
	return filepath.Join(d.root, m.Family+"-"+m.Dataset, fileName(m.Shard))
}

// Touch notes that a shard is used now.
func (d *Dir) Touch(m Manifest) error {
	now := time.Now()
	return os.Chtimes(d.pathOf(m)+manifestSuffix, now, now)
}

// Discard removes a shard, the manifest first; one that is not there is no error. Mappings of
// it stay.
func (d *Dir) Discard(m Manifest) error {
	base := d.pathOf(m)
	for _, path := range []string{base + manifestSuffix, dataPath(base, m.Origin)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
