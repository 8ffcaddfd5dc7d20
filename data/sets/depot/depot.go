// Package depot keeps shards in a store of objects, and copies of them on machines.
//
// A shard is two objects. The manifest is put when the data are there, and commits the shard.
// The data's key has their hash, so that what a writer of other bytes left is no harm:
//
//	shards/<data set>/shard-00007.<SHA-256>.safetensors
//	shards/<data set>/shard-00007.json
//
// A copy is verified by the manifest's SHA-256 before anything reads it. Nothing that a store
// says is believed.
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
	"strconv"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
)

// Depot is the shards in a store. It is safe for concurrent use.
type Depot struct {
	store store.Store
	slots chan struct{} // bounds the copies under way
	peers Peers         // which a download asks before the store; nil: none

	arriving sync.Map // keys of shards that calls of Replicate copy
}

// Peers are others that have copies of shards.
type Peers interface {
	// Read begins to read a shard's data from an offset on. What it reads may be wrong.
	Read(ctx context.Context, m shard.Manifest, offset int64) (io.ReadCloser, error)
}

// AskFirst has copies come from peers where they have them, until it is called again. It is not
// called while copies are under way.
func (d *Depot) AskFirst(p Peers) { d.peers = p }

const copies = 4 // of data, at a time

// New uses a store, which the caller closes.
func New(s store.Store) *Depot { return &Depot{store: s, slots: make(chan struct{}, copies)} }

// begin waits until a copy may begin.
func (d *Depot) begin(ctx context.Context) error {
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Depot) end() { <-d.slots }

// String names the store.
func (d *Depot) String() string { return d.store.String() }

const (
	root           = "shards/"
	manifestSuffix = ".json"
	dataSuffix     = ".safetensors"
)

func folder(dataset string) string { return root + dataset + "/" }

func keyOf(dataset string, k int) string { return fmt.Sprintf("%sshard-%05d", folder(dataset), k) }

func dataKey(m shard.Manifest) string {
	return keyOf(m.Dataset, m.Shard) + "." + m.SHA256 + dataSuffix
}

// entry is what a store has of a shard.
type entry struct {
	dataset  string
	number   int
	manifest bool
	data     []store.Object
}

// committed reports whether a shard has a manifest and data; a nil entry is of none.
func (e *entry) committed() bool { return e != nil && e.manifest && len(e.data) > 0 }

// ours are the keys of shards: the shard's, which folder and number make, and a suffix. A bucket
// may have other objects.
var ours = regexp.MustCompile(`^(shards/([0-9a-f]{16,64})/shard-([0-9]{5}))(\.json|\.[0-9a-f]{64}\.safetensors)$`)

// entries are what a listing has of each shard, by the key without suffixes.
func entries(list []store.Object) map[string]*entry {
	all := make(map[string]*entry)
	for _, o := range list {
		parts := ours.FindStringSubmatch(o.Key)
		if parts == nil {
			continue
		}
		e := all[parts[1]]
		if e == nil {
			number, _ := strconv.Atoi(parts[3]) // five digits
			e = &entry{dataset: parts[2], number: number}
			all[parts[1]] = e
		}
		if parts[4] == manifestSuffix {
			e.manifest = true
		} else {
			e.data = append(e.data, o)
		}
	}
	return all
}

// Present lists those of the first n shards of a data set that are committed and have data, in
// order.
func (d *Depot) Present(ctx context.Context, dataset string, n int) (shards []int, err error) {
	list, err := d.store.List(ctx, folder(dataset))
	if err != nil {
		return nil, err
	}
	all := entries(list)
	for k := range n {
		if all[keyOf(dataset, k)].committed() {
			shards = append(shards, k)
		}
	}
	return shards, nil
}

// Has reports whether a shard is committed and its data have the length that its manifest says.
// A manifest that is damaged counts as missing: Upload replaces it.
func (d *Depot) Has(ctx context.Context, dataset string, k int) (bool, error) {
	m, _, err := d.manifest(ctx, dataset, k)
	if errors.Is(err, shard.ErrNotFound) || errors.Is(err, shard.ErrCorrupt) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return d.hasData(ctx, m)
}

func (d *Depot) hasData(ctx context.Context, m shard.Manifest) (bool, error) {
	o, err := d.store.Stat(ctx, dataKey(m))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && o.Bytes == m.Bytes, err
}

// manifest reads a shard's manifest, and its content; shard.ErrNotFound if there is none.
func (d *Depot) manifest(ctx context.Context, dataset string, k int) (m shard.Manifest, content []byte, err error) {
	key := keyOf(dataset, k) + manifestSuffix
	if content, err = d.small(ctx, key, shard.MaxManifest, shard.ErrNotFound, shard.ErrCorrupt); err != nil {
		return m, nil, err
	}
	m, err = shard.ParseManifest(fmt.Sprintf("%s in %s", key, d), content)
	if err == nil && (m.Dataset != dataset || m.Shard != k) {
		err = fmt.Errorf("%s in %s: %w: it is of shard %d of %s", key, d, shard.ErrCorrupt, m.Shard, m.Dataset)
	}
	return m, content, err
}

// small reads an object of at most so many bytes. It fails with missing where there is none, and
// with corrupt where it is longer.
func (d *Depot) small(ctx context.Context, key string, most int64, missing, corrupt error) ([]byte, error) {
	o, err := d.store.Stat(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("%s in %s: %w", key, d, missing)
	case err != nil:
		return nil, err
	case o.Bytes > most:
		return nil, fmt.Errorf("%s in %s: %w: %d bytes", key, d, corrupt, o.Bytes)
	}
	return store.Read(ctx, d.store, o.Key, o.Bytes)
}

// Upload copies a shard from a directory into the store, unless that has it. Where another
// writer committed the shard with other bytes, that one stays, and is what Download copies. It
// fails with shard.ErrCorrupt where the directory's shard is damaged.
func (d *Depot) Upload(ctx context.Context, from *shard.Dir, dataset string, k int) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end()
	if err := from.Verify(ctx, dataset, k); err != nil { // damage would be for all
		return err
	}
	m, content, data, err := from.Copy(dataset, k)
	if err != nil {
		return err
	}
	defer data.Close()
	if err := d.putData(ctx, m, data); err != nil {
		return err
	}
	for {
		err := d.store.Put(ctx, keyOf(dataset, k)+manifestSuffix, bytes.NewReader(content), int64(len(content)))
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		there, _, err := d.manifest(ctx, dataset, k)
		if errors.Is(err, shard.ErrNotFound) { // deleted since
			continue
		}
		whole := false
		if err == nil {
			whole, err = d.hasData(ctx, there)
		}
		if whole || err != nil && !errors.Is(err, shard.ErrCorrupt) {
			return err
		}
		// A manifest that is damaged, or without its data: make room for this one.
		if err := d.store.Delete(ctx, keyOf(dataset, k)+manifestSuffix); err != nil {
			return err
		}
	}
}

// putData puts a shard's data, unless they are there.
func (d *Depot) putData(ctx context.Context, m shard.Manifest, data io.ReaderAt) error {
	err := d.store.Put(ctx, dataKey(m), data, m.Bytes)
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	whole, err := d.hasData(ctx, m)
	if err != nil || whole {
		return err
	}
	return fmt.Errorf("%s in %s: %w: it is there with another length; delete it", dataKey(m), d, shard.ErrCorrupt)
}

// Sweep removes what interrupted writers left before a time: data that no manifest names, and
// puts that did not end. It returns their number.
func (d *Depot) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	for _, folder := range []string{root, importsRoot} {
		puts, err := d.store.Sweep(ctx, folder, before)
		removed += puts
		if err != nil {
			return removed, err
		}
	}
	swept, err := d.sweepImports(ctx, before)
	removed += swept
	if err != nil {
		return removed, err
	}
	list, err := d.store.List(ctx, root)
	if err != nil {
		return removed, err
	}
	for _, e := range entries(list) {
		old := slices.DeleteFunc(e.data, func(o store.Object) bool { return !o.Made.Before(before) })
		if len(old) == 0 || e.manifest && len(e.data) == 1 {
			continue // of a shard, or too new
		}
		named := ""
		if e.manifest {
			m, _, err := d.manifest(ctx, e.dataset, e.number)
			if err != nil {
				continue // what it names is not known
			}
			named = dataKey(m)
		}
		for _, o := range old {
			if o.Key == named {
				continue
			}
			if err := d.store.Delete(ctx, o.Key); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// compareUsed orders shards of a cache, that of the longest ago first.
func compareUsed(a, b shard.Kept) int {
	return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.Shard, b.Shard))
}
