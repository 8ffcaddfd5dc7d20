package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/upkeep"
)

// bucket is what each of several coordinators has where no other server keeps the shards: a bucket
// in its embedded server of NATS, whether it leads or not. Workers use that of the leader. Every
// coordinator copies into its own what the others' have.
type bucket struct {
	server    *jobs.Server
	url       string // of server
	location  store.Location
	access    jobs.Access
	own       *depot.Depot
	incoming  string // directory that copies pass through
	others    func() ([]consensus.Member, error)
	introduce func(ctx context.Context, addresses ...string) []consensus.Introduction
	log       *slog.Logger
}

const (
	// copyInterval is between two questions to another coordinator whether something has come to
	// its bucket. Now and then this one lists what that has in any case: its own may have lost
	// something.
	copyInterval = time.Second
	copyAnyway   = time.Minute
	// collectPatience bounds the copying for which a coordinator that begins to lead waits before
	// it has missing shards made.
	collectPatience = time.Minute
)

// openBucket opens this coordinator's bucket, if it is to have one.
func (k *coordinator) openBucket(ctx context.Context, closing *closer) error {
	if k.node == nil || !k.keepsObjects() {
		return nil
	}
	b := &bucket{location: k.location, access: jobs.Access{Credentials: k.security.credentials()},
		incoming: filepath.Join(k.Dir, "incoming"), others: k.node.Others, introduce: k.node.Introductions, log: k.Log}
	if err := os.RemoveAll(b.incoming); err != nil { // of a process that was killed
		return err
	}
	var err error
	if b.server, b.url, err = serveJobs(k.Config, k.last, k.security); err != nil {
		return err
	}
	closing.add(func() error { b.server.Close(); return nil })
	own, err := b.open(ctx, b.url, true)
	if err != nil {
		return err
	}
	closing.add(own.Close)
	b.own, k.bucket = depot.New(own), b
	return nil
}

// open opens the bucket of a server.
func (b *bucket) open(ctx context.Context, url string, create bool) (store.Store, error) {
	l := b.location
	l.Server, l.Cluster = url, ""
	s, err := store.Open(ctx, l, store.Options{Access: b.access, Create: create})
	if err != nil {
		return nil, fmt.Errorf("shard store: %w", err)
	}
	return s, nil
}

// keep copies from the others until ctx ends, from each beside the rest: one that hangs keeps none
// away.
func (b *bucket) keep(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { sweepStore(ctx, b.own, b.log) })
	copying := make(map[string]context.CancelFunc) // by the address of another coordinator
	upkeep.Every(ctx, meetInterval, func(ctx context.Context) error {
		b.server.Recheck()
		others, err := b.others()
		if err != nil {
			return err
		}
		now := make(map[string]bool)
		for _, m := range others {
			now[m.Address] = true
			if copying[m.Address] == nil {
				ctx, stop := context.WithCancel(ctx)
				copying[m.Address] = stop
				group.Go(func() { b.follow(ctx, m.Address) })
			}
		}
		for address, stop := range copying {
			if !now[address] { // it was removed
				stop()
				delete(copying, address)
			}
		}
		return nil
	}, upkeep.Log(b.log, "list of coordinators to copy shards from"))
	for _, stop := range copying {
		stop()
	}
}

// follow copies from one other coordinator until ctx ends.
func (b *bucket) follow(ctx context.Context, address string) {
	var seen uint64 // bytes there when this one had everything
	var due time.Time
	upkeep.Every(ctx, copyInterval, func(ctx context.Context) error {
		theirs := b.introduce(ctx, address)[0].Coordinator // nil: it does not answer, which others.meet reports
		if theirs.GetBucket() == "" || theirs.GetBucketBytes() == seen && time.Now().Before(due) {
			return nil
		}
		if err := b.copyFrom(ctx, address, theirs.GetBucket()); err != nil {
			return err
		}
		seen, due = theirs.GetBucketBytes(), time.Now().Add(copyAnyway)
		return nil
	}, upkeep.Log(b.log, "copying shards of the coordinator "+address))
}

// copyFrom copies what the bucket of another coordinator has and this one's lacks.
func (b *bucket) copyFrom(ctx context.Context, address, url string) (err error) {
	theirs, err := b.open(ctx, url, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()
	if err := os.MkdirAll(b.incoming, 0o755); err != nil {
		return err
	}
	by, err := os.MkdirTemp(b.incoming, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(by)) }()
	copied, err := b.own.Replicate(ctx, depot.New(theirs), shard.NewDir(by))
	if copied > 0 {
		b.log.Info("copied shards and imports of another coordinator", "count", copied, "address", address)
	}
	return err
}

// collect copies from all others once. It waits for those that answer, at most collectPatience.
func (b *bucket) collect(ctx context.Context) {
	others, err := b.others()
	if err != nil {
		b.log.Warn("cannot list the coordinators to copy shards from", "error", err)
	}
	ctx, cancel := context.WithTimeout(ctx, collectPatience)
	defer cancel()
	addresses := make([]string, len(others))
	for i, m := range others {
		addresses[i] = m.Address
	}
	var group sync.WaitGroup
	for i, answer := range b.introduce(ctx, addresses...) {
		url := answer.Coordinator.GetBucket()
		if url == "" { // it does not answer, or is of another release
			continue
		}
		group.Go(func() {
			if err := b.copyFrom(ctx, addresses[i], url); err != nil && ctx.Err() == nil {
				b.log.Warn("cannot copy the shards of another coordinator; those that are missing are made again", "address", addresses[i], "error", err)
			}
		})
	}
	group.Wait()
}
