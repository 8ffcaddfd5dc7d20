package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Pruned is what Prune removed, or would remove.
type Pruned struct {
	Versions []Version // as List gives them
	Files    []string  // of weights, that no version names any more
	Bytes    int64     // of these files
}

// Prune keeps the newest versions of each model, those that an alias names or would name
// after one rollback, and those that are pinned. It removes the others, and then the
// weights that no version names. With dryRun it removes nothing.
func (r *Registry) Prune(ctx context.Context, keep int, dryRun bool) (removed Pruned, err error) {
	if keep < 1 {
		return removed, r.name("prune", fmt.Errorf("%w: it cannot keep %d versions", ErrInvalid, keep))
	}
	used := make(map[string]bool)
	remove := func(models *bbolt.Bucket) error {
		removed = Pruned{} // it may run again
		clear(used)
		for _, name := range modelNames(models) {
			s, err := find(models, name)
			if err != nil {
				return err
			}
			if err := s.prune(keep, dryRun, &removed, used); err != nil {
				return err
			}
		}
		return nil
	}
	if dryRun {
		if err = r.view(ctx, "prune", remove); err == nil {
			err = r.name("prune", r.clean(ctx, used, &removed, true))
		}
		return removed, err
	}
	if r.shared == nil && !Exists(r.dir) {
		return removed, r.name("prune", ErrNoRegistry)
	}
	// The file stays locked until the weights are removed: Add looks for its weights under
	// the same lock.
	err = r.change(ctx, "prune", remove, func() error { return r.clean(ctx, used, &removed, false) })
	return removed, err
}

// prune removes versions of one model, and notes the weights of those that stay.
func (s shelf) prune(keep int, dryRun bool, removed *Pruned, used map[string]bool) error {
	all, err := s.list(nil)
	if err != nil {
		return err
	}
	needed, err := s.needed()
	if err != nil {
		return err
	}
	before := len(removed.Versions)
	for i, v := range all {
		if i >= len(all)-keep || v.Pinned || needed[v.Number] {
			used[v.Weights.name()] = true
			continue
		}
		removed.Versions = append(removed.Versions, v)
		if dryRun {
			continue
		}
		if err := s.remove(v.Number); err != nil {
			return err
		}
	}
	if dryRun || len(removed.Versions) == before {
		return nil
	}
	return s.cleanConfigs()
}

// remove removes a version, and its key: what is added with this key again is a new version.
func (s shelf) remove(n int) error {
	d, err := s.details(n)
	if err == nil && d.Key != "" {
		err = s.in(bucketKeys).Delete([]byte(d.Key))
	}
	return errors.Join(err, s.in(bucketVersions).Delete(key(n)), s.in(bucketDetails).Delete(key(n)))
}

// needed are the versions that aliases name, or would name after one rollback.
func (s shelf) needed() (map[int]bool, error) {
	needed := make(map[int]bool)
	err := s.in(bucketAliases).ForEach(func(_, value []byte) error {
		var h holding
		if err := decode(value, &h); err != nil {
			return err
		}
		target, err := s.target(h)
		needed[h.Version], needed[target.Version] = true, true
		return err
	})
	return needed, err
}

// clean removes the files that no version needs.
func (r *Registry) clean(ctx context.Context, used map[string]bool, removed *Pruned, dryRun bool) error {
	if r.shared != nil {
		return r.cleanShared(ctx, used, removed, dryRun)
	}
	names, err := r.leftOver(ctx, used)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(r.weightsDir(), name)
		info, err := os.Stat(path)
		if err == nil && !dryRun {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
		removed.Files = append(removed.Files, name)
		removed.Bytes += info.Size()
	}
	if len(names) == 0 || dryRun {
		return nil
	}
	return atomicfile.SyncDir(r.weightsDir())
}
