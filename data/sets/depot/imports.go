package depot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// An import is three objects. The functions are put first. Their file's bytes follow from the hash.
// The record is there under the hash, for those who make shards, and under the name, which commits
// the import, for those who list.
//
//	imports/<hash>.safetensors
//	imports/<hash>.json
//	imports/<name>/<hash>.json
const importsRoot = "imports/"

var ourImports = regexp.MustCompile(`^imports/(?:([a-z0-9][a-z0-9_-]{0,63})/)?([0-9a-f]{32})(\.json|\.safetensors)$`)

// UploadImports copies the imports of a name from a directory into the store, unless that has
// them, and returns how many it copied. It fails with imports.ErrCorrupt where one is damaged.
func (d *Depot) UploadImports(ctx context.Context, from *shard.Dir, name string) (copied int, err error) {
	list, err := imports.List(from, name)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		key := importsRoot + name + "/" + r.Hash + manifestSuffix
		_, err := d.store.Stat(ctx, key)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return copied, err
		}
		if err := d.uploadImport(ctx, from, r, key); err != nil {
			return copied, err
		}
		copied++
	}
	return copied, nil
}

func (d *Depot) uploadImport(ctx context.Context, from *shard.Dir, r imports.Record, key string) error {
	record, data, err := r.Copy(ctx, from)
	if err != nil {
		return err
	}
	defer data.Close()
	info, err := data.Stat()
	if err != nil {
		return err
	}
	put := func(key string, content io.ReaderAt, size int64) error {
		err := d.store.Put(ctx, key, content, size)
		if errors.Is(err, store.ErrExists) {
			return nil
		}
		return err
	}
	if err := put(importsRoot+r.Hash+dataSuffix, data, info.Size()); err != nil {
		return err
	}
	for _, key := range []string{importsRoot + r.Hash + manifestSuffix, key} {
		if err := put(key, bytes.NewReader(record), int64(len(record))); err != nil {
			return err
		}
	}
	return nil
}

// Imports lists the imports of a name, the newest last; of all names if that is empty. It returns
// what it can read: the error joins one for each record that is damaged, and imports.ErrCorrupt is
// among them.
func (d *Depot) Imports(ctx context.Context, name string) ([]imports.Record, error) {
	prefix := importsRoot
	if name != "" {
		prefix += name + "/"
	}
	list, err := d.store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := []imports.Record{}
	var bad []error
	for _, o := range list {
		parts := ourImports.FindStringSubmatch(o.Key)
		if parts == nil || parts[1] == "" || parts[3] != manifestSuffix {
			continue
		}
		r, _, err := d.importRecord(ctx, o.Key)
		switch {
		case err == nil:
			all = append(all, r)
		case errors.Is(err, imports.ErrCorrupt):
			bad = append(bad, err)
		case !errors.Is(err, imports.ErrMissing): // that one was deleted since
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b imports.Record) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Hash, b.Hash))
	})
	return all, errors.Join(bad...)
}

// importRecord reads a record, and its content.
func (d *Depot) importRecord(ctx context.Context, key string) (r imports.Record, content []byte, err error) {
	if content, err = d.small(ctx, key, imports.MaxRecord, imports.ErrMissing, imports.ErrCorrupt); err != nil {
		return r, nil, err
	}
	r, err = imports.ParseRecord(fmt.Sprintf("%s in %s", key, d), content)
	parts := ourImports.FindStringSubmatch(key)
	if err == nil && (r.Hash != parts[2] || parts[1] != "" && r.Name != parts[1]) {
		err = fmt.Errorf("%s in %s: %w: it is of import %s", key, d, imports.ErrCorrupt, r.Hash)
	}
	return r, content, err
}

// FetchNamed copies all imports of a name into a directory. Workers of NATS may not list: see
// FetchImports.
func (d *Depot) FetchNamed(ctx context.Context, to *shard.Dir, name string) error {
	if err := imports.CheckName(name); err != nil {
		return err
	}
	list, err := d.store.List(ctx, importsRoot+name+"/")
	if err != nil {
		return err
	}
	for _, o := range list {
		if parts := ourImports.FindStringSubmatch(o.Key); parts == nil || parts[1] != name || parts[3] != manifestSuffix {
			continue
		}
		if err := d.fetchImport(ctx, to, o.Key); err != nil {
			return err
		}
	}
	return nil
}

// FetchImports copies imports into a directory, unless that has them. It fails with
// imports.ErrMissing or imports.ErrCorrupt where the store has none, or a damaged one.
func (d *Depot) FetchImports(ctx context.Context, to *shard.Dir, hashes ...string) error {
	for _, hash := range hashes {
		if err := imports.CheckHash(hash); err != nil {
			return err
		}
		if im, err := imports.Open(to, hash); err == nil {
			if err := im.Close(); err != nil {
				return err
			}
			continue
		}
		if err := d.fetchImport(ctx, to, importsRoot+hash+manifestSuffix); err != nil {
			return err
		}
	}
	return nil
}

// fetchImport copies the import of a record.
func (d *Depot) fetchImport(ctx context.Context, to *shard.Dir, key string) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end()
	r, record, err := d.importRecord(ctx, key)
	if err != nil {
		return err
	}
	data := importsRoot + r.Hash + dataSuffix
	for n := 1; ; n++ {
		err := imports.Receive(ctx, to, record, func() (io.ReadCloser, error) {
			return d.store.Get(ctx, data, 0, r.Bytes)
		})
		switch {
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("%s in %s: %w", data, d, imports.ErrMissing)
		case errors.Is(err, store.ErrRange):
			return fmt.Errorf("%w: %w", imports.ErrCorrupt, err)
		case err == nil || ctx.Err() != nil || n == attempts || lasting(err) || errors.Is(err, imports.ErrCorrupt):
			return err
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// sweepImports removes functions that no record names and that were put before a time.
func (d *Depot) sweepImports(ctx context.Context, before time.Time) (removed int, err error) {
	list, err := d.store.List(ctx, importsRoot)
	if err != nil {
		return 0, err
	}
	recorded := make(map[string]bool)
	for _, o := range list {
		if parts := ourImports.FindStringSubmatch(o.Key); parts != nil && parts[3] == manifestSuffix {
			recorded[parts[2]] = true
		}
	}
	for _, o := range list {
		parts := ourImports.FindStringSubmatch(o.Key)
		if parts == nil || recorded[parts[2]] || !o.Made.Before(before) {
			continue
		}
		if err := d.store.Delete(ctx, o.Key); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
