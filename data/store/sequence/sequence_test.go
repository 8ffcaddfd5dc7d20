package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/sequence"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// Many writers append at once, each as often as it is the first. Every record is there once, and
// all read the same.
func TestWriters(t *testing.T) {
	server := s3test.Fake(t, nil)
	appendAtOnce(t, "directory", storetest.NewDir(t.TempDir()))
	appendAtOnce(t, "s3", storetest.Open(t, s3test.Location(server.URL, ""), store.Options{}))
}

// TestVersity is the same with a real server of S3.
func TestVersity(t *testing.T) {
	appendAtOnce(t, "versitygw", storetest.Open(t, s3test.Location(s3test.New(t).URL, "/p"), store.Options{}))
}

func appendAtOnce(t *testing.T, name string, s store.Store) {
	t.Helper()
	const writers, each = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			q, n := sequence.New(s, "a/b"), 0
			for i := 0; i < each; {
				err := q.Append(t.Context(), n+1, fmt.Appendf(nil, "%d/%d", w, i))
				switch {
				case err == nil:
					i++
				case !errors.Is(err, sequence.ErrTaken):
					t.Error(err)
					return
				}
				n++
			}
		})
	}
	all.Wait()
	q := sequence.New(s, "a/b")
	next := make(map[string]int) // of each writer's
	for n := 1; n <= writers*each; n++ {
		record, err := q.Read(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		w, i, _ := strings.Cut(string(record), "/")
		if i != fmt.Sprint(next[w]) {
			t.Errorf("%s: record %d is %s, want number %d of that writer", name, n, record, next[w])
		}
		next[w]++
	}
	if _, err := q.Read(t.Context(), writers*each+1); !errors.Is(err, sequence.ErrEnd) {
		t.Errorf("%s: %v", name, err)
	}
}

// forgetful loses the answers of puts that succeed, as a connection that breaks.
type forgetful struct{ store.Store }

func (f forgetful) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if err := f.Store.Put(ctx, key, content, size); err != nil {
		return err
	}
	return f.Store.Put(ctx, key, content, size) // the attempt that follows
}

func TestLostAnswer(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	if err := sequence.New(forgetful{s}, "q").Append(t.Context(), 1, []byte("mine")); err != nil {
		t.Error(err)
	}
	if err := sequence.New(forgetful{s}, "q").Append(t.Context(), 1, []byte("mine")); !errors.Is(err, sequence.ErrTaken) {
		t.Errorf("another writer's record with the same content: %v", err)
	}
}

// Any byte that a store changes or loses is noticed. A damaged snapshot is passed over.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	q := sequence.New(storetest.NewDir(dir), "q")
	if err := q.Append(t.Context(), 1, []byte("content")); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, 10, 100} {
		if err := q.PutSnapshot(t.Context(), n, fmt.Appendf(nil, "up to %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "q", "record", "1")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		for _, content := range [][]byte{bad, good[:i]} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := q.Read(t.Context(), 1); !errors.Is(err, sequence.ErrCorrupt) {
				t.Errorf("byte %d: %q, %v", i, got, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "q", "snapshot", "100"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, content, err := q.Snapshot(t.Context()); n != 10 || string(content) != "up to 10" || err != nil {
		t.Errorf("%d, %q, %v", n, content, err)
	}
	if err := q.Append(t.Context(), 2, make([]byte, sequence.MaxRecord+1)); !errors.Is(err, sequence.ErrLarge) {
		t.Error(err)
	}
}
