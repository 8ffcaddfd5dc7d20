package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/internal/upkeep"
	"github.com/ergoflow/ergoflow/worker/peer"
)

// shards is where a worker maps shards, and makes them. They are in a directory that all
// machines see, or come from a depot and are copied to this machine's cache.
type shards struct {
	dir   *shard.Dir
	depot *depot.Depot // nil: dir is the store
	cache *depot.Cache // of the depot; its directory is dir

	location string
	store    store.Store // behind depot
}

// shardsAt opens the shards of an order. It keeps what is open from the order before, if that
// had the same location. Orders come one after the other.
func (w *worker) shardsAt(ctx context.Context, location string) (*shards, error) {
	if w.shards != nil && w.shards.location == location {
		return w.shards, nil
	}
	w.closeShards()
	l, err := store.Parse(location)
	if err != nil {
		return nil, err
	}
	s := &shards{location: location}
	if l.Scheme == store.File {
		s.dir = shard.NewDir(l.Dir)
		w.shards = s
		return s, nil
	}
	cache, err := w.cache()
	if err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, l, store.Options{Access: jobs.Access{Credentials: w.trust, Files: w.natsFiles}, Wait: true}); err != nil {
		return nil, fmt.Errorf("shard store: %w", err)
	}
	if s.cache, err = depot.OpenCache(cache, w.cacheBytes, w.log); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.dir, s.depot = s.cache.Dir(), depot.New(s.store)
	w.copies.Store(s.dir)
	w.log.Info("shards are copied from a store", "store", s.store, "cache", s.dir.Root())
	w.shards = s
	return s, nil
}

// others are the other workers that the gossip knows, which may have copies of shards.
func (w *worker) others() (others []message.Member) {
	for _, m := range w.gossip.Load().Members() {
		if m.Meta.Role == gossip.RoleWorker && m.Name != string(w.id) {
			others = append(others, message.Member{ID: ergoflow.WorkerID(m.Name), DataAddress: m.Meta.DataAddress})
		}
	}
	return others
}

// cache is the directory for copies.
func (w *worker) cache() (string, error) {
	if w.cacheDir != "" {
		return w.cacheDir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache of shards: %w: name a directory (--shard-cache)", err)
	}
	return filepath.Join(user, "ergoflow", "shards"), nil
}

// closeShards closes what shardsAt has opened. Mappings stay.
func (w *worker) closeShards() {
	w.copies.Store(nil)
	if s := w.shards; s != nil && s.depot != nil {
		if err := errors.Join(s.cache.Close(), s.store.Close()); err != nil {
			w.log.Warn("cannot close the store", "error", err)
		}
	}
	w.shards = nil
}

const (
	storePause    = 5 * time.Second  // before another attempt at a store that fails
	storePatience = 10 * time.Minute // after which a worker that cannot read a run's shards gives up
)

// fill copies the shards of a run to this machine, unless they are in a directory. It waits for a
// store that fails.
func (s *shards) fill(ctx context.Context, w *worker, plan ergoflow.Plan) error {
	if s.depot == nil {
		return nil
	}
	all := make([]int, plan.Shards)
	for k := range all {
		all[k] = k
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	others := peer.NewCopies(w.rings, w.others)
	s.depot.AskFirst(others)
	defer func() {
		s.depot.AskFirst(nil)
		_ = others.Close() // nothing is under way
	}()
	return upkeep.Until(ctx, storePause, func() (bool, error) {
		err := s.cache.Fill(ctx, s.depot, plan.Dataset, all...)
		return errors.Is(err, depot.ErrSmall) || errors.Is(err, shard.ErrCorrupt), err
	}, func(err error) { w.log.Warn("cannot copy the shards from the store; trying again", "error", err) })
}

// fetchImports copies imports to this machine. It waits for a store that fails.
func (s *shards) fetchImports(ctx context.Context, w *worker, hashes []string, waits func(what string)) error {
	err := upkeep.Until(ctx, storePause, func() (bool, error) {
		err := s.depot.FetchImports(ctx, s.dir, hashes...)
		waiting := ""
		if err != nil {
			waiting = fmt.Sprintf("waits for the store: %v", err)
		}
		waits(waiting)
		return errors.Is(err, store.ErrDenied) || errors.Is(err, imports.ErrMissing) || errors.Is(err, imports.ErrCorrupt) || disk.Full(err), err
	}, func(err error) { w.log.Warn("cannot copy imports from the store; trying again", "error", err) })
	if errors.Is(err, imports.ErrMissing) || errors.Is(err, imports.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", data.ErrImports, err)
	}
	return err
}

// upload copies a shard that this worker made into the store, and makes room in the cache. It
// waits for a store that fails, but where that refuses the worker's credentials: another
// worker's may be good.
func (s *shards) upload(ctx context.Context, w *worker, dataset string, k int, waits func(what string)) error {
	if s.depot == nil {
		return nil
	}
	err := upkeep.Until(ctx, storePause, func() (bool, error) {
		err := s.depot.Upload(ctx, s.dir, dataset, k)
		if err != nil {
			waits(fmt.Sprintf("waits for the store: %v", err))
		} else {
			waits("")
		}
		return errors.Is(err, store.ErrDenied) || errors.Is(err, shard.ErrCorrupt) || errors.Is(err, shard.ErrNotFound), err
	}, func(err error) { w.log.Warn("cannot copy a shard into the store; trying again", "error", err) })
	if errors.Is(err, shard.ErrCorrupt) {
		if m, read := s.dir.Manifest(dataset, k); read == nil { // the next attempt makes it again
			err = errors.Join(err, s.dir.Discard(m))
		}
	}
	return errors.Join(err, s.cache.Trim())
}
