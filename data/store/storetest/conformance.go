package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/store"
)

// Big is the size of an object that every store keeps in several pieces, the last one odd.
const Big = 33<<20 + 7

// Content is size pseudorandom bytes.
func Content(size int, seed uint64) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b) // never fails
	return b
}

// Conform checks that a store, which is empty, does what store.Store says.
func Conform(t *testing.T, s store.Store) {
	t.Helper()
	for _, property := range []struct {
		name  string
		holds func(*testing.T, store.Store)
	}{
		{"probe", probe},
		{"ranges", ranges},
		{"one of eight writers wins", race},
		{"big objects", big},
		{"listing", listing},
		{"deletion", deletion},
		{"names", names},
		{"bounds", bounds},
		{"cancelled put", cancelled},
		{"failed put", failed},
	} {
		t.Run(property.name, func(t *testing.T) { property.holds(t, s) })
	}
}

// Put puts an object.
func Put(t *testing.T, s store.Store, key string, content []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

// Read reads a range.
func Read(ctx context.Context, s store.Store, key string, offset, length int64) ([]byte, error) {
	r, err := s.Get(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

func probe(t *testing.T, s store.Store) {
	if err := store.Probe(t.Context(), s, "one"); err != nil {
		t.Error(err)
	}
	if all, err := s.List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("the probe left %v, %v", all, err)
	}
	if s.String() == "" {
		t.Error("no name")
	}
}

func ranges(t *testing.T, s store.Store) {
	want := Content(1000, 1)
	Put(t, s, "ranges/a", want)
	Put(t, s, "ranges/empty", nil)
	for _, r := range [][2]int64{{0, 1000}, {0, 1}, {999, 1}, {10, 500}, {0, 0}, {1000, 0}, {500, 500}} {
		got, err := Read(t.Context(), s, "ranges/a", r[0], r[1])
		if err != nil || !bytes.Equal(got, want[r[0]:r[0]+r[1]]) {
			t.Errorf("%v: %d bytes, %v", r, len(got), err)
		}
	}
	for _, r := range [][2]int64{{0, 1001}, {1000, 1}, {2000, 1}, {999, 2}, {1001, 0}, {-1, 1}, {0, -1}, {1 << 62, 1 << 62}} {
		if got, err := Read(t.Context(), s, "ranges/a", r[0], r[1]); !errors.Is(err, store.ErrRange) {
			t.Errorf("%v: %d bytes, %v", r, len(got), err)
		}
	}
	if got, err := Read(t.Context(), s, "ranges/empty", 0, 0); err != nil || len(got) != 0 {
		t.Errorf("empty: %d bytes, %v", len(got), err)
	}
	if _, err := Read(t.Context(), s, "ranges/b", 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Read(t.Context(), s, "ranges/b", 0, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("nothing of a missing one: %v", err)
	}
	o, err := s.Stat(t.Context(), "ranges/a")
	if err != nil || o.Key != "ranges/a" || o.Bytes != 1000 || time.Since(o.Made).Abs() > time.Hour {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := s.Stat(t.Context(), "ranges/b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
}

// race has eight writers put different objects under one key: one wins, and its object is there.
func race(t *testing.T, s store.Store) {
	const writers = 8
	for round := range 4 {
		size := []int{10, 100_000, 3 << 20, 0}[round]
		key := fmt.Sprintf("race/%d", round)
		var won atomic.Int64
		var wins atomic.Int32
		var group sync.WaitGroup
		begin := make(chan struct{})
		for w := range writers {
			group.Go(func() {
				<-begin
				content := Content(size, uint64(w))
				switch err := s.Put(t.Context(), key, bytes.NewReader(content), int64(size)); {
				case err == nil:
					won.Store(int64(w))
					wins.Add(1)
				case !errors.Is(err, store.ErrExists):
					t.Errorf("writer %d: %v", w, err)
				}
			})
		}
		close(begin)
		group.Wait()
		if n := wins.Load(); n != 1 {
			t.Errorf("size %d: %d writers won", size, n)
		}
		got, err := Read(t.Context(), s, key, 0, int64(size))
		if err != nil || !bytes.Equal(got, Content(size, uint64(won.Load()))) {
			t.Errorf("size %d: not the winner's object: %v", size, err)
		}
	}
}

func big(t *testing.T, s store.Store) {
	want := Content(Big, 3)
	Put(t, s, "big/a", want)
	if o, err := s.Stat(t.Context(), "big/a"); err != nil || o.Bytes != Big {
		t.Errorf("%+v, %v", o, err)
	}
	for _, r := range [][2]int64{{0, Big}, {16<<20 - 1, 2}, {Big - 3, 3}, {1<<20 - 5, 17 << 20}} {
		if got, err := Read(t.Context(), s, "big/a", r[0], r[1]); err != nil || !bytes.Equal(got, want[r[0]:r[0]+r[1]]) {
			t.Errorf("%v: %d bytes, %v", r, len(got), err)
		}
	}
	if err := s.Put(t.Context(), "big/a", bytes.NewReader(want), Big); !errors.Is(err, store.ErrExists) {
		t.Errorf("again: %v", err)
	}
	// A reader that leaves early does not disturb others.
	r, err := s.Get(t.Context(), "big/a", 0, Big)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func listing(t *testing.T, s store.Store) {
	for _, key := range []string{"list/b/2", "list/a/1", "list/b/10", "list/bc", "list/b.d", "listed"} {
		Put(t, s, key, []byte(key))
	}
	for prefix, want := range map[string]string{
		"list/":    "list/a/1 list/b.d list/b/10 list/b/2 list/bc",
		"list/b/":  "list/b/10 list/b/2",
		"list/b":   "list/b.d list/b/10 list/b/2 list/bc",
		"list/b/1": "list/b/10",
		"list":     "list/a/1 list/b.d list/b/10 list/b/2 list/bc listed",
		"list/z":   "",
		"nobody/":  "",
	} {
		all, err := s.List(t.Context(), prefix)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
		var keys []string
		for _, o := range all {
			keys = append(keys, o.Key)
			if o.Bytes != int64(len(o.Key)) || time.Since(o.Made).Abs() > time.Hour {
				t.Errorf("%+v", o)
			}
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
}

func deletion(t *testing.T, s store.Store) {
	Put(t, s, "deleted/a", []byte("one"))
	Put(t, s, "deleted/ab", []byte("other"))
	for range 2 { // the second time it is not there
		if err := s.Delete(t.Context(), "deleted/a"); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Stat(t.Context(), "deleted/a"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Stat(t.Context(), "deleted/ab"); err != nil {
		t.Error(err)
	}
	Put(t, s, "deleted/a", []byte("two"))
	if got, err := Read(t.Context(), s, "deleted/a", 0, 3); err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
}

func names(t *testing.T, s store.Store) {
	good := []string{"x", "A", "a", "a-b_c.d", "0", "v1.2..3", strings.Repeat("long-", 51) + "x", "d/e/f/g/h/i/j", "-", "_x-"}
	for _, key := range good {
		Put(t, s, "names/"+key[:min(len(key), 250)], []byte(key))
	}
	for _, key := range good {
		if got, err := Read(t.Context(), s, "names/"+key[:min(len(key), 250)], 0, int64(len(key))); err != nil || string(got) != key {
			t.Errorf("%q: %q, %v", key, got, err)
		}
	}
	bad := []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", ".a", "a b", "a*", "a>", "ä", "a\x00", "a\n", "a?b", "a#b", `a\b`, "a%2f", strings.Repeat("x", 257)}
	for _, key := range bad {
		_, stat := s.Stat(t.Context(), key)
		_, get := s.Get(t.Context(), key, 0, 0)
		for what, err := range map[string]error{
			"put": s.Put(t.Context(), key, strings.NewReader("x"), 1), "stat": stat, "get": get, "delete": s.Delete(t.Context(), key),
		} {
			if !errors.Is(err, store.ErrKey) {
				t.Errorf("%s %.20q: %v", what, key, err)
			}
		}
	}
	for _, prefix := range []string{"/", "a//", "../", ">", "*", "a b"} {
		if _, err := s.List(t.Context(), prefix); !errors.Is(err, store.ErrKey) {
			t.Errorf("list %q: %v", prefix, err)
		}
	}
}

func bounds(t *testing.T, s store.Store) {
	for _, size := range []int64{-1, store.MaxBytes + 1, 1 << 62} {
		if err := s.Put(t.Context(), "bounds/a", strings.NewReader("x"), size); err == nil {
			t.Errorf("%d bytes: accepted", size)
		}
	}
	nothing(t, s, "bounds/a")
}

// nothing checks that no reader sees an object, and that the key is free.
func nothing(t *testing.T, s store.Store, key string) {
	t.Helper()
	if o, err := s.Stat(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%+v, %v", o, err)
	}
	if all, err := s.List(t.Context(), key); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	Put(t, s, key, []byte("whole"))
	if got, err := Read(t.Context(), s, key, 0, 5); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
}

// A source calls at when its bytes from a place on are read.
type source struct {
	content []byte
	from    int64
	at      func() error
}

func (s *source) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > s.from {
		if err := s.at(); err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(s.content).ReadAt(b, off)
}

// cancelled ends puts in the midst of small and big objects, and then has Sweep remove what is
// left.
func cancelled(t *testing.T, s store.Store) {
	for _, size := range []int{1000, Big} {
		ctx, cancel := context.WithCancel(t.Context())
		content := &source{Content(size, 5), int64(size) - 1, func() error { cancel(); return nil }}
		key := fmt.Sprintf("cancelled/%d", size)
		if err := s.Put(ctx, key, content, int64(size)); err == nil || errors.Is(err, store.ErrExists) {
			t.Errorf("%d bytes: %v", size, err)
		}
		nothing(t, s, key)
	}
	if _, err := s.Sweep(t.Context(), "cancelled/", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if puts, err := s.Sweep(t.Context(), "", time.Now().Add(time.Hour)); err != nil || puts != 0 {
		t.Errorf("after a sweep there are %d puts, %v", puts, err)
	}
	for _, o := range []string{"cancelled/1000", "ranges/a", "big/a"} {
		if _, err := s.Stat(t.Context(), o); err != nil {
			t.Errorf("the sweep took %s: %v", o, err)
		}
	}
	if got, err := Read(t.Context(), s, "big/a", 0, Big); err != nil || !bytes.Equal(got, Content(Big, 3)) {
		t.Errorf("the sweep took a part of an object: %v", err)
	}
}

// failed puts content that cannot be read to its end.
func failed(t *testing.T, s store.Store) {
	broken := errors.New("broken")
	for _, size := range []int{1000, 20 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), patience) // a store that tries again would not end
		content := &source{Content(size, 6), int64(size) - 1, func() error { return broken }}
		key := fmt.Sprintf("failed/%d", size)
		if err := s.Put(ctx, key, content, int64(size)); !errors.Is(err, broken) {
			t.Errorf("%d bytes: %v", size, err)
		}
		cancel()
		nothing(t, s, key)
	}
}
