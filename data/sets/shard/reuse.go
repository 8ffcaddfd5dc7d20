package shard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Newest yields the readable manifests of every data set of a family, that of the last change
// first.
func (d *Dir) Newest(family string) iter.Seq[[]Manifest] {
	return func(yield func([]Manifest) bool) {
		sets, err := d.sets()
		if err != nil {
			return
		}
		type dated struct {
			set
			changed time.Time
		}
		var all []dated
		for _, s := range sets {
			if s.family != family || checkDir(s.path, s.hash) != nil {
				continue
			}
			if info, err := os.Stat(s.path); err == nil {
				all = append(all, dated{s, info.ModTime()})
			}
		}
		slices.SortStableFunc(all, func(a, b dated) int { return b.changed.Compare(a.changed) })
		for _, s := range all {
			manifests, _ := manifestsIn(s.path, s.hash) // others are not readable
			if !yield(manifests) {
				return
			}
		}
	}
}

// Link makes the shard that h describes of another data set's shard with the same functions,
// without copying: both have one file. The caller has verified that shard. It fails where the
// file system does not link files, and leaves nothing then.
func (d *Dir) Link(h Header, of Manifest) error {
	if err := h.Validate(); err != nil {
		return err
	}
	same := h
	same.Dataset, same.Shard = of.Dataset, of.Shard
	if !same.equal(of.Header) {
		return fmt.Errorf("shard %d: it is not shard %d of %.12s", h.Shard, of.Shard, of.Dataset)
	}
	from, err := d.base(of.Dataset, of.Shard)
	if err != nil {
		return err
	}
	dir := filepath.Join(d.root, h.Family+"-"+h.Dataset)
	if err := makeDir(dir, h.Dataset); err != nil {
		return err
	}
	base := filepath.Join(dir, fileName(h.Shard))
	if err := checkFiles(base); err != nil {
		return err
	}
	m := of
	m.Header, m.CreatedBy = h, "ergoflow "+ergoflow.Version
	m.Origin = cmp.Or(of.Origin, &Origin{of.Dataset, of.Shard})
	data := dataPath(base, m.Origin)
	if err := link(dataPath(from, of.Origin), data); err != nil {
		return err
	}
	return writeManifest(base, m)
}

// link makes a second name of a file. It replaces a damaged file, and keeps one that another
// writer linked.
func link(from, to string) error {
	want, err := os.Stat(from)
	if err != nil {
		return err
	}
	if there, err := os.Lstat(to); err == nil && !os.SameFile(there, want) {
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Link(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// equal compares headers.
func (h Header) equal(o Header) bool {
	if len(h.Fields) == 0 && len(o.Fields) == 0 {
		h.Fields, o.Fields = nil, nil
	}
	return reflect.DeepEqual(h, o)
}
