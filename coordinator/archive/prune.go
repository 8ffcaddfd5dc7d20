package archive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/store"
)

// Prune keeps of a run what checkpoint.Store.Prune keeps, and deletes the others. Those whose
// record is damaged stay. It fails with ErrTaken where another coordinator has taken over.
func (a *Archive) Prune(ctx context.Context, run string, keep, best int) (deleted int, err error) {
	entries, err := a.Entries(ctx, run)
	if err != nil || len(entries) <= keep {
		return 0, err
	}
	slices.Reverse(entries)
	var known []Entry
	var infos []checkpoint.Info
	for _, e := range entries {
		info, err := Describe(ctx, a.store, e)
		if errors.Is(err, ErrCorrupt) {
			continue
		}
		if err != nil {
			return 0, err
		}
		known, infos = append(known, e), append(infos, info)
	}
	for _, i := range checkpoint.Superfluous(infos, keep, best) {
		if err := a.delete(ctx, known[i]); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// delete removes a record, and then the chunks that no other record of the state names.
func (a *Archive) delete(ctx context.Context, e Entry) error {
	if err := a.Held(ctx); err != nil {
		return err
	}
	if err := a.store.Delete(ctx, e.key()); err != nil {
		return err
	}
	objects, err := a.store.List(ctx, e.folder())
	if err != nil {
		return err
	}
	_, err = a.sweep(ctx, objects, func(o store.Object) bool { return strings.HasPrefix(o.Key, e.chunk("")) }) // step 10 begins as step 100 does
	return err
}

// Sweep removes chunks that no record names and that were put before a time: of interrupted
// saves. It returns their number, and fails with ErrTaken where another coordinator has taken
// over.
func (a *Archive) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	if err := a.Held(ctx); err != nil {
		return 0, err
	}
	objects, err := a.store.List(ctx, root+a.cluster+"/run/")
	if err != nil {
		return 0, err
	}
	return a.sweep(ctx, objects, func(o store.Object) bool { return o.Made.Before(before) })
}

// sweep removes chunks that no record among the objects names, of those that may go.
func (a *Archive) sweep(ctx context.Context, objects []store.Object, may func(store.Object) bool) (removed int, err error) {
	states := make(map[string]*state) // by folder
	at := func(e Entry) *state {
		s := states[e.folder()]
		if s == nil {
			s = new(state)
			states[e.folder()] = s
		}
		return s
	}
	for _, o := range objects {
		e, chunk, ok := parse(o.Key)
		switch {
		case !ok:
		case chunk == "":
			at(e).records = append(at(e).records, e)
		case may(o):
			at(e).chunks = append(at(e).chunks, o.Key)
		}
	}
	for _, s := range states {
		if len(s.chunks) == 0 {
			continue
		}
		used, err := a.names(ctx, s.records)
		if errors.Is(err, ErrCorrupt) {
			continue // what it names is not known
		}
		if err != nil {
			return removed, err
		}
		for _, key := range s.chunks {
			if used[key] {
				continue
			}
			if err := a.store.Delete(ctx, key); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// state is what there is of a state of a run.
type state struct {
	records []Entry
	chunks  []string // keys
}

// names are the keys of the chunks that records name.
func (a *Archive) names(ctx context.Context, records []Entry) (map[string]bool, error) {
	keys := make(map[string]bool)
	for _, e := range records {
		r, err := describe(ctx, a.store, e)
		if err != nil {
			return nil, err
		}
		for _, sum := range r.Chunks {
			keys[e.chunk(sum)] = true
		}
	}
	return keys, nil
}
