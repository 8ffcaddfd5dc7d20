package peer

import (
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// Of the data set.
const benchmarkShards, shardSamples = 8, 4_000_000 // 16 MB each

// benchmarked is a directory with a data set, and its bytes.
func benchmarked(b *testing.B) (dir *shard.Dir, bytes int64) {
	dir = shard.NewDir(b.TempDir())
	for k := range benchmarkShards {
		w, err := dir.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: k, Count: 1, Purpose: shard.Train, Dim: 1, Samples: shardSamples})
		if err != nil {
			b.Fatal(err)
		}
		r, values := rand.New(rand.NewPCG(uint64(k), 1)), make([]float32, shardSamples)
		for i := range values {
			values[i] = r.Float32()
		}
		if err := w.Samples(values); err != nil {
			b.Fatal(err)
		}
		m, err := w.Commit()
		if err != nil {
			b.Fatal(err)
		}
		bytes += m.Bytes
	}
	return dir, bytes
}

// BenchmarkColdRead fills the cache of a worker from that of another one: manifests from the
// store, data from the worker, with SHA-256 and on the disk.
func BenchmarkColdRead(b *testing.B) {
	dir, bytes := benchmarked(b)
	d := depot.New(storetest.NewDir(b.TempDir()))
	for k := range benchmarkShards {
		if err := d.Upload(b.Context(), dir, dataset, k); err != nil {
			b.Fatal(err)
		}
	}
	other := having(b, dir)
	b.SetBytes(bytes)
	for b.Loop() {
		copies := NewCopies(plain, func() []message.Member { return []message.Member{other} })
		d.AskFirst(copies)
		cache, err := depot.OpenCache(b.TempDir(), 2*bytes, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		if err := cache.Fill(b.Context(), d, dataset, 0, 1, 2, 3, 4, 5, 6, 7); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(cache.Close(), copies.Close()); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkTCP copies as many bytes by a connection of TCP into a file: what the link allows.
func BenchmarkTCP(b *testing.B) {
	const bytes = benchmarkShards * 4 * shardSamples
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := io.CopyN(conn, zeros{}, bytes); err != nil {
				b.Error(err)
			}
			conn.Close()
		}
	}()
	b.SetBytes(bytes)
	for b.Loop() {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(b.TempDir(), "copy"))
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(f, conn); err != nil || n != bytes {
			b.Fatal(n, err)
		}
		conn.Close()
		f.Close()
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
