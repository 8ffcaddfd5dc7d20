package depot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/filelock"
)

// ErrSmall means that a cache is too small for the shards of a run.
var ErrSmall = errors.New("the cache is too small")

// Cache is the copies of shards on a machine, in a directory of one process. It is bounded: the
// shards that were used longest ago make room for others, but for those of the data set that is
// in use.
type Cache struct {
	dir   *shard.Dir
	bytes int64
	lock  *os.File
	log   *slog.Logger

	mu  sync.Mutex // held while shards come or go
	use string     // data set that is mapped
}

// maxCaches bounds the processes that share a directory.
const maxCaches = 1024

// OpenCache takes a directory of its own in dir, the first that no other process has, with the
// shards that the last one left there. It keeps at most that many bytes.
func OpenCache(dir string, bytes int64, log *slog.Logger) (*Cache, error) {
	for i := range maxCaches {
		own := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(own, 0o755); err != nil {
			return nil, fmt.Errorf("cache of shards: %w", err)
		}
		lock, err := os.OpenFile(filepath.Join(own, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("cache of shards: %w", err)
		}
		taken, err := filelock.Try(lock, syscall.LOCK_EX)
		if taken {
			return &Cache{dir: shard.NewDir(own), bytes: bytes, lock: lock, log: log}, nil
		}
		lock.Close()
		if err != nil {
			return nil, fmt.Errorf("cache of shards: %w", err)
		}
	}
	return nil, fmt.Errorf("cache of shards: %d processes use %s", maxCaches, dir)
}

// Dir has the copies.
func (c *Cache) Dir() *shard.Dir { return c.dir }

// Close gives the directory to the next process. The shards stay.
func (c *Cache) Close() error { return c.lock.Close() }

// Fill copies shards of a data set from the depot, but for those that are there. It makes room
// first. They stay until it is called for another data set. It fails with ErrSmall where they do
// not fit, before it copies any.
func (c *Cache) Fill(ctx context.Context, from *Depot, dataset string, shards ...int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use = dataset
	contents := make([][]byte, len(shards))
	manifests := make([]shard.Manifest, len(shards))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(4 * copies)
	for i, k := range shards {
		group.Go(func() (err error) {
			manifests[i], contents[i], err = from.manifest(groupCtx, dataset, k)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var all, missing int64
	var fetch [][]byte // manifests
	for i, m := range manifests {
		all += m.Bytes
		if c.has(m) {
			if err := c.dir.Touch(m); err != nil {
				return err
			}
			continue
		}
		fetch = append(fetch, contents[i])
		missing += m.Bytes
	}
	if all > c.bytes {
		return fmt.Errorf("%w: the shards take %s, and it has %s", ErrSmall, humanize.IBytes(uint64(all)), humanize.IBytes(uint64(c.bytes)))
	}
	if err := c.makeRoom(missing); err != nil {
		return err
	}
	return c.fetch(ctx, from, fetch, missing)
}

// fetch copies shards.
func (c *Cache) fetch(ctx context.Context, from *Depot, manifests [][]byte, bytes int64) error {
	if len(manifests) == 0 {
		return nil
	}
	begin := time.Now()
	// Workers that begin together fetch different shards first, and then have them for each other.
	// The order is not a function of the run's seed: each process needs another one, and nothing
	// but the order of transfers depends on it.
	rand.Shuffle(len(manifests), func(i, j int) { manifests[i], manifests[j] = manifests[j], manifests[i] })
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(copies)
	for _, content := range manifests {
		group.Go(func() error { return from.Download(groupCtx, c.dir, content) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.log.Info("shards fetched", "store", from, "shards", len(manifests), "bytes", bytes, "seconds", time.Since(begin).Seconds())
	return nil
}

// has reports whether a copy with the same bytes is there.
func (c *Cache) has(m shard.Manifest) bool {
	there, err := c.dir.Manifest(m.Dataset, m.Shard)
	return err == nil && there.SHA256 == m.SHA256 && c.dir.Has(m.Dataset, m.Shard)
}

// Trim removes shards until the cache is within its bound, but for those in use.
func (c *Cache) Trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.makeRoom(0)
}

// makeRoom removes shards that are not in use until there is room for bytes; mu is held.
func (c *Cache) makeRoom(bytes int64) error {
	kept, err := c.dir.Kept()
	if kept == nil && err != nil {
		return err
	}
	slices.SortFunc(kept, compareUsed)
	total := bytes
	for _, k := range kept {
		total += k.Bytes
	}
	for _, k := range kept {
		if total <= c.bytes {
			break
		}
		if k.Dataset == c.use {
			continue
		}
		if err := c.dir.Discard(k.Manifest); err != nil {
			return err
		}
		total -= k.Bytes
	}
	return nil
}
