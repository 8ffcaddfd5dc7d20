package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// byteSize is a number of bytes as a flag, as in 20GiB.
type byteSize int64

func (b *byteSize) String() string { return humanize.IBytes(uint64(*b)) }

// Type names the flag's value in the help.
func (*byteSize) Type() string { return "size" }

// Set reads a number with a unit.
func (b *byteSize) Set(text string) error {
	v, err := humanize.ParseBytes(text)
	if err != nil || v == 0 || v > 1<<60 {
		return fmt.Errorf("%.40q is no size such as 20GiB", text)
	}
	*b = byteSize(v)
	return nil
}

// cacheDir is where the workers of a cluster on this machine have copies of shards.
func (f *localFlags) cacheDir() string { return filepath.Join(f.dir, "cache") }

// heldOut finds the directory with the held-out shard of e after a run, and copies the shard there
// where it is in a bucket. The embedded server has ended with the run: where that had the shards,
// the evaluation takes the worker's copy, or makes the shard again.
func (f *localFlags) heldOut(ctx context.Context, e experiment.Experiment) (dir string, err error) {
	l, err := store.Parse(cmp.Or(f.store, filepath.Join(f.dir, "shards")))
	if err != nil {
		return "", err
	}
	if l.Scheme == store.File {
		return l.Dir, nil
	}
	cache, err := depot.OpenCache(f.cacheDir(), 1<<60, slog.Default())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	dir = cache.Dir().Root()
	if l.Scheme == store.NATS && l.Server == "" {
		return dir, nil
	}
	s, err := store.Open(ctx, l, store.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = cache.Fill(ctx, depot.New(s), e.Data.Hash(), e.Data.HeldOutShard())
	if errors.Is(err, shard.ErrNotFound) { // the evaluation makes it
		err = nil
	}
	return dir, err
}
