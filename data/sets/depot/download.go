package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/disk"
)

const (
	attempts = 6                // of a copy that makes no progress
	wrong    = 3                // copies with another hash than the manifest's
	silence  = 30 * time.Second // after which a transfer is begun again
)

// Fetch copies a shard into a directory, unless that has it: shard.ErrNotFound if there is none.
// Otherwise it fails as Download does.
func (d *Depot) Fetch(ctx context.Context, to *shard.Dir, dataset string, k int) error {
	if to.Has(dataset, k) {
		return nil
	}
	_, content, err := d.manifest(ctx, dataset, k)
	if err != nil {
		return err
	}
	return d.Download(ctx, to, content)
}

// Download copies a shard with that manifest into a directory. It goes on where an earlier
// attempt stopped, also of another process. It fails with shard.ErrCorrupt where the store's
// data are not those of the manifest, and with a *disk.FullError where there is no room.
func (d *Depot) Download(ctx context.Context, to *shard.Dir, manifest []byte) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end()
	in, err := to.Receive(manifest)
	if err != nil {
		return err
	}
	defer in.Close()
	peers := d.peers
	for n := 1; ; n++ {
		if err := d.transfer(ctx, in, peers); err != nil {
			return err
		}
		err := in.Commit(ctx)
		if err == nil || !errors.Is(err, shard.ErrCorrupt) {
			return err
		}
		if peers != nil { // the wrong bytes may be theirs
			peers, n = nil, 0
		} else if n == wrong {
			return fmt.Errorf("%s in %s: %w: %d copies of it were wrong; if it is damaged there, delete it, and the shard is made again", dataKey(in.Manifest()), d, err, n)
		}
		if err := in.Restart(); err != nil {
			return err
		}
	}
}

// transfer copies what is missing of the data.
func (d *Depot) transfer(ctx context.Context, in *shard.Incoming, peers Peers) error {
	if peers != nil && d.copy(ctx, in, peers.Read) == nil && in.Have() == in.Manifest().Bytes {
		return nil
	}
	for n := 1; in.Have() < in.Manifest().Bytes; n++ {
		before := in.Have()
		err := d.copy(ctx, in, d.read)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if disk.Full(err) || lasting(err) {
			return err
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRange) {
			return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
		}
		if in.Have() > before {
			n = 0
		}
		if n >= attempts {
			return err
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lasting reports whether the next request would meet the same error.
func lasting(err error) bool {
	return errors.Is(err, store.ErrDenied) || errors.Is(err, store.ErrGone)
}

// wait pauses before another attempt.
func wait(ctx context.Context) error {
	select {
	case <-time.After(pause + rand.N(pause)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause is before another attempt, and twice as long at most.
const pause = 200 * time.Millisecond

// read reads from the store.
func (d *Depot) read(ctx context.Context, m shard.Manifest, offset int64) (io.ReadCloser, error) {
	return d.store.Get(ctx, dataKey(m), offset, m.Bytes-offset)
}

// copy copies until an error, or until nothing came for a while.
func (*Depot) copy(ctx context.Context, in *shard.Incoming, read func(context.Context, shard.Manifest, int64) (io.ReadCloser, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came for %v", silence)) })
	defer watch.Stop()
	r, err := read(ctx, in.Manifest(), in.Have())
	if err != nil {
		return err
	}
	defer r.Close()
	buffer := make([]byte, 256<<10)
	for {
		n, err := r.Read(buffer)
		if n > 0 {
			watch.Reset(silence)
			if _, err := in.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
