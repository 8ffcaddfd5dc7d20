package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/store"
)

// All lists the checkpoints of all clusters in a store: by cluster and run, and of a run the most
// advanced first.
func All(ctx context.Context, s store.Store) ([]Entry, error) { return list(ctx, s, root) }

// Entries lists the cluster's checkpoints of a run, the most advanced first; of all runs if that
// is empty.
func (a *Archive) Entries(ctx context.Context, run string) ([]Entry, error) {
	prefix := root + a.cluster + "/run/"
	if run != "" {
		if !named.MatchString(run) { // none has been stored
			return nil, nil
		}
		prefix += run + "/"
	}
	return list(ctx, a.store, prefix)
}

func list(ctx context.Context, s store.Store, prefix string) (all []Entry, err error) {
	objects, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if e, chunk, ok := parse(o.Key); ok && chunk == "" {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Run, b.Run), b.Mark.Compare(a.Mark), cmp.Compare(a.sum, b.sum))
	})
	return all, nil
}

// get reads an object of at most that many bytes and compares its SHA-256; ErrCorrupt if the
// store has other bytes, or none.
func get(ctx context.Context, s store.Store, key, sum string, most int64) ([]byte, error) {
	o, err := s.Stat(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	if o.Bytes > most {
		return nil, fmt.Errorf("%s in %s: %w: %d bytes, at most %d", key, s, ErrCorrupt, o.Bytes, most)
	}
	b, err := store.Read(ctx, s, key, o.Bytes)
	if err != nil {
		return nil, err
	}
	if got := sumOf(b); got != sum {
		return nil, fmt.Errorf("%s in %s: %w: its SHA-256 is %s", key, s, ErrCorrupt, got)
	}
	return b, nil
}

// Describe reads the record of a checkpoint; ErrCorrupt if it is damaged.
func Describe(ctx context.Context, s store.Store, e Entry) (checkpoint.Info, error) {
	r, err := describe(ctx, s, e)
	return r.Checkpoint, err
}

func describe(ctx context.Context, s store.Store, e Entry) (r record, err error) {
	content, err := get(ctx, s, e.key(), e.sum, maxRecord)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("%s in %s: %w: %w", e.key(), s, ErrCorrupt, err)
	}
	if err := ergoflow.CheckFormat(fmt.Sprintf("%s in %s", e.key(), s), r.Format, format); err != nil {
		return r, err
	}
	if r.Format != format {
		return r, fmt.Errorf("%s in %s: %w: a checkpoint of format %d, this program reads format %d", e.key(), s, ergoflow.ErrOlder, r.Format, format)
	}
	i := r.Checkpoint
	if i.Run != e.Run || i.Mark() != e.Mark || i.Size < 1 || i.Size > checkpoint.MaxSize || r.Chunk < 1 || r.Chunk > store.Exclusive || int64(len(r.Chunks)) != (i.Size+r.Chunk-1)/r.Chunk {
		return r, fmt.Errorf("%s in %s: %w: it describes another one, or none: run %.12q at %s, %d bytes in %d chunks of %d", e.key(), s, ErrCorrupt, i.Run, i.Mark(), i.Size, len(r.Chunks), r.Chunk)
	}
	return r, nil
}

// Read reads a checkpoint and verifies its record, each chunk and the whole; ErrCorrupt if it is
// damaged. It is in memory.
func Read(ctx context.Context, s store.Store, e Entry) (info checkpoint.Info, data []byte, err error) {
	r, err := describe(ctx, s, e)
	if err != nil {
		return info, nil, err
	}
	data = make([]byte, r.Checkpoint.Size)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(reads)
	for i, sum := range r.Chunks {
		group.Go(func() error {
			into := data[int64(i)*r.Chunk : min(int64(i+1)*r.Chunk, r.Checkpoint.Size)]
			chunk, err := get(groupCtx, s, e.chunk(sum), sum, r.Chunk)
			if err == nil && len(chunk) != len(into) {
				err = fmt.Errorf("%s in %s: %w: %d bytes, want %d", e.chunk(sum), s, ErrCorrupt, len(chunk), len(into))
			}
			copy(into, chunk)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return info, nil, err
	}
	if got := sumOf(data); got != r.Checkpoint.SHA256 {
		return info, nil, fmt.Errorf("%s in %s: %w: the SHA-256 of the whole is %s", e.key(), s, ErrCorrupt, got)
	}
	return r.Checkpoint, data, nil
}
