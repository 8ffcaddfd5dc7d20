package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

// shards is where the coordinator looks for shards. It reads none of them.
type shards interface {
	// Present lists those of the first n shards of a data set that are committed.
	Present(ctx context.Context, dataset string, n int) ([]int, error)
	// Has reports whether a shard is committed.
	Has(ctx context.Context, dataset string, shard int) (bool, error)
	String() string
}

// directory is shards in a directory that all machines see.
type directory struct{ dir *shard.Dir }

func (d directory) String() string { return "the store " + d.dir.Root() }

func (d directory) Has(_ context.Context, dataset string, k int) (bool, error) {
	return d.dir.Has(dataset, k), nil
}

func (d directory) Present(ctx context.Context, dataset string, n int) (present []int, err error) {
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if d.dir.Has(dataset, k) {
			present = append(present, k)
		}
	}
	return present, nil
}

// parseStore reads the location of the shards: of a directory, its absolute path. Of a bucket in
// the embedded servers it has one replica, which each of the coordinators keeps.
func parseStore(text string, embedded bool, coordinators int) (store.Location, error) {
	l, err := store.Parse(text)
	if err != nil {
		return l, err
	}
	if l.Scheme == store.File {
		if l.Dir, err = filepath.Abs(l.Dir); err != nil {
			return l, fmt.Errorf("shard store %s: %w", text, err)
		}
	}
	if l.Scheme == store.NATS && l.Server == "" && embedded {
		if l.Replicas > coordinators {
			return l, fmt.Errorf("store %s: each coordinator keeps one replica in its embedded server, and there are %d: %d replicas need --peers, or a cluster of servers, which --nats names", l, coordinators, l.Replicas)
		}
		l.Replicas = 1
	}
	return l, nil
}

// keepsObjects reports whether the embedded server keeps the shards, too.
func (c Config) keepsObjects() bool {
	return c.location.Scheme == store.NATS && c.location.Server == "" && c.NATS == ""
}

// openStore opens the shards for the coordinator, and says where workers find them. Where they
// are objects in a store, it returns that, too.
func openStore(ctx context.Context, c Config, natsURL string, own jobs.Access, closing *closer) (in shards, objects store.Store, location string, err error) {
	l := c.location
	if l.Scheme == store.File {
		return directory{shard.NewDir(l.Dir)}, nil, l.Dir, nil
	}
	l.Cluster = "" // workers have no checkpoints there
	if l.Scheme == store.NATS && l.Server == "" {
		l.Server, l.Domain = natsURL, cmp.Or(l.Domain, c.NATSDomain)
	}
	s, err := store.Open(ctx, l, store.Options{Access: own, Create: true})
	if err != nil {
		return nil, nil, "", fmt.Errorf("shard store: %w", err)
	}
	closing.add(s.Close)
	if err := store.Probe(ctx, s, rand.Text()); err != nil {
		return nil, nil, "", fmt.Errorf("shard store: %w", err)
	}
	return depot.New(s), s, l.String(), nil
}

const (
	sweepInterval = time.Hour
	// grace is how old data must be that no manifest names before they are removed. A writer of
	// a shard is faster.
	grace = 24 * time.Hour
)

// sweepStore removes what interrupted writers left in a store until ctx ends.
func sweepStore(ctx context.Context, d *depot.Depot, log *slog.Logger) {
	upkeep.Every(ctx, sweepInterval, func(ctx context.Context) error {
		removed, err := d.Sweep(ctx, time.Now().Add(-grace))
		if removed > 0 {
			log.Info("removed what interrupted writers left in the store", "objects", removed)
		}
		return err
	}, upkeep.Log(log, "removal of what interrupted writers left in the store"))
}

// storePause is before another look at a store that does not answer.
const storePause = 5 * time.Second

// presentShards lists those of the first n shards of a data set that are there, and waits for a store
// that does not answer. Before any counts as missing, other coordinators are asked for theirs. It
// fails when ctx ends.
func (l *loop) presentShards(ctx context.Context, dataset string, n int) (present []int, err error) {
	present, err = l.listShards(ctx, dataset, n)
	if err == nil && len(present) < n && l.bucket != nil {
		l.collected.Do(func() { l.bucket.collect(ctx) })
		present, err = l.listShards(ctx, dataset, n)
	}
	return present, err
}

func (l *loop) listShards(ctx context.Context, dataset string, n int) (present []int, err error) {
	err = upkeep.Until(ctx, storePause, func() (final bool, err error) {
		present, err = l.store.Present(ctx, dataset, n)
		return false, err
	}, func(err error) { l.log.Warn("cannot list the shards in the store; trying again", "error", err) })
	return present, err
}
