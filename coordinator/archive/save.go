package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/store"
)

// record describes and commits a checkpoint.
type record struct {
	Format     int             `json:"format"`
	Checkpoint checkpoint.Info `json:"checkpoint"`
	Chunk      int64           `json:"chunk"`  // bytes of each but the last
	Chunks     []string        `json:"chunks"` // SHA-256 of each in order, hexadecimal
}

const format = 1

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Save stores a checkpoint, which checkpoint.Store has described. When it returns without error
// the checkpoint is in the store; before, readers see nothing of it. An interrupted Save goes on
// where it stopped. It fails with ErrTaken where another coordinator has taken over.
func (a *Archive) Save(ctx context.Context, info checkpoint.Info, data []byte) error {
	e := Entry{Cluster: a.cluster, Run: info.Run, Mark: info.Mark()}
	if !named.MatchString(info.Run) {
		return fmt.Errorf("run %.80q: its name cannot be in a key", info.Run)
	}
	if int64(len(data)) != info.Size || sumOf(data) != info.SHA256 {
		return fmt.Errorf("checkpoint %s: %w", info.ID, checkpoint.ErrMismatch)
	}
	r := record{Format: format, Checkpoint: info, Chunk: chunkBytes}
	chunks := make(map[string][]byte)
	for chunk := range slices.Chunk(data, chunkBytes) {
		sum := sumOf(chunk)
		r.Chunks = append(r.Chunks, sum)
		chunks[sum] = chunk
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	e.sum = sumOf(content)
	if err := a.putChunks(ctx, e, chunks); err != nil {
		return err
	}
	if err := a.Held(ctx); err != nil {
		return err
	}
	if err := a.store.Put(ctx, e.key(), bytes.NewReader(content), int64(len(content))); err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	// Chunks that an earlier attempt left may have been swept since they were found.
	there, err := a.store.List(ctx, e.folder()+"/")
	if err != nil {
		return err
	}
	for _, o := range there {
		if _, sum, ok := parse(o.Key); ok && int64(len(chunks[sum])) == o.Bytes {
			delete(chunks, sum)
		}
	}
	return a.putChunks(ctx, e, chunks)
}

// putChunks puts chunks of a state, unless they are there.
func (a *Archive) putChunks(ctx context.Context, e Entry, chunks map[string][]byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reads)
	for sum, chunk := range chunks {
		group.Go(func() error { return a.putChunk(ctx, e.chunk(sum), chunk) })
	}
	return group.Wait()
}

func (a *Archive) putChunk(ctx context.Context, key string, chunk []byte) error {
	put := func() error { return a.store.Put(ctx, key, bytes.NewReader(chunk), int64(len(chunk))) }
	err := put()
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	there, err := a.store.Stat(ctx, key)
	if err == nil && there.Bytes == int64(len(chunk)) {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := a.store.Delete(ctx, key); err != nil { // it is not what its key says
		return err
	}
	return put()
}
