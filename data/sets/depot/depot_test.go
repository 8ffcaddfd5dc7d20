package depot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

const one, two = "0123456789abcdef", "fedcba9876543210"

// make writes a shard of samples that begin with a value.
func makeShard(t *testing.T, d *shard.Dir, dataset string, k int, value float32) shard.Manifest {
	t.Helper()
	const functions, samples = 4, 50_000
	w, err := d.Create(shard.Header{Family: "vn1d", Dataset: dataset, Shard: k, First: k * functions, Count: functions, Purpose: shard.Train, Dim: 1, Samples: samples})
	if err != nil {
		t.Fatal(err)
	}
	for i := range functions * samples {
		if err := w.Samples([]float32{value + float32(i%1000)}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func dir(t *testing.T) *shard.Dir { return shard.NewDir(t.TempDir()) }

// A faulty store answers as the one behind it, but for what a test says.
type faulty struct {
	store.Store
	gets atomic.Int32
	get  func(n int32, r io.ReadCloser) (io.ReadCloser, error) // of data; n counts from 1
	put  func(key string) error
}

func (f *faulty) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := f.Store.Get(ctx, key, offset, length)
	if err != nil || f.get == nil || !strings.HasSuffix(key, dataSuffix) {
		return r, err
	}
	return f.get(f.gets.Add(1), r)
}

func (f *faulty) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if f.put != nil {
		if err := f.put(key); err != nil {
			return err
		}
	}
	return f.Store.Put(ctx, key, content, size)
}

// reading is a body that ends with an error after some bytes, or has others.
type reading struct {
	io.Reader
	io.Closer
}

func cut(r io.ReadCloser, after int64) io.ReadCloser {
	return reading{io.MultiReader(io.LimitReader(r, after), broken{}), r}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func uploaded(t *testing.T, s store.Store, shards int) (*Depot, []shard.Manifest) {
	t.Helper()
	from, d := dir(t), New(s)
	var all []shard.Manifest
	for k := range shards {
		all = append(all, makeShard(t, from, one, k, float32(k)))
		if err := d.Upload(t.Context(), from, one, k); err != nil {
			t.Fatal(err)
		}
	}
	return d, all
}

func cache(t *testing.T, limit int64) *Cache {
	t.Helper()
	c, err := OpenCache(t.TempDir(), limit, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func same(t *testing.T, d *shard.Dir, all []shard.Manifest) {
	t.Helper()
	for _, m := range all {
		if err := d.Verify(t.Context(), m.Dataset, m.Shard); err != nil {
			t.Error(err)
		}
		if got, err := d.Manifest(m.Dataset, m.Shard); err != nil || got.SHA256 != m.SHA256 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestUploadAndFill(t *testing.T) {
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	d, all := uploaded(t, s, 3)
	if got, err := d.Present(t.Context(), one, 9); err != nil || !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := d.Present(t.Context(), two, 9); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for k, want := range []bool{true, true, true, false} {
		if got, err := d.Has(t.Context(), one, k); err != nil || got != want {
			t.Errorf("shard %d: %v, %v", k, got, err)
		}
	}
	c := cache(t, 1<<30)
	if err := c.Fill(t.Context(), d, one, 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	s.get = func(int32, io.ReadCloser) (io.ReadCloser, error) { return nil, errors.New("asked again") }
	if err := c.Fill(t.Context(), d, one, 0, 1, 2); err != nil {
		t.Errorf("it has them: %v", err)
	}
	if err := c.Fill(t.Context(), d, one, 0, 3); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("a shard is missing: %v", err)
	}
}

// A copy that breaks off goes on where it stopped, by this process and by the next.
func TestResume(t *testing.T) {
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	d, all := uploaded(t, s, 1)
	var asked []int64 // lengths of what Get gave
	s.get = func(n int32, r io.ReadCloser) (io.ReadCloser, error) {
		b, err := io.ReadAll(r)
		asked = append(asked, int64(len(b)))
		return cut(io.NopCloser(bytes.NewReader(b)), 300_000), err
	}
	c := cache(t, 1<<30)
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	for i, n := range asked {
		if want := all[0].Bytes - int64(i)*300_000; n != want {
			t.Errorf("request %d: for %d bytes, want %d", i, n, want)
		}
	}

	// The next process goes on, too.
	asked = nil
	ctx, cancel := context.WithCancel(t.Context())
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
		if len(asked) == 1 {
			cancel()
		}
		asked = append(asked, 0)
		return cut(r, 100_000), nil
	}
	c = cache(t, 1<<30)
	if err := c.Fill(ctx, d, one, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if c.Dir().Has(one, 0) {
		t.Error("half a shard is visible")
	}
	total := int64(0)
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
		b, err := io.ReadAll(r)
		total += int64(len(b))
		return io.NopCloser(bytes.NewReader(b)), err
	}
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	if total >= all[0].Bytes || total < all[0].Bytes-200_000 {
		t.Errorf("%d of %d bytes came again", total, all[0].Bytes)
	}
}

// A store that lies does so once, or always.
func TestWrongBytes(t *testing.T) {
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	d, all := uploaded(t, s, 1)
	lies := int32(2)
	s.get = func(n int32, r io.ReadCloser) (io.ReadCloser, error) {
		b, err := io.ReadAll(r)
		if n <= lies {
			b[len(b)/2] ^= 1
		}
		return io.NopCloser(bytes.NewReader(b)), err
	}
	c := cache(t, 1<<30)
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	lies = 1 << 30
	c = cache(t, 1<<30)
	if err := c.Fill(t.Context(), d, one, 0); !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), dataKey(all[0])) {
		t.Error(err)
	}
	if c.Dir().Has(one, 0) {
		t.Error("wrong bytes are visible")
	}
}

// Manifests of a store are not believed.
func TestForgedManifests(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"another data set": func(m string) string { return strings.ReplaceAll(m, one, two) },
		"another shard":    func(m string) string { return strings.Replace(m, `"shard": 0`, `"shard": 1`, 1) },
		"too many bytes":   func(m string) string { return strings.Replace(m, `"bytes": `, `"bytes": 99`, 1) },
		"no hash":          func(m string) string { return strings.Replace(m, `"sha256": "`, `"sha256": "../`, 1) },
		"a path":           func(m string) string { return strings.Replace(m, `"family": "vn1d"`, `"family": "../x"`, 1) },
		"huge":             func(m string) string { return m + strings.Repeat(" ", shard.MaxManifest) },
		"nothing":          func(string) string { return "" },
	} {
		s := storetest.NewDir(t.TempDir())
		d, _ := uploaded(t, s, 1)
		key := keyOf(one, 0) + manifestSuffix
		o, err := s.Stat(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		content, err := storetest.Read(t.Context(), s, key, 0, o.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		storetest.Put(t, s, key, []byte(change(string(content))))
		if err := cache(t, 1<<30).Fill(t.Context(), d, one, 0); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if has, err := d.Has(t.Context(), one, 0); has || err != nil {
			t.Errorf("%s: it counts as there: %v", name, err)
		}
	}
}

// Eight writers of one shard, half of them with other bytes: one shard is there, and all copy it.
func TestWritersOfOneShard(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	d := New(s)
	var group sync.WaitGroup
	for w := range 8 {
		from := dir(t)
		makeShard(t, from, one, 0, float32(w%2))
		group.Go(func() {
			if err := d.Upload(t.Context(), from, one, 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	c := cache(t, 1<<30)
	makeShard(t, c.Dir(), one, 0, 0) // its own; the other may have won
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	m, _, err := d.manifest(t.Context(), one, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), []shard.Manifest{m})
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("%d orphans, %v", n, err)
	}
	if err := cache(t, 1<<30).Fill(t.Context(), d, one, 0); err != nil {
		t.Errorf("the sweep took the shard: %v", err)
	}
}

// A manifest whose data have gone, and one that is damaged, are replaced.
func TestUploadRepairs(t *testing.T) {
	for name, damage := range map[string]func(store.Store, shard.Manifest) error{
		"no data": func(s store.Store, m shard.Manifest) error { return s.Delete(t.Context(), dataKey(m)) },
		"damaged manifest": func(s store.Store, m shard.Manifest) error {
			key := keyOf(one, 0) + manifestSuffix
			return errors.Join(s.Delete(t.Context(), key), s.Put(t.Context(), key, strings.NewReader("{"), 1))
		},
	} {
		s := storetest.NewDir(t.TempDir())
		d, all := uploaded(t, s, 1)
		if err := damage(s, all[0]); err != nil {
			t.Fatal(err)
		}
		if has, err := d.Has(t.Context(), one, 0); has || err != nil {
			t.Errorf("%s: %v, %v", name, has, err)
		}
		from := dir(t)
		other := makeShard(t, from, one, 0, 7)
		if err := d.Upload(t.Context(), from, one, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c := cache(t, 1<<30)
		if err := c.Fill(t.Context(), d, one, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, c.Dir(), []shard.Manifest{other})
	}
}

// What an upload that is interrupted leaves is no shard, and Sweep removes it after the grace.
func TestInterruptedUpload(t *testing.T) {
	full := errors.New("full")
	s := &faulty{Store: storetest.NewDir(t.TempDir()), put: func(key string) error {
		if strings.HasSuffix(key, manifestSuffix) {
			return full
		}
		return nil
	}}
	from, d := dir(t), New(s)
	makeShard(t, from, one, 0, 0)
	if err := d.Upload(t.Context(), from, one, 0); !errors.Is(err, full) {
		t.Error(err)
	}
	if got, err := d.Present(t.Context(), one, 9); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	others := []string{"shards/mine.safetensors", "shards/" + one + "/shard-1.x.safetensors", "data/x.safetensors", "shards/" + one + "/notes"}
	for _, key := range others { // of somebody else
		storetest.Put(t, s.Store, key, []byte(key))
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("within the grace: %d, %v", n, err)
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("after the grace: %d, %v", n, err)
	}
	for _, key := range others {
		if _, err := s.Stat(t.Context(), key); err != nil {
			t.Errorf("the sweep took what is not ours: %v", err)
		}
	}
	s.put = nil
	if err := d.Upload(t.Context(), from, one, 0); err != nil {
		t.Error(err)
	}
	if n, err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("a shard: %d, %v", n, err)
	}
}

// asked is a peer that has a shard's data, as a store would give them.
type asked struct {
	*faulty
	reads atomic.Int32
}

func (a *asked) Read(ctx context.Context, m shard.Manifest, offset int64) (io.ReadCloser, error) {
	a.reads.Add(1)
	return a.Get(ctx, dataKey(m), offset, m.Bytes-offset)
}

// A download asks peers first. Where they have nothing, break off or give wrong bytes, it reads the
// store.
func TestPeersAreAskedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		get  func(int32, io.ReadCloser) (io.ReadCloser, error) // of the peer
		gets int32                                             // of data, from the store
	}{
		"whole":   {nil, 0},
		"nothing": {func(int32, io.ReadCloser) (io.ReadCloser, error) { return nil, shard.ErrNotFound }, 1},
		"cut":     {func(_ int32, r io.ReadCloser) (io.ReadCloser, error) { return cut(r, 1000), nil }, 1},
		"short":   {func(_ int32, r io.ReadCloser) (io.ReadCloser, error) { return reading{io.LimitReader(r, 1000), r}, nil }, 1},
		"too long": {func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
			return reading{io.MultiReader(r, strings.NewReader("x")), r}, nil
		}, 0},
		"wrong bytes": {func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
			b, err := io.ReadAll(r)
			b[len(b)/2] ^= 1
			return reading{bytes.NewReader(b), r}, err
		}, 1},
	} {
		there := storetest.NewDir(t.TempDir())
		s := &faulty{Store: there, get: func(_ int32, r io.ReadCloser) (io.ReadCloser, error) { return r, nil }}
		d, all := uploaded(t, s, 1)
		p := &asked{faulty: &faulty{Store: there, get: c.get}}
		d.AskFirst(p)
		to := cache(t, 1<<30)
		if err := to.Fill(t.Context(), d, one, 0); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, to.Dir(), all)
		if p.reads.Load() != 1 || s.gets.Load() != c.gets {
			t.Errorf("%s: the peer was asked %d times, and the store %d times", name, p.reads.Load(), s.gets.Load())
		}
	}
}
