package peer

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/worker/replica"
)

const dataset = "0123456789abcdef"

// cached is a directory with a shard of 2 MB, and the content of its file.
func cached(t *testing.T, value float32) (*shard.Dir, shard.Manifest, []byte) {
	t.Helper()
	dir := shard.NewDir(t.TempDir())
	w, err := dir.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: 3, Count: 1, Purpose: shard.Train, Dim: 1, Samples: 500_000})
	if err != nil {
		t.Fatal(err)
	}
	samples := make([]float32, 500_000)
	for i := range samples {
		samples[i] = value + float32(i)
	}
	if err := w.Samples(samples); err != nil {
		t.Fatal(err)
	}
	m, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir.Root(), "vn1d-"+dataset, "shard-00003.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, m, content
}

func having(t testing.TB, dir *shard.Dir) message.Member {
	t.Helper()
	return serve(t, &Server{Replica: func() *replica.Replica { return nil }, Shards: func() *shard.Dir { return dir }})
}

// A shard is read from the worker that has it, from any place on. Those that have nothing, have
// another shard, or are not there, are passed over.
func TestCopies(t *testing.T) {
	dir, m, want := cached(t, 0)
	other, _, _ := cached(t, 1)
	nobody := message.Member{ID: "gone", DataAddress: "127.0.0.1:1"}
	without := []message.Member{nobody, having(t, nil), having(t, shard.NewDir(t.TempDir())), having(t, other)}
	with := append([]message.Member{having(t, dir)}, without...)
	c := NewCopies(plain, func() []message.Member { return with })
	for _, offset := range []int64{0, 1, 1_000_000, m.Bytes - 1} {
		r, err := c.Read(t.Context(), m, offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want[offset:]) {
			t.Errorf("from %d on: %d bytes, %v", offset, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	none := NewCopies(plain, func() []message.Member { return without })
	if _, err := none.Read(t.Context(), m, 0); !errors.Is(err, shard.ErrNotFound) {
		t.Error(err)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	alone := NewCopies(plain, func() []message.Member { return nil })
	if _, err := alone.Read(t.Context(), m, 0); !errors.Is(err, shard.ErrNotFound) {
		t.Error(err)
	}
}

// Requests that name no shard of the cache get none, and no other file.
func TestShardRequests(t *testing.T) {
	dir, m, _ := cached(t, 0)
	member := having(t, dir)
	conn, err := dial(plain, member)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, request := range map[string]*wire.ShardRequest{
		"a path":     {Dataset: "../../etc", Shard: 3, Sha256: m.SHA256},
		"no hash":    {Dataset: dataset, Shard: 3},
		"a number":   {Dataset: dataset, Shard: 1 << 31, Sha256: m.SHA256},
		"before":     {Dataset: dataset, Shard: 3, Sha256: m.SHA256, Offset: -1},
		"behind":     {Dataset: dataset, Shard: 3, Sha256: m.SHA256, Offset: m.Bytes + 1},
		"long":       {Dataset: strings.Repeat("a", 1<<20), Shard: 3, Sha256: m.SHA256},
		"other hash": {Dataset: dataset, Shard: 3, Sha256: strings.Repeat("0", 64)},
	} {
		stream, err := wire.NewPeerClient(conn).Shard(t.Context(), request)
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A worker serves a bounded number of readers.
func TestShardReadersAreBounded(t *testing.T) {
	dir, m, _ := cached(t, 0)
	s := &Server{Replica: func() *replica.Replica { return nil }, Shards: func() *shard.Dir { return dir }}
	member := serve(t, s)
	s.readers.Store(maxReaders)
	c := NewCopies(plain, func() []message.Member { return []message.Member{member} })
	defer c.Close()
	if _, err := c.Read(t.Context(), m, 0); !errors.Is(err, shard.ErrNotFound) {
		t.Error(err)
	}
	s.readers.Store(maxReaders - 1)
	r, err := c.Read(t.Context(), m, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}
