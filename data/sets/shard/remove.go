package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sets are the data sets that the store has a directory for.
func (d *Dir) Sets() (hashes []string, err error) {
	sets, err := d.sets()
	for _, s := range sets {
		hashes = append(hashes, s.hash)
	}
	return hashes, err
}

// Remove removes a data set with all its shards; one that is not there is no error. Manifests go
// first, so that no reader finds a shard without its data. A directory that is a symbolic link
// is left, with ErrLink.
func (d *Dir) Remove(hash string) error {
	sets, err := d.sets()
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s.hash != hash {
			continue
		}
		if err := removeSet(s.path); err != nil {
			return fmt.Errorf("remove data set %.12s: %w", hash, err)
		}
	}
	return nil
}

func removeSet(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s", ErrLink, dir)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), manifestSuffix) {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}
