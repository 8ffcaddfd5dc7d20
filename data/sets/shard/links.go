package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The rule for symbolic links: the store may be one, and so may a data set's directory, to
// keep it on another disk. But every directory belongs to one data set. A link that leads
// to the directory of another one, by that directory's name or by the shards in it, is
// refused where it is read and where it would be written through: the shards of one data
// set would replace the other's. So is a link in the place of a shard's file, for writers.

// ErrLink means that a symbolic link in the store is not one of those.
var ErrLink = errors.New("refused symbolic link")

// dirOf is the family and the data set that own a directory of that name.
func dirOf(name string) (family, hash string, ok bool) {
	family, hash, ok = strings.Cut(name, "-")
	return family, hash, ok && isName(family) && checkHash(hash) == nil
}

// set is a data set's directory in the store.
type set struct{ path, family, hash string }

// sets are the directories of data sets, sorted by name; not checked by checkDir.
func (d *Dir) sets() (all []set, err error) {
	entries, err := os.ReadDir(d.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if family, hash, ok := dirOf(e.Name()); ok {
			all = append(all, set{filepath.Join(d.root, e.Name()), family, hash})
		}
	}
	return all, nil
}

// checkDir fails where a data set's directory is none, and with ErrLink where it is a link to
// nothing or to the directory of another data set.
func checkDir(dir, hash string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return nil
	}
	target, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		target, _ = os.Readlink(dir)
		return fmt.Errorf("%w: %s leads to %s, which does not exist", ErrLink, dir, target)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLink, dir, err)
	}
	if info, err = os.Stat(target); err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s leads to %s, which is not a directory", ErrLink, dir, target)
	}
	_, owner, named := dirOf(filepath.Base(target))
	if !named {
		owner = ownerOf(target)
	}
	if owner != "" && owner != hash {
		return fmt.Errorf("%w: %s leads to %s, which belongs to data set %.12s", ErrLink, dir, target, owner)
	}
	return nil
}

// ownerOf is the data set of the shards in a directory; empty if there are none.
func ownerOf(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "shard-") && strings.HasSuffix(e.Name(), manifestSuffix) {
			if m, _, err := readManifest(filepath.Join(dir, e.Name())); err == nil {
				return m.Dataset
			}
		}
	}
	return ""
}

// checkFiles fails with ErrLink where one of a shard's files is a link: a writer would replace
// what it leads to.
func checkFiles(base string) error {
	for _, path := range []string{base + dataSuffix, base + manifestSuffix} {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if err != nil {
			return err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %s leads to %s, and a writer would replace that", ErrLink, path, target)
	}
	return nil
}
