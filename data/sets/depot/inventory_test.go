package depot

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// What is whole is listed and verified. Each kind of damage is named, and nothing else is.
func TestInventory(t *testing.T) {
	root := t.TempDir()
	d, all := uploaded(t, storetest.NewDir(root), 6)
	in, err := d.Inventory(t.Context())
	if err != nil || len(in.Orphans) > 0 || len(in.Manifests) != 6 {
		t.Fatalf("%+v, %v", in, err)
	}
	for k, m := range in.Manifests {
		if m.Shard != k || m.SHA256 != all[k].SHA256 {
			t.Errorf("%d: %+v", k, m)
		}
		if err := d.Verify(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	file := func(key string) string { return filepath.Join(root, filepath.FromSlash(key)) }
	change := func(key string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(file(key))
		if err == nil {
			err = os.WriteFile(file(key), change(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(dataKey(all[1]), func(b []byte) []byte { b[len(b)-1] ^= 1; return b }) // the store lies: the right length
	change(dataKey(all[2]), func(b []byte) []byte { return b[:len(b)-1] })
	if err := os.Remove(file(dataKey(all[3]))); err != nil {
		t.Fatal(err)
	}
	change(keyOf(one, 4)+manifestSuffix, func(b []byte) []byte { return b[:len(b)/2] })
	change(keyOf(one, 5)+manifestSuffix, func(b []byte) []byte { // the data are what it says, and are of other functions
		return []byte(strings.Replace(string(b), `"first": 20`, `"first": 21`, 1))
	})
	lost := all[0]
	lost.SHA256 = strings.Repeat("0", 64)
	storetest.Put(t, storetest.NewDir(root), dataKey(lost), []byte("x"))
	storetest.Put(t, storetest.NewDir(root), "shards/notes.txt", []byte("not ours"))

	in, err = d.Inventory(t.Context())
	if !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), keyOf(one, 4)) {
		t.Errorf("%v", err)
	}
	var orphans []string
	for _, o := range in.Orphans {
		orphans = append(orphans, o.Key)
	}
	if want := []string{dataKey(lost), dataKey(all[4])}; !slices.Equal(orphans, want) {
		t.Errorf("orphans %v, want %v", orphans, want)
	}
	says := map[int]string{1: "SHA-256", 2: "the manifest says", 3: "no data", 5: "metadata"}
	for _, m := range in.Manifests {
		err := d.Verify(t.Context(), m)
		want, damaged := says[m.Shard]
		if errors.Is(err, shard.ErrCorrupt) != damaged || damaged && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dataKey(m))) {
			t.Errorf("shard %d: %v", m.Shard, err)
		}
	}
}

// A transfer that breaks is no damage: it is read again, and where that does not help the error
// is the store's.
func TestVerifyBroken(t *testing.T) {
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	d, all := uploaded(t, s, 1)
	s.get = func(n int32, r io.ReadCloser) (io.ReadCloser, error) {
		if n < 3 {
			return cut(r, 100), nil
		}
		return r, nil
	}
	if err := d.Verify(t.Context(), all[0]); err != nil {
		t.Error(err)
	}
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) { return cut(r, 100), nil }
	if err := d.Verify(t.Context(), all[0]); err == nil || errors.Is(err, shard.ErrCorrupt) {
		t.Error(err)
	}
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
		return nil, errors.Join(store.ErrDenied, r.Close())
	}
	before := s.gets.Load()
	if err := d.Verify(t.Context(), all[0]); !errors.Is(err, store.ErrDenied) || s.gets.Load() != before+1 {
		t.Errorf("%v after %d reads", err, s.gets.Load()-before)
	}
}
